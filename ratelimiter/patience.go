package ratelimiter

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// patience is how long a caller waits for its tokens.
type patience struct {
	until time.Duration // monotonic; or forever
	most  time.Duration // 0: as the request needs; below 0: any
}

// unbounded is that of a reservation, which does not wait itself.
var unbounded = patience{until: exchange.Forever, most: -1}

// patience returns what is left of a wait that began then.
func (b *Bucket) patience(ctx context.Context, began time.Duration) patience {
	p := patience{until: b.core.Until(ctx)}
	switch {
	case b.maxWait > 0:
		p.most = max(1, b.maxWait-(b.core.Engine.Mono()-began))
	case p.until != exchange.Forever:
		p.most = -1
	}
	return p
}

// atMost makes p no longer than most, where that is a bound.
func (p *patience) atMost(most time.Duration) {
	if most > 0 && (p.most < 0 || most < p.most) {
		p.most = most
	}
}

// paused returns what a pause means to who has it: nobody knows when it ends.
func (p patience) paused(now time.Duration) error {
	switch {
	case p.until != exchange.Forever && p.until < now+askAgain:
		return fmt.Errorf("%w: %w", ErrExceedsDeadline, errPaused)
	case p.most > 0 && p.most < askAgain:
		return fmt.Errorf("%w: %w", ErrExceedsWait, errPaused)
	}
	return errPaused
}

// exceeded returns why a delay is too long for an ask, nil if it is not.
func exceeded(a *exchange.Ask, delay, now time.Duration) error {
	switch {
	case a.Until != exchange.Forever && delay >= a.Until-now:
		return ErrExceedsDeadline
	case a.Most > 0 && delay > a.Most:
		return ErrExceedsWait
	}
	return nil
}
