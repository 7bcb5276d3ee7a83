package reliable

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
)

// The defaults.
const (
	defaultMaxBody = 1 << 20
	mostCapacity   = 1 << 40
)

// An Option changes a handle. If an option is invalid, such as a codec of another
// type, every operation of the handle returns [ErrInvalidArgument].
type Option interface{ applyHandle(*config) error }

// config is what the options of a handle say.
type config struct {
	codec    any           // a codec.Codec[T]; nil: of the family
	family   *codec.Family // nil: the client's
	capacity int64
	maxBody  int
	given
}

// given is the terms that a handle or a Serve was given.
type given struct {
	terms   Terms
	lease   time.Duration                   // of its own; 0: that of the queue
	backoff func(attempt int) time.Duration // nil: none
	dead    bool                            // it takes what is dead
	fair    bool                            // every priority has its turn
	log     *slog.Logger
}

// resolve asks the backoff for its waits.
func (g *given) resolve() (err error) {
	if g.backoff != nil {
		g.terms.Backoff, err = waitsOf(g.backoff, g.log)
	}
	return err
}

func (g *given) policy() policy {
	return policy{lease: g.lease, given: g.terms.text(), dead: g.dead, fair: g.fair}
}

// policy is how a consumer takes. Consumers of one queue and policy are one.
type policy struct {
	lease time.Duration // 0: that of the queue
	given string        // the terms that it was given
	dead  bool          // it takes what is dead
	fair  bool          // every priority has its turn
}

// ways returns how the consumer takes, as step.lua has it.
func (p policy) ways() string {
	switch {
	case p.dead:
		return "d"
	case p.fair:
		return "f"
	}
	return "-"
}

// WithCodec sets the codec of the values, as rueidisson.WithCodec does for all objects of a client.
func WithCodec(f codec.Family) Option {
	return option(func(c *config) error {
		c.family, c.codec = &f, nil
		return nil
	})
}

// WithValueCodec sets the codec of the values to one of the program's own. [WithCodec] takes a
// family, which has a codec for each type.
func WithValueCodec[T any](c codec.Codec[T]) Option {
	return option(func(cfg *config) error {
		cfg.codec = c
		return codec.Check(c)
	})
}

// WithCapacity refuses, with [ErrFull], what would be more than n messages, waiting and
// under way. The dead do not count. Each handle that adds has to be given it.
func WithCapacity(n int64) Option {
	return option(func(c *config) error {
		c.capacity = n
		return within("capacity", n, mostCapacity)
	})
}

// WithMaxBody refuses values that are longer than n bytes as the codec writes them.
// Without it that is a megabyte.
func WithMaxBody(n int) Option {
	return option(func(c *config) error {
		c.maxBody = n
		return within("body", int64(n), core.LargestValue)
	})
}

// WithDeadLimit keeps at most n dead letters, each for a time of d. The default
// is 10,000 and 30 days. Some are deleted whenever a consumer buries another or keeps the time: those that are
// too old, and above n first those that [Queue.Dead] has delivered and is to redeliver later, then
// the oldest. The time of a message that a handler of them has failed begins anew when it may be redelivered. So one that
// fails again and again is deleted by the number alone. It is one of the [Terms] of the queue.
func WithDeadLimit(n int, d time.Duration) Option {
	return option(func(c *config) error {
		c.terms.DeadLimit, c.terms.DeadAge = n, d
		if err := within("dead", int64(n), mostDead); err != nil {
			return err
		}
		return send.CheckTTL("age of the dead", d)
	})
}

// A PolicyOption changes a handle, and may change one Serve.
type PolicyOption interface {
	Option
	ServeOption
}

// WithLease sets how long a message that was taken stays with its consumer when that
// falls silent. Consumers lengthen it at a third of it, for as long as they have the
// message. It concerns only what this consumer takes. Without it that is the lease which
// [Queue.SetTerms] has given the queue, or else the client's watchdog timeout.
func WithLease(d time.Duration) PolicyOption {
	return policyOption(func(g *given) error {
		g.lease = d
		return core.CheckLease(d)
	})
}

// WithMaxAttempts buries a message whose n-th attempt has failed. Without it that is
// the tenth. It is one of the [Terms] of the queue. See [WithAttempts] for a single message.
func WithMaxAttempts(n int) PolicyOption {
	return policyOption(func(g *given) error {
		g.terms.MaxAttempts = n
		return within("attempts", int64(n), mostAttempts)
	})
}

// WithMaxInFlight bounds how many messages of the queue are with consumers at the same time, in
// all processes together. The others stay ready. Without it there is no bound. A message counts
// until it is settled, or until its lease has ended. A consumer with [WithPrefetch] has more of
// them than it handles. After a [Queue.Cancel] the next message may come five seconds later. It is one
// of the [Terms] of the queue.
func WithMaxInFlight(n int) PolicyOption {
	return policyOption(func(g *given) error {
		g.terms.MaxInFlight = n
		return within("messages in flight", int64(n), mostFlight)
	})
}

// WithGroupInFlight has up to n messages of each group ([WithGroup]) under way at the same time, in all processes
// together. They begin in the order of the group. A message that is tried again is under way until it is done or dead.
// Without it that is one. It is one of the [Terms] of the queue. A change counts for a group from the next of its messages on that
// comes or ends; where it lets many more begin, about 200 do with each of those.
func WithGroupInFlight(n int) PolicyOption {
	return policyOption(func(g *given) error {
		g.terms.GroupInFlight = n
		return within("messages of a group in flight", int64(n), mostFlight)
	})
}

// WithFairPriorities has one of every four messages that a consumer takes come from the priorities in turn,
// downwards from the highest that has a message, 0 included; the other three are of the highest priority. So a steady flow of a
// higher priority does not starve the lower ones. The turns are those of the queue, and of the consumers that have this option.
// It does nothing for [Queue.Dead].
func WithFairPriorities() PolicyOption {
	return policyOption(func(g *given) error {
		g.fair = true
		return nil
	})
}

// WithKeepDone keeps each message that was acknowledged for a time of d, so that [Queue.Find] knows it: its state is [Done].
// Each ends at its own time. At most 100,000 are kept; those that end first go first. They take as much memory as
// messages that wait, which for bodies of a megabyte may be 100 GB, and do not count for [WithCapacity] and [Queue.Stats]. Acks that
// go together are of a megabyte of bodies, or of one; those by tokens ([Queue.Ack]) of up to 1,000. Without it nothing is kept.
// It is one of the [Terms] of the queue.
func WithKeepDone(d time.Duration) PolicyOption {
	return policyOption(func(g *given) error {
		g.terms.KeepDone = d
		return send.CheckTTL("time of what is done", d)
	})
}

// A BackoffOption changes a handle, one Serve, or one Add.
type BackoffOption interface {
	PolicyOption
	AddOption
}

// WithBackoff sets how long a message waits after an attempt that has failed: the first
// is 1, and so is the first after a [Queue.Redrive]. Without it that is a second, twice that
// after each further one, at most ten minutes, a tenth more or less.
//
// It is one of the [Terms] of the queue, which keeps the waits after the first 32 attempts; further
// attempts wait as the 32nd does. So the function is called when the option is used, and has
// to return the same wait for the same attempt each time: [ErrInvalidArgument] if it does not. If it
// panics, that is logged, and the default is used. An expired lease makes a message
// wait from its second attempt on, as after the attempt before.
func WithBackoff(backoff func(attempt int) time.Duration) BackoffOption {
	return backoffOption(backoff)
}

type backoffOption func(attempt int) time.Duration

func (o backoffOption) applyHandle(c *config) error { return o.apply(&c.given) }

func (o backoffOption) applyServe(s *serving) error { return o.apply(&s.given) }

func (o backoffOption) apply(g *given) error {
	g.backoff = o
	return o.check()
}

func (o backoffOption) applyAdd(p *putting) error {
	p.backoff = o
	return o.check()
}

func (o backoffOption) check() error {
	if o == nil {
		return fmt.Errorf("%w: no backoff", ErrInvalidArgument)
	}
	return nil
}

func within(what string, n, most int64) error {
	if n < 1 || n > most {
		return fmt.Errorf("%w: %s of %d is outside of 1 to %d", ErrInvalidArgument, what, n, most)
	}
	return nil
}

type option func(*config) error

func (o option) applyHandle(c *config) error { return o(c) }

type policyOption func(*given) error

func (o policyOption) applyHandle(c *config) error { return o(&c.given) }

func (o policyOption) applyServe(s *serving) error { return o(&s.given) }
