package rmap

import (
	"context"
	"math"
	"sync/atomic"

	"github.com/maypok86/otter/v2"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
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
	ahead  *Loading[K, V] // hears of hits; nil: nobody does
}

// copied is an entry, or that there is none.
type copied[V any] struct {
	v    V
	none bool
	size uint32 // where they are bounded by that
	from *origin
	gen  uint64
	ends int64 // in the time of from
	lane *lane
	drop uint32 // of the lane

	again atomic.Int64 // from when on hits are told, in the time of from
}

func newCopies[K comparable, V any](e *locking.Engine, cfg nearConfig, lanes *lanes, from []*origin) *copies[K, V] {
	kept := &otter.Options[K, *copied[V]]{
		MaximumSize: cfg.entries,
		Executor: func(f func()) {
			if !e.Spawn(f) { // ends by itself, and soon
				f()
			}
		},
	}
	if cfg.bytes > 0 {
		kept.MaximumWeight = uint64(cfg.bytes)
		kept.Weigher = func(_ K, it *copied[V]) uint32 { return it.size }
	}
	return &copies[K, V]{from: from, lanes: lanes, store: otter.Must(kept)}
}

// besideEntry is about what a copy takes beside its key and its value.
const besideEntry = 200

// sizeOf returns what a copy counts where they are bounded by bytes; false: it is not kept.
func sizeOf[K comparable, V any](m mapping[K, V], field string, v V) (uint32, bool) {
	switch m := m.(type) {
	case *Near[K, V]:
		return sizeOf(m.m, field, v)
	case housed[K, V]:
		text, err := m.handle().encodeValue(v)
		return uint32(besideEntry + len(field) + len(text)), err == nil
	}
	return 0, false
}

// get returns the copy of k, if it counts, else nil. The clock is read before the generation: who
// is stopped in between answers with what was right then.
func (c *copies[K, V]) get(k K) *copied[V] {
	if c == nil {
		return nil
	}
	it, there := c.store.GetIfPresent(k)
	if !there {
		return nil
	}
	o := it.from
	now := o.now()
	if now >= it.ends || !o.alive(now) {
		return nil
	}
	o.use()
	if o.gen.Load() != it.gen || it.lane.Load() != it.drop {
		return nil
	}
	c.hit()
	return it
}

// keep keeps what was read, unless it has changed since.
func (c *copies[K, V]) keep(k K, it *copied[V]) {
	if it.gen == it.from.gen.Load() && it.lane.Load() == it.drop {
		c.store.Set(k, it)
	}
}

// hears has the Loading beneath, if there is one, hear of a hit, if that is due.
func (c *copies[K, V]) hears(ctx context.Context, k K, it *copied[V]) {
	if c.ahead == nil || it.none {
		return
	}
	now, due := it.from.now(), it.again.Load()
	if now >= due && it.again.CompareAndSwap(due, math.MaxInt64) {
		it.again.Store(now + int64(c.ahead.heard(ctx, k)))
	}
}

// wholeDrops returns how often all entries of a hash were dropped.
func (c *copies[K, V]) wholeDrops() (sum int64) {
	for _, o := range c.from {
		sum += int64(o.gen.Load())
	}
	return sum
}

// did returns what was done so far, for who observes it.
func (c *copies[K, V]) did(name string) func() core.NearCounts {
	return func() core.NearCounts {
		return core.NearCounts{
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
