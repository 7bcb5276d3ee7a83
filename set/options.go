package set

import (
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// An Option changes a handle on a [Set] or a [Cache]. If an option is invalid, such as a codec of another
// type, every operation of the handle returns [ErrInvalidArgument].
type Option interface {
	CacheOption
	applySet(*config) error
}

// A CacheOption changes a handle on a [Cache].
type CacheOption interface{ applyCache(*config) error }

// An AddOption changes one call that adds members to a [Cache].
type AddOption interface{ applyAdd(*lifetime) error }

// A TTLOption changes one call. As an option of the handle it changes all that add members.
type TTLOption interface {
	CacheOption
	AddOption
}

// config is what the options of a handle say.
type config struct {
	codec    any           // a codec.Codec[T]; nil: of the family
	family   *codec.Family // nil: text, or the client's
	lifetime lifetime
}

// lifetime is how long a member stays; 0: for ever.
type lifetime struct{ ttl time.Duration }

// of returns the lifetime that the options of one call leave of the handle's.
func (l lifetime) of(opts []AddOption) (lifetime, error) {
	return object.Options(l, opts, AddOption.applyAdd)
}

// WithCodec sets the codec of the members, as
// rueidisson.WithCodec does for the values of all objects of a client.
func WithCodec(f codec.Family) Option {
	return option(func(c *config) error {
		c.family, c.codec = &f, nil
		return nil
	})
}

// WithMemberCodec sets the codec of the members to one of the program's own. Equal members must have equal bytes, whatever
// their type. [WithCodec] takes a family, which has a codec for each type.
func WithMemberCodec[T any](c codec.Codec[T]) Option {
	return option(func(cfg *config) error {
		cfg.codec = c
		return codec.Check(c)
	})
}

// WithTTL sets the time to live of what one call adds to a [Cache], or as an option of the handle of what every call
// adds. It is counted in whole milliseconds, rounded up. Operations return
// [ErrInvalidArgument] if it is below a millisecond or above 100 years.
//
// WithTTL(0) lets members stay, whatever the handle says and they have.
func WithTTL(d time.Duration) TTLOption {
	return ttlOption(func(l *lifetime) error {
		*l = lifetime{d}
		if d == 0 {
			return nil
		}
		return send.CheckTTL("time to live", d)
	})
}

type option func(*config) error

func (o option) applySet(c *config) error   { return o(c) }
func (o option) applyCache(c *config) error { return o(c) }

type ttlOption func(*lifetime) error

func (o ttlOption) applyCache(c *config) error { return o(&c.lifetime) }
func (o ttlOption) applyAdd(l *lifetime) error { return o(l) }
