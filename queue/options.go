package queue

import (
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/object"
)

// An Option changes a handle. If an option is invalid, such as a codec of another
// type, every operation of the handle returns [ErrInvalidArgument].
type Option interface{ applyHandle(*config) error }

// config is what the options of a handle say.
type config struct {
	codec  any           // a codec.Codec[T]; nil: of the family
	family *codec.Family // nil: the client's
	shared bool          // what waits in a delayed queue is in Redisson's format
}

// WithCodec sets the codec of the elements, as
// rueidisson.WithCodec does for all objects of a client.
func WithCodec(f codec.Family) Option {
	return option(func(c *config) error {
		c.family, c.codec = &f, nil
		return nil
	})
}

// WithValueCodec sets the codec of the elements to one of the
// program's own. [WithCodec] takes a family, which has a codec for each type.
func WithValueCodec[T any](c codec.Codec[T]) Option {
	return option(func(cfg *config) error {
		cfg.codec = c
		return codec.Check(c)
	})
}

// WithRedissonFormat has what waits in a [Delayed] be in the format of Redisson's
// RDelayedQueue, which shares it then: one list in the order of the offers, through which
// the server walks for each element that is moved or removed out of that order. Without it
// what waits is in a format of our own, in which neither needs a walk; Java takes what is
// due in both. Other kinds of queue do not ask for it.
func WithRedissonFormat() Option {
	return option(func(c *config) error {
		c.shared = true
		return nil
	})
}

// A TryOption changes one [Bounded.TryOffer].
type TryOption interface{ applyTry(*tryConfig) error }

type tryConfig struct{ wait time.Duration }

// WithWait lets a TryOffer wait up to d for room. Without it, or with 0, it answers
// after one round trip. TryOffer returns ErrInvalidArgument if d is negative.
func WithWait(d time.Duration) TryOption { return waitOption(d) }

type waitOption time.Duration

func (o waitOption) applyTry(c *tryConfig) error {
	if o < 0 {
		return fmt.Errorf("%w: wait %v is negative", ErrInvalidArgument, time.Duration(o))
	}
	c.wait = time.Duration(o)
	return nil
}

type option func(*config) error

func (o option) applyHandle(c *config) error { return o(c) }

func resolve(opts []Option) (config, error) {
	return object.Options(config{}, opts, Option.applyHandle)
}
