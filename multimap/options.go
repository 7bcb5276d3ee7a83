package multimap

import (
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/entrycodec"
	"github.com/rueidisson/rueidisson/internal/hashscan"
)

// An Option changes a handle. If an option is invalid, such as a codec of another type, every operation of the handle
// returns [ErrInvalidArgument].
type Option interface{ apply(*config) error }

// config is what the options of a handle say.
type config struct {
	codecs     entrycodec.Settings
	requestIDs bool
	native     bool // the server keeps the times of keys
}

type option func(*config) error

func (o option) apply(c *config) error { return o(c) }

// WithCodec sets the codec of the values, as rueidisson.WithCodec does for all
// objects of a client. Keys stay [codec.Text]: see [WithKeyCodec] and [WithCodecs].
func WithCodec(f codec.Family) Option {
	return option(func(c *config) error {
		c.codecs.SetFamily(f)
		return nil
	})
}

// WithCodecs sets the codec of the keys and the codec of the values. A Java multimap that has one codec
// for both is WithCodecs(f, f).
func WithCodecs(keys, values codec.Family) Option {
	return option(func(c *config) error {
		c.codecs.SetFamilies(keys, values)
		return nil
	})
}

// WithKeyCodec sets the codec of the keys. Two keys are one key when their
// bytes are the same, and only then: equal keys have to give equal bytes, on
// every version of the program.
func WithKeyCodec[K comparable](c codec.Codec[K]) Option {
	return option(func(cfg *config) error { return entrycodec.SetKey(&cfg.codecs, c) })
}

// WithValueCodec sets the codec of the values to one of the program's own. [WithCodec] takes
// a family, which has a codec for each type.
func WithValueCodec[V any](c codec.Codec[V]) Option {
	return option(func(cfg *config) error { return entrycodec.SetValue(&cfg.codecs, c) })
}

// WithRequestIDs makes every write safe to send again. The server keeps the answer to a write
// until the caller has it, 45 s at most, and gives it to a second send. So a write does not
// return [ErrOutcomeUnknown] after a lost reply, if the server answers again within the time
// that an operation is sent again for. A further command deletes the answer.
func WithRequestIDs() Option {
	return option(func(c *config) error {
		c.requestIDs = true
		return nil
	})
}

// WithNativeExpiry has the server keep the times of keys, see
// [List.Expire], as Redisson's RListMultimapCacheNative and
// RSetMultimapCacheNative do. It needs Redis 7.4 or Valkey 9.
func WithNativeExpiry() Option {
	return option(func(c *config) error {
		c.native = true
		return nil
	})
}

// Entry is one value of a multimap, with its key.
type Entry[K comparable, V any] struct {
	Key   K // that the value belongs to
	Value V // one of the values of Key
}

// A ScanOption changes one iteration.
type ScanOption interface{ applyScan(*hashscan.Config) error }

type scanOption func(*hashscan.Config) error

func (o scanOption) applyScan(c *hashscan.Config) error { return o(c) }

// WithMatch leaves out keys that do not match a glob, as the server
// does. It is for multimaps with text as keys, see [codec.Text]; on others the walk yields
// [ErrInvalidArgument].
func WithMatch(glob string) ScanOption {
	return scanOption(func(c *hashscan.Config) error { c.Match = glob; return nil })
}

// WithPage sets about how many keys, or values, the server is asked for at once, from 1
// to 100,000. The default is 500, and more than 2000 are asked for as 2000. It asks
// for fewer where they are large, so that an answer has about 1 MB at most, or one
// value. What one answer brings is in memory at a time.
func WithPage(n int) ScanOption {
	return scanOption(func(c *hashscan.Config) error { return c.SetPage(n) })
}
