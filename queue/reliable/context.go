package reliable

import (
	"context"
	"time"
)

// messageContext ends with its message. Its Err compares the clocks at each call.
type messageContext struct {
	context.Context // of the context package, so that deriving from it costs no goroutine
	cancel          context.CancelCauseFunc
	d               *delivery
}

// Err looks at the clocks before it says that all is well.
func (c *messageContext) Err() error {
	if c.Context.Err() == nil {
		if cause := c.d.Err(); cause != nil {
			c.cancel(cause)
		}
	}
	return c.Context.Err()
}

// manyContexts is from when on those are looked for that have ended by themselves.
const manyContexts = 32

// context returns a child of parent that ends with the message.
func (d *delivery) context(parent context.Context) context.Context {
	if parent == nil {
		panic("reliable: cannot create a context from a nil parent")
	}
	c := d.under(parent)
	_ = c.Err() // a message whose lease has run out ends it at once
	return c
}

// under returns that of a message which has just been looked at.
func (d *delivery) under(parent context.Context) context.Context {
	c := &messageContext{d: d}
	c.Context, c.cancel = context.WithCancelCause(parent)
	d.mu.Lock()
	cause := d.cause
	if cause == nil {
		if len(d.contexts) >= manyContexts && len(d.contexts)&(len(d.contexts)-1) == 0 {
			d.contexts = living(d.contexts)
		}
		d.contexts = append(d.contexts, c)
	}
	d.mu.Unlock()
	if cause != nil {
		c.cancel(cause)
	}
	return c
}

func living(all []*messageContext) (left []*messageContext) {
	for _, c := range all {
		if c.Context.Err() == nil {
			left = append(left, c)
		}
	}
	return left
}

// starts begins the time of an attempt that is bounded.
func (d *delivery) starts() {
	if d.timeout == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cause == nil {
		d.timer = time.AfterFunc(d.timeout, d.timedOut)
	}
}

// timedOut has the attempt fail.
func (d *delivery) timedOut() { d.post(retriedBy(ErrTimeout), ErrTimeout) }
