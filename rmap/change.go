package rmap

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
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
