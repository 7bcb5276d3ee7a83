package rmap

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/combine"
)

// Verdict is what a function of Compute wants done.
type Verdict int

const (
	// Keep changes nothing.
	Keep Verdict = iota
	// Store writes the value that the function returned.
	Store
	// Delete removes the entry.
	Delete
)

// entry is what Computes queue for. Handles that write in other ways do not
// share a queue.
type entry struct {
	kind, name, key string
	shards          int
	ids, lock       bool
	entries         lifetime
	announce        bool
}

// change is one Compute.
type change struct {
	ctx   context.Context
	store store
	apply func(old value) (now value, writes bool, err error)

	fate    atomic.Int32
	now     value // what the entry is to be after it
	writes  bool
	exited  bool // the function ended its goroutine, and is not called again
	rests   bool // on what others of the turn have made, which is not written yet
	settled bool
	err     error
}

// The fates of a change: its caller may go before its function was called, or
// when it has been.
const (
	waiting int32 = iota
	running
	gone    // and the function was not called
	goneTwo // and the function was called, so that it may still come about
)

// begin reports whether the function is still to be called.
func (c *change) begin() bool { return c.fate.CompareAndSwap(waiting, running) }

// again begins anew where another write came first.
func (c *change) again() {
	if !c.exited {
		c.fate.CompareAndSwap(running, waiting)
	}
}

// leave reports whether the caller goes without its function having been called,
// or before it was called again.
func (c *change) leave() bool {
	for {
		if c.fate.CompareAndSwap(waiting, gone) {
			return true
		}
		if c.fate.CompareAndSwap(running, goneTwo) {
			return false
		}
	}
}

// errPanic carries the panic of a function from the goroutine that called it to
// that of its caller.
type errPanic struct {
	value any
	stack []byte
}

func (e *errPanic) Error() string { return fmt.Sprintf("%v\n\n%s", e.value, e.stack) }

// Unwrap returns the error that the function panicked with, if it was one.
func (e *errPanic) Unwrap() error {
	err, _ := e.value.(error)
	return err
}

// run calls the function. Its error, its panic and its end of the goroutine are
// its caller's alone.
func (c *change) run(old value) (now value) {
	returned := false
	defer func() {
		if returned {
			return
		}
		now, c.now, c.writes = old, old, false
		if r := recover(); r != nil {
			c.err = &errPanic{r, debug.Stack()}
		} else {
			c.exited, c.err = true, errExited
		}
	}()
	c.now, c.writes, c.err = c.apply(old)
	if returned = true; c.err != nil {
		c.now, c.writes = old, false
	}
	return c.now
}

// errExited is what a function leaves that ended its goroutine, as a test's
// FailNow does. Its caller's ends, too.
var errExited = errors.New("the function ended the goroutine")

// compute waits for its turn at the entry, and for what came of it.
func (m *handle[K, V]) compute(ctx context.Context, k K, f func(old V, had bool) (V, Verdict, error), opts []PutOption) (v V, there bool, err error) {
	l, err := m.lifetime(opts)
	var key string
	if err == nil {
		key, err = m.encodeKey(ctx, k)
	}
	if err == nil && f == nil {
		err = fmt.Errorf("%w: nil function", ErrOption)
	}
	if err != nil {
		return v, false, m.failedAt("compute", key, err)
	}
	var result V
	c := &change{ctx: ctx, store: m.store}
	c.apply = func(old value) (now value, writes bool, err error) {
		now, writes, result, err = m.apply(key, old, f)
		return now, writes, err
	}
	at := m.entryOf(key)
	at.entries = l
	if m.within(ctx, key) {
		m.h.takeTurn(ctx, at, []*change{c})
		err = c.outcome()
	} else {
		err = m.h.turn(ctx, at, c)
	}
	if err == nil {
		v, there = result, c.now.there
	}
	return v, there, m.failedAt("compute", key, err)
}

func (m *handle[K, V]) entryOf(key string) entry {
	return entry{m.kind, m.home(key), key, m.cfg.shards, m.cfg.requestIDs, m.cfg.entryLock, m.cfg.entries, m.cfg.announce}
}

// apply calls f with values, and returns bytes.
func (m *handle[K, V]) apply(key string, old value, f func(V, bool) (V, Verdict, error)) (now value, writes bool, v V, err error) {
	was, had, err := m.decode(key, old)
	if err != nil {
		return old, false, v, err
	}
	v, verdict, err := f(was, had)
	switch {
	case err != nil:
		return old, false, v, err
	case verdict == Keep:
		return old, false, was, nil
	case verdict == Delete:
		var none V
		return value{}, had, none, nil
	case verdict == Store:
		text, err := m.encodeValue(v)
		return value{text: text, there: true}, true, v, err
	}
	return old, false, v, fmt.Errorf("%w: verdict %d is none of Keep, Store, Delete", ErrOption, verdict)
}

// turn has c take part in the next turn of the entry.
func (h *hub) turn(ctx context.Context, e entry, c *change) error {
	_, err := h.turns.Do(ctx, e, c)
	switch {
	case err == nil, errors.Is(err, combine.ErrAborted) && c.settled: // some function ended that goroutine
		err = c.outcome()
	case ctx.Err() != nil && !c.leave():
		err = fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return err
}

// outcome returns what became of a change whose caller is there. A panic goes on, and
// so does the end of the goroutine.
func (c *change) outcome() error {
	if panicked, did := c.err.(*errPanic); did {
		panic(panicked)
	}
	if c.exited {
		runtime.Goexit()
	}
	return c.err
}
