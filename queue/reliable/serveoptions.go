package reliable

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
)

// The defaults of Serve.
const (
	defaultConcurrency = 10
	defaultGrace       = 10 * time.Second
	mostConcurrency    = 1 << 20
)

// serving is what the options of a Serve say.
type serving struct {
	given
	concurrency int
	prefetch    int
	limiter     Limiter // nil: none
	grace       time.Duration
}

// A ServeOption changes one Serve.
type ServeOption interface{ applyServe(*serving) error }

type serveOption func(*serving) error

func (o serveOption) applyServe(s *serving) error { return o(s) }

// WithConcurrency sets how many messages are handled at once. Without it that is 10.
func WithConcurrency(n int) ServeOption {
	return serveOption(func(s *serving) error {
		s.concurrency = n
		return within("concurrency", int64(n), mostConcurrency)
	})
}

// WithPrefetch sets how many messages wait in this process for a handler, so that no handler
// has to wait for the server. Without it that is none: a message stays with the queue, and
// so with all processes, until a handler is free. With very short handlers as many as are
// handled at once make it faster. It does nothing where a message has one attempt
// ([WithMaxAttempts]).
func WithPrefetch(n int) ServeOption {
	return serveOption(func(s *serving) error {
		s.prefetch = n
		return within("prefetch", int64(n)+1, mostConcurrency)
	})
}

// A Limiter has callers wait for their turn, such as a *ratelimiter.Bucket of this module or a
// *rate.Limiter of golang.org/x/time. Wait returns nil when the turn has come, or an error.
type Limiter interface {
	// Wait waits for the caller's turn. An error, such as ctx's, ends the wait.
	Wait(ctx context.Context) error
}

// WithLimiter asks a limiter before each message is taken. A message that has to wait for its turn
// stays with the queue, without a lease and a handler. While nothing is ready, Serve has one turn
// in hand. It takes one message at a time, so a Serve has at most as many in a second as there are
// round trips in it; [WithPrefetch] does nothing. An error of the limiter ends Serve, if
// it would not pass. [Queue.ServeBatch] refuses it with [ErrInvalidArgument].
func WithLimiter(l Limiter) ServeOption {
	return serveOption(func(s *serving) error {
		s.limiter = l
		if l == nil {
			return fmt.Errorf("%w: no limiter", ErrInvalidArgument)
		}
		return nil
	})
}

// WithGrace sets how long Serve waits for handlers when it is to end. Without it that is
// 10 s.
func WithGrace(d time.Duration) ServeOption {
	return serveOption(func(s *serving) error {
		s.grace = d
		if d < 0 || d > core.LongestLease {
			return fmt.Errorf("%w: grace %v is outside of 0 to %v", ErrInvalidArgument, d, core.LongestLease)
		}
		return nil
	})
}

func (q *Queue[T]) serving(opts []ServeOption) (*serving, error) {
	s := &serving{given: q.cfg.given, concurrency: defaultConcurrency, grace: defaultGrace}
	if err := object.Apply(s, opts, ServeOption.applyServe); err != nil {
		return nil, err
	}
	if s.limiter != nil {
		s.prefetch = 0
	}
	return s, s.given.resolve()
}
