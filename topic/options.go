package topic

import (
	"fmt"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/object"
)

// An Option changes a handle. If an option is invalid, such as a codec of another
// type, every operation of the handle returns [ErrInvalidArgument].
type Option interface{ applyHandle(*config) error }

// A SubscribeOption changes one subscription.
type SubscribeOption interface{ applySubscribe(*subscribing) error }

// config is what the options of a handle say.
type config struct {
	family *codec.Family // nil: the client's
	codec  any           // a codec.Codec[T]; nil: of the family
	most   int64         // messages that a reliable topic keeps; 0: all that somebody has use for
	full   FullPolicy    // what a Publish does beyond that
}

// subscribing is what the options of a subscription say.
type subscribing struct {
	buffer int
	status func(Status)
}

const (
	// defaultBuffer is how many messages wait for their reader.
	defaultBuffer = 256
	// mostBuffer bounds what a reader that hangs may cost.
	mostBuffer = 1_000_000
)

// WithCodec sets the codec of the messages, as rueidisson.WithCodec does for all objects of a client.
func WithCodec(f codec.Family) Option {
	return option(func(c *config) error {
		c.family, c.codec = &f, nil
		return nil
	})
}

// WithValueCodec sets the codec of the messages to one of the program's own. [WithCodec] takes a
// family, which has a codec for each type.
func WithValueCodec[T any](v codec.Codec[T]) Option {
	return option(func(c *config) error {
		c.codec = v
		return codec.Check(v)
	})
}

// longestStream bounds WithMaxLength.
const longestStream = 1 << 40

// WithMaxLength bounds a reliable topic: a Publish keeps the last n messages, also
// those that a subscriber has not handled, and drops older ones. A [Durable] name
// that misses some gets a [LaggedError]. Without it a topic keeps what a subscriber still needs,
// and everything if it has no subscribers. Other kinds keep none.
func WithMaxLength(n int64) Option {
	return option(func(c *config) error {
		if n < 1 || n > longestStream {
			return fmt.Errorf("%w: a topic of %d messages is outside of 1 to %d", ErrInvalidArgument, n, int64(longestStream))
		}
		c.most = n
		return nil
	})
}

// FullPolicy is what a Publish does to a reliable topic that has [WithMaxLength] messages.
type FullPolicy int

const (
	// DropOldest drops the oldest messages, also those that a subscriber still needs.
	DropOldest FullPolicy = iota
	// Refuse drops messages that no subscriber needs; beyond that Publish returns [ErrFull].
	Refuse
)

// WithFullPolicy sets what a Publish does when the topic is full; see [WithMaxLength],
// which it needs. Without it that is [DropOldest]. A publisher with another policy, and
// Java, which knows none, are not held to it.
func WithFullPolicy(p FullPolicy) Option {
	return option(func(c *config) error {
		if p != DropOldest && p != Refuse {
			return fmt.Errorf("%w: %d is no policy of a full topic", ErrInvalidArgument, int(p))
		}
		c.full = p
		return nil
	})
}

// WithBuffer sets how many messages wait for a loop that is busy. The default is 256, and
// the most a million. When one more comes, the oldest is dropped, and the loop gets a
// [LaggedError].
func WithBuffer(n int) SubscribeOption {
	return subscribeOption(func(s *subscribing) error {
		if n < 1 || n > mostBuffer {
			return fmt.Errorf("%w: a buffer of %d is outside of 1 to %d", ErrInvalidArgument, n, mostBuffer)
		}
		s.buffer = n
		return nil
	})
}

// Status is what has become of a subscription.
type Status int

const (
	Subscribed Status = iota + 1 // it stands: Listen is about to return
	Lost                         // it does not stand: what is published now does not come
	Restored                     // it stands again, and the loop is told [ErrInterrupted]
)

// String returns the name of the status.
func (s Status) String() string {
	switch s {
	case Subscribed:
		return "subscribed"
	case Lost:
		return "lost"
	case Restored:
		return "restored"
	}
	return fmt.Sprintf("Status(%d)", int(s))
}

// WithStatus has f be told what becomes of the subscription: Subscribed once, and then Lost and
// Restored by turns, when the client notices, until Close. f is called by one goroutine at a
// time, by which all of the client's messages come: it must be quick, and must not call back
// into the client. Source: RTopic.addListener(StatusListener).
func WithStatus(f func(Status)) SubscribeOption {
	return subscribeOption(func(s *subscribing) error {
		if s.status = f; f == nil {
			return fmt.Errorf("%w: a nil function for the status", ErrInvalidArgument)
		}
		return nil
	})
}

type option func(*config) error

func (o option) applyHandle(c *config) error { return o(c) }

type subscribeOption func(*subscribing) error

func (o subscribeOption) applySubscribe(s *subscribing) error { return o(s) }

func resolve(opts []Option) (config, error) {
	return object.Options(config{}, opts, Option.applyHandle)
}
