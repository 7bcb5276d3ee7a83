package exchange

import (
	"context"
	"errors"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
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

// await waits for a request that may be done although its caller has gone. Who
// leaves by ctx knows that; whom Close sends away is told.
func await[A any](ctx context.Context, s *send.Sender, request func() (A, error)) (A, error) {
	got, err, answered := send.Await(s, ctx, 0, request)
	if !answered && errors.Is(err, core.ErrClosed) {
		err = core.Left(err)
	}
	return got, err
}

// turnWithin is how long a request waits for its turn when its caller has gone:
// longer than an exchange takes. While a server is silent, each that waits is
// memory, and callers may come faster than exchanges end.
const turnWithin = 5 * time.Second

// Insist makes a request that is to be made also if its caller leaves before its
// turn has come.
func Insist[A any](ctx context.Context, s *send.Sender, request func(context.Context) (A, error)) (A, error) {
	if ctx.Done() == nil {
		return request(ctx)
	}
	kept, drop := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(turnWithin, drop) })
	return await(ctx, s, func() (A, error) {
		defer drop()
		defer stop()
		return request(kept)
	})
}
