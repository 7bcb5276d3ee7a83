package rmap

import (
	"math/rand/v2"
	"sync/atomic"
)

// tally is what a near cache has done. Hits are counted in several places, since
// all processors would wait for one.
type tally struct {
	hits   [16]count
	misses atomic.Int64
}

type count struct {
	n atomic.Int64
	_ [56]byte // the rest of a cache line
}

func (c *tally) hit() { c.hits[rand.Uint32()%16].n.Add(1) }

func (c *tally) allHits() (sum int64) {
	for i := range c.hits {
		sum += c.hits[i].n.Load()
	}
	return sum
}
