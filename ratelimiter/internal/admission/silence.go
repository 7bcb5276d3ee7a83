package admission

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/breaker"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// silence is what a gate knows of a server that does not answer.
type silence struct {
	breaker.Breaker
	began time.Time             // of its clock
	last  atomic.Pointer[error] // of a request that got no answer
}

// unlessSilent asks the limiter for as long as the timeout. A limiter that is known
// not to answer is not asked: the error is the last one.
func (g *Gate) unlessSilent(ctx context.Context, ask func(context.Context) error) error {
	s := &g.silence
	patience := breaker.Patience{Within: g.timeout, Now: func() time.Duration { return time.Since(s.began) }, Silent: outage}
	return s.Ask(ctx, patience, func(ctx context.Context) error {
		err := ask(ctx)
		if err != nil && outage(err, ctx.Err() != nil) { // before the breaker may open
			s.last.Store(&err)
		}
		return err
	}, func(err error) error {
		if err != nil {
			return err
		}
		return fmt.Errorf("not asked, after the limiter did not answer: %w", *s.last.Load())
	})
}

// outage reports whether an error shows that the server does not answer: it came
// when the timeout was over, and is nothing that the server has said.
func outage(err error, late bool) bool {
	return late && !Misconfigured(err) && !errors.Is(err, ratelimiter.ErrNoRate)
}

// Misconfigured reports whether an error is about the limiter itself, which is no outage: it cannot be used, or it is not
// the expected one.
func Misconfigured(err error) bool {
	for _, own := range []error{ratelimiter.ErrInvalidArgument, ratelimiter.ErrOtherRate, ratelimiter.ErrOtherAlgorithm} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}
