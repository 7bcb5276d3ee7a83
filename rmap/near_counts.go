package rmap

import (
	"sync/atomic"
	"unsafe"
)

// tally is what a near cache has done. Hits are counted in several places, since
// processors that take turns at one wait for each other: a goroutine has its own,
// as far as there are enough.
type tally struct {
	_      [64]byte // of what is before it
	hits   [32]count
	misses atomic.Int64
}

type count struct {
	n atomic.Int64
	_ [56]byte // the rest of a cache line
}

// stack is at most the size of a goroutine's stack, which begins at a multiple of it.
const stack = 2048

func (c *tally) hit() {
	var here byte
	at := uintptr(unsafe.Pointer(&here)) / stack // tells goroutines apart, and nothing else
	c.hits[at%uintptr(len(c.hits))].n.Add(1)
}

func (c *tally) allHits() (sum int64) {
	for i := range c.hits {
		sum += c.hits[i].n.Load()
	}
	return sum
}
