package semaphore

import (
	"context"
	"time"
)

// Context returns a child of parent for the work that needs the permit. It ends with the permit,
// with cause [ErrLost], [ErrReleased] or [ErrClosed], and always before the server grants the
// permit to another client. Its Err compares the clocks at each call, as [Permit.Err] does.
//
// Contexts derived from it end when its Done channel closes: a timer's delay after the end of
// trust, plus up to 100 ms if the whole machine was suspended.
//
// It panics if parent is nil, as the context package does.
func (p *Permit) Context(parent context.Context) context.Context {
	if parent == nil {
		panic("semaphore: cannot create a context from a nil parent")
	}
	c := &permitContext{permit: p}
	if parent.Done() == nil {
		c.Context, c.cancel, c.values = p.lasting(parent)
	} else {
		c.Context, c.cancel = context.WithCancelCause(parent)
		p.list(c)
	}
	_ = c.Err() // a permit that has ended ends it at once
	return c
}

// permitContext is one of a permit's contexts. Those whose parents cannot end share one ending, so
// that nothing is kept for each.
type permitContext struct {
	context.Context // of the context package, so that deriving from it costs no goroutine
	cancel          context.CancelCauseFunc
	values          context.Context // the parent, if Context is not derived from it
	permit          *Permit
	forget          func() bool // stops the watch on the parent
}

// Err compares the clocks before it returns nil.
func (c *permitContext) Err() error {
	if c.Context.Err() == nil {
		if cause := c.permit.Err(); cause != nil {
			c.cancel(cause)
		}
	}
	return c.Context.Err()
}

// Value returns the parent's value; a shared ending has one, for which context.Cause asks.
func (c *permitContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil || c.values == nil {
		return v
	}
	return c.values.Value(key)
}

// Deadline returns the parent's deadline.
func (c *permitContext) Deadline() (time.Time, bool) {
	if c.values != nil {
		return c.values.Deadline()
	}
	return c.Context.Deadline()
}

// permitContexts are the contexts that end with a permit.
type permitContexts struct {
	shared *permitContext              // the ending of those whose parents cannot end
	listed map[*permitContext]struct{} // the others, until their parents end
}

// take removes the contexts and returns them. The caller ends them.
func (cs *permitContexts) take() permitContexts {
	taken := *cs
	*cs = permitContexts{}
	return taken
}

// end ends the contexts that were taken.
func (cs permitContexts) end(cause error) {
	if cs.shared != nil {
		cs.shared.cancel(cause)
	}
	for c := range cs.listed {
		c.forget()
		c.cancel(cause)
	}
}

// lasting returns the ending that is shared by all contexts whose parents cannot end.
func (p *Permit) lasting(parent context.Context) (context.Context, context.CancelCauseFunc, context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.contexts.shared == nil {
		shared := &permitContext{}
		shared.Context, shared.cancel = context.WithCancelCause(context.Background())
		p.contexts.shared = shared
	}
	return p.contexts.shared.Context, p.contexts.shared.cancel, parent
}

// list makes c end with its permit.
func (p *Permit) list(c *permitContext) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.released || p.cause != nil {
		return
	}
	if p.contexts.listed == nil {
		p.contexts.listed = make(map[*permitContext]struct{})
	}
	c.forget = context.AfterFunc(c.Context, func() { // on a goroutine of its own: after this
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.contexts.listed, c)
	})
	p.contexts.listed[c] = struct{}{}
}
