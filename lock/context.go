package lock

import (
	"context"
	"slices"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// Context returns a child of parent for the work that needs the lock. It ends
// with the hold, with cause ErrLost, [ErrReleased] or [ErrClosed], always
// before the server may give the lock away; its Err compares the clocks at
// each call, as [Hold.Err] does. And it carries the hold: locking the same
// name of the same client under it re-enters, from every goroutine that has
// it, so within the critical section use a sync.Mutex.
//
// Contexts derived from it end when its Done channel does: a timer's delay
// after the end of trust, and after up to 100 ms more if the whole machine was
// suspended. A paused process may therefore start another operation or two
// under a derived context; only a fencing token keeps these out.
//
// It panics if parent is nil, as the context package does.
func (h *Hold) Context(parent context.Context) context.Context {
	inner, cancel := context.WithCancelCause(parent)
	c := &holdContext{Context: inner, cancel: cancel, hold: h}
	if parent.Done() != nil {
		c.forget = context.AfterFunc(inner, func() { h.seat.unregister(c) })
	}
	if h.Err() != nil || !h.seat.register(c) {
		c.end(h.Err())
	}
	return c
}

type holdContext struct {
	context.Context // cancelled by the parent or by the hold
	cancel          context.CancelCauseFunc
	hold            *Hold
	forget          func() bool // stops the watch on the parent, if there is one
}

// Err looks at the clocks before it says that all is well.
func (c *holdContext) Err() error {
	if c.Context.Err() == nil {
		if cause := c.hold.Err(); cause != nil {
			c.cancel(cause)
		}
	}
	return c.Context.Err()
}

// Value finds the hold for its own lock. A hold that has ended is as if it
// were not there: the one around it may still stand.
func (c *holdContext) Value(key any) any {
	if k, ok := key.(carriedKey); ok && c.carries(k) {
		return c.hold
	}
	return c.Context.Value(key)
}

func (c *holdContext) carries(k carriedKey) bool {
	l := c.hold.seat.lock
	return k.engine == l.e && k.key == l.p.Key() && c.hold.Err() == nil
}

func (c *holdContext) end(cause error) {
	if c.forget != nil {
		c.forget()
	}
	c.cancel(cause)
}

// carriedKey asks a context for the hold of one lock of one client.
type carriedKey struct {
	engine *engine.Engine
	key    engine.Key
}

// carried is the innermost live hold of this lock that ctx carries, or nil.
func (l *Lock) carried(ctx context.Context) *Hold {
	hold, _ := ctx.Value(l.carry).(*Hold)
	return hold
}

// register makes the context end with its hold. It fails if that has ended.
func (s *seat) register(c *holdContext) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.hold.released || s.cause != nil {
		return false
	}
	if c.Context.Err() == nil { // else its parent has ended, and nobody would unregister it
		c.hold.contexts = append(c.hold.contexts, c)
	}
	return true
}

// unregister forgets a context whose parent has ended.
func (s *seat) unregister(c *holdContext) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.hold.contexts = slices.DeleteFunc(c.hold.contexts, func(other *holdContext) bool { return other == c })
}

func endAll(contexts []*holdContext, cause error) {
	for _, c := range contexts {
		c.end(cause)
	}
}
