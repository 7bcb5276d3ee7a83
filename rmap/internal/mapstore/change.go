package mapstore

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
)

// Entry is what Computes queue for. Handles that write in other ways do not
// share a queue.
type Entry struct {
	kind, name, key string
	shards          int
	ids, lock       bool
	Entries         Lifetime
	announce        bool
}

// Turn has c take part in the next turn of the entry.
func (h *Hub) Turn(ctx context.Context, e Entry, c *Change) error {
	_, err := h.Turns.Do(ctx, e, c)
	switch {
	case err == nil, errors.Is(err, combine.ErrAborted) && c.settled: // some function ended that goroutine
		err = c.Outcome()
	case ctx.Err() != nil && !c.leave():
		err = core.Left(err)
	}
	return err
}

// Change is one Compute.
type Change struct {
	Context context.Context
	Store   Store
	Apply   func(old Value) (now Value, writes bool, err error)

	fate    atomic.Int32
	Now     Value // what the entry is to be after it
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
func (c *Change) leave() bool {
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
func (c *Change) run(old Value) (now Value) {
	returned := false
	defer func() {
		if returned {
			return
		}
		now, c.Now, c.writes = old, old, false
		if r := recover(); r != nil {
			c.err = Panicked(r)
		} else {
			c.exited, c.err = true, ErrExited
		}
	}()
	c.Now, c.writes, c.err = c.Apply(old)
	if returned = true; c.err != nil {
		c.Now, c.writes = old, false
	}
	return c.Now
}

// Outcome returns what became of a change whose caller is there. A panic goes on, and
// so does the end of the goroutine.
func (c *Change) Outcome() error {
	if panicked, did := c.err.(*PanicError); did {
		panic(panicked)
	}
	if c.exited {
		runtime.Goexit()
	}
	return c.err
}
