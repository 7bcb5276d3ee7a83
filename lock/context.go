package lock

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/fence"
)

// Context returns a child of parent for the work that needs the lock. It ends with the hold, with
// cause ErrLost, [ErrReleased] or [ErrClosed], and always before another client can acquire the
// lock. Its Err compares the clocks at each call, as [Hold.Err] does.
//
// The context carries the hold: locking the same name of the same client under it re-enters, from
// every goroutine that has it. So within the critical section use a sync.Mutex, or give workers a
// [Detach] of it.
//
// Contexts derived from it end when its Done channel closes: a timer's delay after the end of
// trust, plus up to 100 ms if the whole machine was suspended. A paused process may therefore start
// another operation or two under a derived context. Only a fencing token keeps these out.
//
// The context of a fenced hold carries the token, too: see fence.FromContext.
//
// It panics if parent is nil, as the context package does.
func (h *Hold) Context(parent context.Context) context.Context {
	if parent == nil {
		panic("lock: cannot create a context from a nil parent")
	}
	if token, fenced := h.Fence(); fenced {
		parent = fence.NewContext(parent, token)
	}
	c := &holdContext{hold: h}
	if parent.Done() == nil {
		c.ending, c.values = h.seat.lasting(h), parent
	} else {
		h.seat.list(c, parent)
	}
	_ = c.Err() // a hold that has ended ends it at once
	return c
}

// holdContext is the context of one level. It stays listed with the hold until its parent ends. All
// contexts whose parents cannot end, such as Background, share one ending, and nothing is kept for
// each.
type holdContext struct {
	ending
	values context.Context // the parent, if the ending is not derived from it
	hold   *Hold

	// Guarded by the seat's mutex: its place in the level's list, if it has one.
	prev, next *holdContext
	forget     func() bool // stops the watch on the parent
}

// ending is a context of the context package, so that deriving from a hold's
// context costs no goroutine.
type ending struct {
	context.Context
	cancel context.CancelCauseFunc
}

func newEnding(parent context.Context) ending {
	ctx, cancel := context.WithCancelCause(parent)
	return ending{ctx, cancel}
}

// Err compares the clocks before it returns nil.
func (c *holdContext) Err() error {
	if c.ending.Err() == nil {
		if cause := c.hold.Err(); cause != nil {
			c.cancel(cause)
		}
	}
	return c.ending.Err()
}

// Value returns the hold for a key of its own lock. A hold that has ended is ignored: an outer hold
// may still be valid. A shared ending has one value: itself, for which context.Cause asks.
func (c *holdContext) Value(key any) any {
	if k, ours := asked(key); ours {
		if h := c.carried(k); h != nil {
			return h
		}
	}
	if v := c.ending.Value(key); v != nil || c.values == nil {
		return v
	}
	return c.values.Value(key)
}

// Deadline returns the deadline of the parent.
func (c *holdContext) Deadline() (time.Time, bool) {
	if c.values != nil {
		return c.values.Deadline()
	}
	return c.ending.Deadline()
}

// carried returns the hold that k asks for, if it is carried and live: the context's own, or one of
// its members.
func (c *holdContext) carried(k carriedKey) *Hold {
	made, several := c.hold.seat.held.(composite)
	if !several {
		return c.hold.asked(k)
	}
	if c.hold.Err() != nil {
		return nil
	}
	for _, h := range made.Members() {
		if h := h.asked(k); h != nil {
			return h
		}
	}
	return nil
}

// asked returns h, if k asks for it and it is live.
func (h *Hold) asked(k carriedKey) *Hold {
	if _, there := h.seat.of.kind(k); there && h.Err() == nil {
		return h
	}
	return nil
}

// contexts are the contexts that end with one level.
type contexts struct {
	shared *ending      // of those whose parents cannot end; made with the first
	listed *holdContext // the others: a list, so that one whose parent has ended leaves it at once
}

// end ends the contexts that were taken from the level under the seat's mutex: nothing else changes
// the list any more.
func (cs contexts) end(cause error) {
	if cs.shared != nil {
		cs.shared.cancel(cause)
	}
	for c := cs.listed; c != nil; {
		next := c.next
		c.prev, c.next = nil, nil // a context that is kept keeps no others
		c.forget()
		c.cancel(cause)
		c = next
	}
}

// take removes the contexts from the level and returns them. The caller ends them.
func (cs *contexts) take() contexts {
	taken := *cs
	*cs = contexts{}
	return taken
}

// lasting returns the ending that is shared by all contexts of h whose parents cannot end.
func (s *seat) lasting(h *Hold) ending {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.contexts.shared == nil {
		shared := newEnding(context.Background())
		h.contexts.shared = &shared
	}
	return *h.contexts.shared
}

// tell adds c to the level's list, without a parent. If the level has ended, it returns why.
func (s *seat) tell(c *holdContext) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.hold.released:
		return ErrReleased
	case s.cause != nil:
		return s.cause
	}
	s.push(c)
	return nil
}

// push adds c to the list. The caller holds the mutex.
func (s *seat) push(c *holdContext) {
	c.next = c.hold.contexts.listed
	if c.next != nil {
		c.next.prev = c
	}
	c.hold.contexts.listed = c
}

// list makes c end with its hold and with parent. When parent ends, c leaves the list.
func (s *seat) list(c *holdContext, parent context.Context) {
	c.ending = newEnding(parent)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.hold.released || s.cause != nil {
		return
	}
	c.forget = context.AfterFunc(c.ending.Context, func() { s.unlist(c) }) // on a goroutine of its own: after this
	s.push(c)
}

// unlist removes a context that has ended from the list. It ignores a list that was taken.
func (s *seat) unlist(c *holdContext) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.hold.released || s.cause != nil {
		return
	}
	if c.next != nil {
		c.next.prev = c.prev
	}
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		c.hold.contexts.listed = c.next
	}
	c.prev, c.next = nil, nil
}

// Detach returns a child of ctx for work that must not take part in the holds that ctx carries,
// such as workers that exclude each other. It ends with ctx, and so with the hold, for the same
// cause, and it has the values of ctx. But locking a name under it waits for the lock instead of
// re-entering.
//
// A holder must therefore not wait for a worker that waits for the same name: the worker waits for
// the holder.
func Detach(ctx context.Context) context.Context { return detached{ctx} }

type detached struct{ context.Context }

func (d detached) Value(key any) any {
	if _, ours := asked(key); ours {
		return nil
	}
	return d.Context.Value(key)
}
