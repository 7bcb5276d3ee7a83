package turn

import (
	"context"
	"runtime"
	"sync/atomic"
)

// Change is one function of a caller, and what became of it.
type Change[V any] struct {
	Context context.Context
	At      Site[V]
	Apply   func(old V) (now V, writes bool, err error)

	fate    atomic.Int32
	Now     V // what the value is to be after it
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
func (c *Change[V]) leave() bool {
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
func (c *Change[V]) run(old V) (now V) {
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
func (c *Change[V]) Outcome() error {
	if panicked, did := c.err.(*PanicError); did {
		panic(panicked)
	}
	if c.exited {
		runtime.Goexit()
	}
	return c.err
}
