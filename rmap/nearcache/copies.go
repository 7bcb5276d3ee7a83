package nearcache

import (
	"context"
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/maypok86/otter/v2"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
)

// copies is what a near cache keeps. Nothing in it is looked for when something
// changes: each entry knows the generation of its hash and the count of its lane,
// and one that knows another one than there is does not count.
type copies[K comparable, V any] struct {
	store *otter.Cache[K, *copied[V]]
	reads *reads[K, V] // nil: the server tells of a change before it answers a read with it
	from  []*origin
	*lanes
	tally
	report *report
	ahead  func(ctx context.Context, k K) time.Duration // hears of hits; nil: nobody does
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

func newCopies[K comparable, V any](e *locking.Engine, cfg config, lanes *lanes, from []*origin) *copies[K, V] {
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
	c := &copies[K, V]{from: from, lanes: lanes, store: otter.Must(kept)}
	if cfg.announced {
		c.reads = &reads[K, V]{all: make(map[K]*reading[V])}
	}
	return c
}

// besideEntry estimates the bytes that a copy takes in addition to its key and its value.
const besideEntry = 200

// sizeOf returns what a copy counts where they are bounded by bytes; false: it is not kept.
func (n *Cache[K, V]) sizeOf(field string, v V) (uint32, bool) {
	text, err := n.b.Encode(v)
	return uint32(besideEntry + len(field) + len(text)), err == nil
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

// returned takes what a read of k has returned that began then. If wanted, it is kept, unless it has changed since.
func (c *copies[K, V]) returned(k K, it *copied[V], began int64, wanted bool) {
	if c.reads != nil {
		c.reads.mu.Lock()
		defer c.reads.mu.Unlock()
		wanted = c.reads.agrees(k, it, began) && wanted
	}
	if wanted && it.gen == it.from.gen.Load() && it.lane.Load() == it.drop {
		c.store.Set(k, it)
	}
}

// hears has what loads beneath, if anything does, hear of a hit, if that is due.
func (c *copies[K, V]) hears(ctx context.Context, k K, it *copied[V]) {
	if c.ahead == nil || it.none {
		return
	}
	now, due := it.from.now(), it.again.Load()
	if now >= due && it.again.CompareAndSwap(due, math.MaxInt64) {
		it.again.Store(now + int64(c.ahead(ctx, k)))
	}
}

// wholeDrops returns how often all entries of a hash were dropped.
func (c *copies[K, V]) wholeDrops() (sum int64) {
	for _, o := range c.from {
		sum += int64(o.gen.Load())
	}
	return sum
}

// lanes is how often an entry of each lane was dropped. They come about, so many at
// a time, when an entry is to be read that is of one of them.
type lanes struct {
	pages []atomic.Pointer[lanePage]
	drops atomic.Int64
}

type lane = atomic.Uint32

type lanePage [64]lane

func newLanes(n int) *lanes {
	return &lanes{pages: make([]atomic.Pointer[lanePage], n/len(lanePage{}))}
}

// fewLanes are enough where each change drops all.
const fewLanes = 256

func (l *lanes) at(hash [16]byte) (page *atomic.Pointer[lanePage], i uint32) {
	n := binary.BigEndian.Uint32(hash[4:])
	const size = uint32(len(lanePage{}))
	return &l.pages[n/size%uint32(len(l.pages))], n % size
}

// of returns the lane of a key, by its hash.
func (l *lanes) of(hash [16]byte) *lane {
	page, i := l.at(hash)
	if page.Load() == nil {
		page.CompareAndSwap(nil, new(lanePage))
	}
	return &page.Load()[i]
}

// drop has the entries of a key's lane count no more. If there is no lane, none of
// them was read, and who reads one from now on reads what has changed.
func (l *lanes) drop(hash [16]byte) {
	page, i := l.at(hash)
	if page := page.Load(); page != nil {
		page[i].Add(1)
	}
	l.drops.Add(1)
}

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

// report tells the observer what a near cache has done. Hits do not do that: a miss, and the
// receipt of a sign of life from the server, look whether a report is due.
type report struct {
	e    *locking.Engine
	did  func() core.NearCounts // so far
	born time.Time
	next atomic.Int64 // when it is due, since born

	mu   sync.Mutex
	told core.NearCounts
}

// reportEvery is how often an observer is told of a near cache.
const reportEvery = time.Second

// look has the observer told if that is due. It does not block.
func (r *report) look() {
	if r.e.Caches == nil {
		return
	}
	now, due := int64(time.Since(r.born)), r.next.Load()
	if now >= due && r.next.CompareAndSwap(due, now+int64(reportEvery)) {
		r.spawn()
	}
}

// spawn tells on a goroutine of its own, for callers that an observer may not hold up.
func (r *report) spawn() {
	if r.e.Caches != nil {
		r.e.Spawn(r.tell) // ends with the observer's call
	}
}

// tell tells the observer what has become more.
func (r *report) tell() {
	if r.e.Caches == nil {
		return
	}
	if more := r.more(); more != (core.NearCounts{Cache: more.Cache}) {
		r.e.Caches.Near(context.Background(), more)
	}
}

func (r *report) more() core.NearCounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, before := r.did(), r.told
	r.told = now
	now.Hits -= before.Hits
	now.Misses -= before.Misses
	now.Drops -= before.Drops
	now.WholeDrops -= before.WholeDrops
	return now
}
