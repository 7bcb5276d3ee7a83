package rmap

import (
	"github.com/maypok86/otter/v2"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// copies is what a near cache keeps. Nothing in it is looked for when something
// changes: each entry knows the generation of its hash and the count of its lane,
// and one that knows another one than there is does not count.
type copies[K comparable, V any] struct {
	store *otter.Cache[K, *copied[V]]
	from  []*origin
	*lanes
	tally
	report *report
}

// copied is an entry.
type copied[V any] struct {
	v    V
	from *origin
	gen  uint64
	ends int64 // in the time of from
	lane *lane
	drop uint32 // of the lane
}

func newCopies[K comparable, V any](e *engine.Engine, most int, lanes *lanes, from []*origin) *copies[K, V] {
	return &copies[K, V]{from: from, lanes: lanes, store: otter.Must(&otter.Options[K, *copied[V]]{
		MaximumSize: most,
		Executor: func(f func()) {
			if !e.Spawn(f) { // ends by itself, and soon
				f()
			}
		},
	})}
}

// get is the copy of k, if it counts. The clock is read before the generation: who
// is stopped in between answers with what was right then.
func (c *copies[K, V]) get(k K) (v V, counts bool) {
	if c == nil {
		return v, false
	}
	it, there := c.store.GetIfPresent(k)
	if !there {
		return v, false
	}
	o := it.from
	now := o.now()
	if now >= it.ends || !o.alive(now) {
		return v, false
	}
	o.use()
	if o.gen.Load() != it.gen || it.lane.Load() != it.drop {
		return v, false
	}
	c.hit()
	return it.v, true
}

// wholeDrops is how often all entries of a hash were dropped.
func (c *copies[K, V]) wholeDrops() (sum int64) {
	for _, o := range c.from {
		sum += int64(o.gen.Load())
	}
	return sum
}

// did is what was done so far, for who observes it.
func (c *copies[K, V]) did(name string) func() engine.NearCounts {
	return func() engine.NearCounts {
		return engine.NearCounts{
			Cache: name, Hits: c.allHits(), Misses: c.misses.Load(), Drops: c.lanes.drops.Load(), WholeDrops: c.wholeDrops(),
		}
	}
}

// dropAll has no entry count any more.
func (c *copies[K, V]) dropAll() {
	for _, o := range c.from {
		o.Dropped()
	}
}
