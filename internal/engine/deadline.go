package engine

import (
	"context"
	"sync/atomic"
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

func (e *Engine) shared() context.Context { return share(&e.soon, e.sendTimeout()) }

// patience ends when a wait that begins now has lasted for a watchdog timeout,
// or up to a tenth more.
func (e *Engine) patience() <-chan struct{} {
	return share(&e.late, e.WatchdogTimeout+e.WatchdogTimeout/10).Done()
}

// share returns the deadline that calls which begin now have in common. It is
// timeout away, or up to a tenth less.
func share(in *atomic.Pointer[deadline], timeout time.Duration) context.Context {
	now := time.Now()
	if d := in.Load(); d != nil && now.Before(d.until) {
		return d.ctx
	}
	next := &deadline{until: now.Add(timeout / 10)}
	next.ctx, next.cancel = context.WithDeadline(context.Background(), now.Add(timeout))
	// The one that is replaced ends by its own timer: calls still use it.
	in.Store(next)
	return next.ctx
}

// endShared stops the last timers.
func (e *Engine) endShared() {
	for _, last := range []*atomic.Pointer[deadline]{&e.soon, &e.late} {
		if d := last.Load(); d != nil {
			d.cancel()
		}
	}
}

type sendContext struct {
	context.Context
	values context.Context
}

func (c *sendContext) Value(key any) any { return c.values.Value(key) }
