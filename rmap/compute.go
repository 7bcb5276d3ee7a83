package rmap

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
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

// Compute changes an entry by a function of its value, in one step: f gets the value and whether
// there is one, and its [Verdict] says what becomes of it. Compute returns the value that the
// entry has afterwards. If f returns an error, Compute changes nothing and returns that error. A
// new entry has the times of opts, or else of the handle. A changed entry of a [Cache] has the
// times that Replace would leave it.
//
// Computes of one process on one entry queue. All that wait are applied to one read and written
// by one write. f is called again if another client has written meanwhile, perhaps on another
// goroutine than that of its caller, while other callers wait. It should be short, change
// nothing else, and not use the same entry. A panic of f continues in its caller. If f ends its
// goroutine, as FailNow of a test does, that of its caller ends. If ctx ends before f was
// called, f is never called. If ctx ends later, Compute returns [ErrOutcomeUnknown].
//
// If the write fails, its error is the error of all functions that saw what it did
// not write, also of those that returned an error of their own or panicked.
//
// Writes of others never get lost, except those that Java's compute overwrites:
// see [WithEntryLock].
//
// Cost: HGET and one script call, for all that wait; of a Cache two script calls. Errors: f's; [ErrDecode]; as Put.
// Source: RMap.compute, by another protocol.
func (c common[K, V]) Compute(ctx context.Context, k K, f func(old V, had bool) (V, Verdict, error), opts ...PutOption) (v V, there bool, err error) {
	l, err := c.m.lifetime(opts)
	var key string
	if err == nil {
		key, err = c.m.encodeKey(ctx, k)
	}
	if err == nil && f == nil {
		err = fmt.Errorf("%w: nil function", ErrInvalidArgument)
	}
	if err != nil {
		return v, false, c.m.failedAt("compute", key, err)
	}
	var result V
	one := &change{ctx: ctx, store: c.m.store}
	one.apply = func(old value) (now value, writes bool, err error) {
		now, writes, result, err = c.m.apply(key, old, f)
		return now, writes, err
	}
	at := c.m.entryOf(key)
	at.entries = l
	if c.m.cfg.entryLock && c.m.carries(ctx, key) { // it does not wait for the Computes that wait for that lock
		c.m.h.takeTurn(ctx, at, []*change{one})
		err = one.outcome()
	} else {
		err = c.m.h.turn(ctx, at, one)
	}
	if err == nil {
		v, there = result, one.now.there
	}
	return v, there, c.m.failedAt("compute", key, err)
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
		text, err := m.codecs.Value(v)
		return value{text: text, there: true}, true, v, err
	}
	return old, false, v, fmt.Errorf("%w: verdict %d is none of Keep, Store, Delete", ErrInvalidArgument, verdict)
}

// ComputeIfAbsent returns the value of k, and if there is none calls f and stores
// what that returns. It reports whether it was stored. f is called as the function of
// Compute is: for one of the callers in the process that find nothing, and again where
// the entry came and went meanwhile. An error of f stores nothing, and is returned.
//
// Cost: as Get; where there is nothing, as Compute in addition. Errors: as
// Compute. Source: RMap.computeIfAbsent, by another protocol.
func (c common[K, V]) ComputeIfAbsent(ctx context.Context, k K, f func() (V, error), opts ...PutOption) (now V, stored bool, err error) {
	if f == nil {
		return now, false, c.m.failed("compute if absent", fmt.Errorf("%w: nil function", ErrInvalidArgument))
	}
	if _, err = c.m.lifetime(opts); err != nil {
		return now, false, c.m.failed("compute if absent", err)
	}
	now, there, err := c.Get(ctx, k)
	if err != nil || there {
		return now, false, err
	}
	made := false
	now, _, err = c.Compute(ctx, k, func(old V, had bool) (V, Verdict, error) {
		if made = !had; had {
			return old, Keep, nil
		}
		v, err := f()
		return v, Store, err
	}, opts...)
	return now, err == nil && made, err
}

// entry is what Computes queue for. Handles that write in other ways do not
// share a queue.
type entry struct {
	kind, name, key string
	shards          int
	ids, lock       bool
	entries         lifetime
	announce        bool
}

// turn has c take part in the next turn of the entry.
func (h *hub) turn(ctx context.Context, e entry, c *change) error {
	_, err := h.turns.Do(ctx, e, c)
	switch {
	case err == nil, errors.Is(err, combine.ErrAborted) && c.settled: // some function ended that goroutine
		err = c.outcome()
	case ctx.Err() != nil && !c.leave():
		err = core.Left(err)
	}
	return err
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

// errExited is what a function leaves that ended its goroutine, as a test's
// FailNow does. Its caller's ends, too.
var errExited = errors.New("the function ended the goroutine")
