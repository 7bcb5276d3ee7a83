package bucket

import (
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// An Option changes a handle on a [Bucket] or on [Many]. If an option is invalid, such as a codec of another
// type, every operation of the handle returns [ErrInvalidArgument].
type Option interface{ applyHandle(*config) error }

// A SetOption changes one write.
type SetOption interface{ applySet(*lifetime) error }

// A TTLOption changes one write. As an option of the handle it changes all of its writes.
type TTLOption interface {
	Option
	SetOption
}

// config is what the options of a handle say.
type config struct {
	codec    any           // a codec.Codec[T]; nil: of the family
	family   *codec.Family // nil: the client's
	lifetime lifetime
}

// lifetime is how long what a write writes stays.
type lifetime struct {
	ttl   time.Duration // 0: for ever, unless keep
	keep  bool          // as long as what was there
	given bool          // by an option
}

// text returns the lifetime as scripts take it.
func (l lifetime) text() string {
	switch {
	case l.keep:
		return "keep"
	case l.ttl > 0:
		return decimal(core.Millis(l.ttl))
	}
	return ""
}

// words appends the lifetime as SET takes it.
func (l lifetime) words(args ...string) []string {
	switch {
	case l.keep:
		return append(args, "KEEPTTL")
	case l.ttl > 0:
		return append(args, "PX", decimal(core.Millis(l.ttl)))
	}
	return args
}

// of returns the lifetime that the options of one write leave of the handle's.
func (l lifetime) of(opts []SetOption) (lifetime, error) {
	return object.Options(l, opts, SetOption.applySet)
}

// WithCodec sets the codec of the values, as
// rueidisson.WithCodec does for all objects of a client.
func WithCodec(f codec.Family) Option {
	return option(func(c *config) error {
		c.family, c.codec = &f, nil
		return nil
	})
}

// WithValueCodec sets the codec of the values to one of the
// program's own. [WithCodec] takes a family, which has a codec for each type.
func WithValueCodec[T any](c codec.Codec[T]) Option {
	return option(func(cfg *config) error {
		cfg.codec = c
		return codec.Check(c)
	})
}

// WithTTL sets the time to live of what one write writes, or as an option of the handle of what every write
// writes. It is counted in whole milliseconds, rounded up. Operations return
// [ErrInvalidArgument] if it is below a millisecond or above 100 years.
//
// WithTTL(0) makes the value permanent, whatever the handle says and the bucket has.
func WithTTL(d time.Duration) TTLOption {
	return ttlOption(func(l *lifetime) error {
		*l = lifetime{ttl: d, given: true}
		if d == 0 {
			return nil
		}
		return send.CheckTTL("time to live", d)
	})
}

// WithKeepTTL keeps the time when the bucket expires: in one write, or as an option of the handle
// in every one. A bucket that does not exist has none.
func WithKeepTTL() TTLOption {
	return ttlOption(func(l *lifetime) error {
		*l = lifetime{keep: true, given: true}
		return nil
	})
}

type option func(*config) error

func (o option) applyHandle(c *config) error { return o(c) }

type ttlOption func(*lifetime) error

func (o ttlOption) applyHandle(c *config) error { return o(&c.lifetime) }
func (o ttlOption) applySet(l *lifetime) error  { return o(l) }

// decimal returns a number for commands.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }
