package reliable

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/engine"
)

// The defaults.
const (
	defaultMaxBody  = 1 << 20
	defaultAttempts = 10
	defaultDead     = 10_000
	defaultDeadAge  = 30 * 24 * time.Hour
	mostCapacity    = 1 << 40
	mostAttempts    = 1_000_000
)

// An Option changes a handle. What cannot be used, such as a codec of another
// type, is an [ErrOption] of each of its operations.
type Option interface{ applyHandle(*config) error }

// config is what the options of a handle say.
type config struct {
	codec    any           // a codec.Codec[T]; nil: of the family
	family   *codec.Family // nil: the client's
	capacity int64
	maxBody  int
	terms
}

// terms are a policy, and how long a message waits behind an attempt that has failed.
type terms struct {
	policy policy
	own    func(attempt int) time.Duration // nil: defaultBackoff
	log    *slog.Logger
}

// resolve completes them.
func (t *terms) resolve() {
	backoff := t.own
	if backoff == nil {
		backoff = plainBackoff
	} else {
		backoff = t.owned
	}
	t.policy.waits = waitsOf(backoff, t.policy.attempts)
}

// backoff is how long a message waits behind an attempt that has failed.
func (t *terms) backoff(attempt int) time.Duration {
	if t.own == nil {
		return defaultBackoff(attempt)
	}
	return t.owned(attempt)
}

// owned bears a backoff that panics: it is as if there were none.
func (t *terms) owned(attempt int) (d time.Duration) {
	defer func() {
		if caught := recover(); caught != nil {
			d = plainBackoff(attempt)
			t.log.Error("a backoff has panicked", "attempt", attempt, "err", fmt.Sprint(caught), "stack", string(debug.Stack()))
		}
	}()
	return min(max(t.own(attempt), 0), engine.LongestLease)
}

// policy is how a consumer deals with the messages that it takes. Consumers of one
// queue and policy are one.
type policy struct {
	lease    time.Duration
	attempts int
	waits    string // of messages whose lease ran out, ms: see step.lua
	dead     int
	deadAge  time.Duration
}

// WithCodec sets what the values are written with. Without it that is as
// rueidisson.WithCodec says.
func WithCodec(f codec.Family) Option {
	return option(func(c *config) error {
		c.family, c.codec = &f, nil
		return nil
	})
}

// WithValueCodec sets the codec of the values.
func WithValueCodec[T any](c codec.Codec[T]) Option {
	return option(func(cfg *config) error {
		cfg.codec = c
		return codec.Check(c)
	})
}

// WithCapacity refuses, with [ErrFull], what would be more than n messages: waiting,
// under way and dead ones. Each handle that adds has to be given it.
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
		return within("body", int64(n), engine.LargestValue)
	})
}

// WithDeadLimit keeps at most n dead messages, each for a time of d. Without it that
// is 10,000 and 30 days. The oldest go first, whenever a consumer buries another or
// keeps the time.
func WithDeadLimit(n int, d time.Duration) Option {
	return option(func(c *config) error {
		c.policy.dead, c.policy.deadAge = n, d
		if err := within("dead", int64(n), 1<<30); err != nil {
			return err
		}
		return engine.CheckTTL("age of the dead", d)
	})
}

// A PolicyOption changes a handle, and may change one Serve.
type PolicyOption interface {
	Option
	ServeOption
}

// WithLease is how long a message that was taken stays with its consumer when that
// falls silent. Consumers lengthen it at a third of it, for as long as they have the
// message. Without it that is the client's watchdog timeout.
func WithLease(d time.Duration) PolicyOption {
	return policyOption(func(t *terms) error {
		t.policy.lease = d
		return engine.CheckLease(d)
	})
}

// WithMaxAttempts buries a message whose n-th attempt has failed. Without it that is
// the tenth.
func WithMaxAttempts(n int) PolicyOption {
	return policyOption(func(t *terms) error {
		t.policy.attempts = n
		return within("attempts", int64(n), mostAttempts)
	})
}

// WithBackoff is how long a message waits behind an attempt that has failed: the first
// is 1. Without it that is a second, twice that behind each further one, at most ten
// minutes, a tenth more or less. The first 32 are asked for beforehand, too, since a lease
// that ran out is counted by the server: it makes a message wait from its second attempt
// on, as one behind the attempt before. One that panics is logged, and the default stands in.
func WithBackoff(backoff func(attempt int) time.Duration) PolicyOption {
	return policyOption(func(t *terms) error {
		t.own = backoff
		if backoff == nil {
			return fmt.Errorf("%w: no backoff", ErrOption)
		}
		return nil
	})
}

func within(what string, n, most int64) error {
	if n < 1 || n > most {
		return fmt.Errorf("%w: %s of %d is outside of 1 to %d", ErrOption, what, n, most)
	}
	return nil
}

type option func(*config) error

func (o option) applyHandle(c *config) error { return o(c) }

type policyOption func(*terms) error

func (o policyOption) applyHandle(c *config) error { return o(&c.terms) }

func (o policyOption) applyServe(s *serving) error {
	s.changed = true
	return o(&s.terms)
}

func resolve(e *engine.Engine, opts []Option) (config, error) {
	c := config{maxBody: defaultMaxBody, terms: terms{log: e.Logger, policy: policy{
		lease: e.WatchdogTimeout, attempts: defaultAttempts, dead: defaultDead, deadAge: defaultDeadAge,
	}}}
	for _, o := range opts {
		if o == nil {
			return c, fmt.Errorf("%w: a nil option", ErrOption)
		}
		if err := o.applyHandle(&c); err != nil {
			return c, err
		}
	}
	c.terms.resolve()
	return c, nil
}

// chosen is the codec that the options of a handle choose.
func chosen[T any](e *engine.Engine, c config) (codec.Codec[T], error) {
	of := codec.For[T](e.Family())
	if c.family != nil {
		of = codec.For[T](*c.family)
	}
	of, err := engine.Given(c.codec, of)
	if err != nil {
		return of, err
	}
	return of, codec.Check(of)
}
