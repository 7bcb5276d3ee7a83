package engine

import (
	"context"
	"time"
)

// deadline is a context that many calls share, so that bounding a call costs
// no timer of its own. It is replaced when it is a tenth used up.
type deadline struct {
	ctx    context.Context
	cancel context.CancelFunc
	until  time.Time // stop handing it out then
}

// sendTimeout bounds one send of a script: short enough to leave room for
// another one inside a lease.
func (e *Engine) sendTimeout() time.Duration {
	return min(max(e.WatchdogTimeout/6, 250*time.Millisecond), 3*time.Second)
}

// hubTimeout bounds one exchange of the hub: a waiter, who bears it for a
// watchdog timeout, learns why it is not heard. It may have to connect first.
func (e *Engine) hubTimeout() time.Duration {
	return min(max(e.WatchdogTimeout/2, time.Second), 5*time.Second)
}

// bounded returns a context with the values of ctx and the bound of one send,
// and nothing else of ctx: a send is not abandoned because its caller is.
func (e *Engine) bounded(ctx context.Context) context.Context {
	if ctx == context.Background() {
		return e.shared() // it has no values
	}
	return &sendContext{Context: e.shared(), values: ctx}
}

// base returns the context of all exchanges, which ends when Close stops waiting.
func (e *Engine) base() context.Context {
	if e.life == nil {
		return context.Background()
	}
	return e.life
}

func (e *Engine) shared() context.Context {
	now := time.Now()
	if d := e.soon.Load(); d != nil && now.Before(d.until) {
		return d.ctx
	}
	timeout := e.sendTimeout()
	next := &deadline{until: now.Add(timeout / 10)}
	next.ctx, next.cancel = context.WithDeadline(e.base(), now.Add(timeout))
	// The one that is replaced ends by its own timer: calls still use it.
	e.soon.Store(next)
	return next.ctx
}

// endShared stops the last timer.
func (e *Engine) endShared() {
	if d := e.soon.Load(); d != nil {
		d.cancel()
	}
}

type sendContext struct {
	context.Context
	values context.Context
}

func (c *sendContext) Value(key any) any { return c.values.Value(key) }

// valuesOf is a context that never ends, with the values of another: what
// context.WithoutCancel returns, but for an allocation at each value that is
// asked for.
type valuesOf struct{ values context.Context }

func (*valuesOf) Deadline() (end time.Time, has bool) { return end, false }
func (*valuesOf) Done() <-chan struct{}               { return nil }
func (*valuesOf) Err() error                          { return nil }
func (v *valuesOf) Value(key any) any                 { return v.values.Value(key) }
