package counter

import (
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// An Option changes a handle on a [Counter]. If an option is invalid, every operation of the handle returns
// [ErrInvalidArgument].
type Option interface{ applyCounter(*config) error }

type config struct {
	ttl     int64 // ms; 0: none
	counted bool  // adds have request slots
}

// WithTTL gives the counter a time to live. An Add, a CompareAndSwap, a Raise or a Lower of the handle keeps a time to live
// that the counter has, and gives d to a counter without one, such as one that it creates. So a counter that is only added
// to ends d after its first Add. Set, SetIfAbsent and Swap begin a new time to live of d.
//
// d is counted in whole milliseconds, rounded up. A d below a millisecond or above 100 years returns ErrInvalidArgument.
// Cost: an Add is a script call, which takes the server about five times as long as INCRBY.
func WithTTL(d time.Duration) Option {
	return option(func(c *config) error {
		c.ttl = core.Millis(d)
		return send.CheckTTL("time to live", d)
	})
}

// WithRequestIDs makes adds exact: each counts once, whatever happens to requests and replies. The server remembers the last
// request of each exchange of the client about the counter for 45 s, so that a request may be sent again and may arrive late.
// After [ErrOutcomeUnknown] the client goes on until the add is done, for up to 45 s.
//
// Cost: an Add is a script call, which takes the server about nine times as long as INCRBY; and up to four keys for each
// client and counter, for 45 s.
func WithRequestIDs() Option {
	return option(func(c *config) error {
		c.counted = true
		return nil
	})
}

type option func(*config) error

func (o option) applyCounter(c *config) error { return o(c) }

// A DistinctOption changes a handle on a [Distinct]. If an option is invalid, such as a codec of another type, every
// operation of the handle returns [ErrInvalidArgument].
type DistinctOption interface{ applyDistinct(*codecs) error }

// codecs is what the options say of the codec of values.
type codecs struct {
	codec  any           // a codec.Codec[T]; nil: of the family
	family *codec.Family // nil: the default
}

// WithCodec sets the codec of the values. Without it, values that have a text are written as [codec.Text], others in the
// codec of the client.
func WithCodec(f codec.Family) DistinctOption {
	return distinctOption(func(c *codecs) error {
		c.family, c.codec = &f, nil
		return nil
	})
}

// WithValueCodec sets the codec of the values to one of the program's own. It must write equal values as equal bytes.
func WithValueCodec[T any](own codec.Codec[T]) DistinctOption {
	return distinctOption(func(c *codecs) error {
		c.codec = own
		return codec.Check(own)
	})
}

type distinctOption func(*codecs) error

func (o distinctOption) applyDistinct(c *codecs) error { return o(c) }

func resolve(opts []Option) (config, error) {
	return object.Options(config{}, opts, Option.applyCounter)
}
