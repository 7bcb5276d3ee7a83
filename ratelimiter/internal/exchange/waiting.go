package exchange

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
)

// During runs a wait that Close ends, and waits for: what it has reserved goes
// back.
func (c *Core) During(wait func() error) error {
	err := core.ErrClosed
	c.Engine.During(func() { err = wait() })
	return err
}

// SleepOut sleeps until a reservation is due, or gives it back.
func (c *Core) SleepOut(ctx context.Context, want *Ask, got *Answer) error {
	answered := c.Engine.Mono()
	err := c.Sleep(ctx, got.Delay())
	if err != nil {
		c.undo(want, got, answered)
	}
	return err
}

// Sleep sleeps for d.
func (c *Core) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return core.ContextError(ctx)
	case <-c.Engine.Closing():
		return core.ErrClosed
	}
}

// Until returns ctx's deadline on the engine's clock.
func (c *Core) Until(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return Forever
	}
	left := time.Until(deadline).Truncate(quantum)
	if now := c.Engine.Now().Mono.Truncate(quantum); left < Forever-now {
		return now + left
	}
	return Forever
}

// quantum is how exactly deadlines are told apart: calls under one deadline are
// to be of one kind.
const quantum = 100 * time.Microsecond
