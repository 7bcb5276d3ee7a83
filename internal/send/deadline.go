package send

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

// SendTimeout bounds one send of a script: short enough to leave room for
// another one inside a lease.
func (s *Sender) SendTimeout() time.Duration {
	return min(max(s.WatchdogTimeout/6, 250*time.Millisecond), 3*time.Second)
}

// HubTimeout bounds one exchange of the hub: a waiter, who bears it for a
// watchdog timeout, learns why it is not heard. It may have to connect first.
func (s *Sender) HubTimeout() time.Duration {
	return min(max(s.WatchdogTimeout/2, time.Second), 5*time.Second)
}

// Bounded returns a context with the values of ctx and the bound of one send,
// and nothing else of ctx: a send is not abandoned because its caller is.
func (s *Sender) Bounded(ctx context.Context) context.Context {
	if ctx == context.Background() {
		return s.sharedDeadline() // it has no values
	}
	return &sendContext{Context: s.sharedDeadline(), values: ctx}
}

// Base returns the context of all exchanges, which ends when Close stops waiting.
func (s *Sender) Base() context.Context {
	return s.life
}

func (s *Sender) sharedDeadline() context.Context {
	now := time.Now()
	if d := s.soon.Load(); d != nil && now.Before(d.until) {
		return d.ctx
	}
	timeout := s.SendTimeout()
	next := &deadline{until: now.Add(timeout / 10)}
	next.ctx, next.cancel = context.WithDeadline(s.Base(), now.Add(timeout))
	// The one that is replaced ends by its own timer: calls still use it.
	s.soon.Store(next)
	return next.ctx
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

// ValuesOf returns a context that never ends, with the values of ctx.
func ValuesOf(ctx context.Context) context.Context { return &valuesOf{ctx} }

func (*valuesOf) Deadline() (end time.Time, has bool) { return end, false }
func (*valuesOf) Done() <-chan struct{}               { return nil }
func (*valuesOf) Err() error                          { return nil }
func (v *valuesOf) Value(key any) any                 { return v.values.Value(key) }
