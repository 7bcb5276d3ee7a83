package nearcache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// Cache is a map with a local copy of its hot entries, and bounds their staleness;
// see docs/guide/near-caches.md. It has the operations of the map that it was made
// of, and answers Get, GetMany and Has without I/O if it has a valid copy.
// It may be used by any number of goroutines; one for each process and map is
// enough, and has the most hits.
//
// Values are handed out as they are kept: all readers of one get the same, so what
// they point to must not be changed.
type Cache[K comparable, V any] struct {
	m   rmap.Mapping[K, V]
	b   mapstore.Inside[K, V, rmap.PutOption]
	cfg config
	bad error

	kept atomic.Pointer[copies[K, V]] // nil: nothing was read yet, or it was closed

	mu     sync.Mutex
	closed bool
	end    *ending // of what kept stands on
}

// New returns a near cache of m, which is any map of package rmap, or a readthrough.Map or a writethrough.Map
// of one. It does no I/O: the operations of the near cache report an invalid option. Close ends
// it. A near cache that is not used any more is closed when the garbage is collected.
func New[K comparable, V any](m rmap.Mapping[K, V], opts ...Option) *Cache[K, V] {
	n := &Cache[K, V]{m: m, b: m.Inside()}
	n.cfg, n.bad = resolve(opts)
	if n.bad == nil && n.b.Bad == nil && n.cfg.announced && !n.b.Announces {
		n.bad = fmt.Errorf("%w: WithAnnounced needs a map that is made with WithAnnounce", ErrInvalidArgument)
	}
	return n
}

// ending is what a near cache leaves. It knows nothing of the near cache, so that
// that can be collected.
type ending struct {
	once   sync.Once
	all    []func()
	report *report
}

func (e *ending) run() {
	e.once.Do(func() {
		for _, end := range e.all {
			end()
		}
	})
}

// collected ends a near cache that was collected without a Close.
func (e *ending) collected() {
	e.run()
	e.report.spawn()
}

// Close drops the copies, and ends the notifications of changes. The near cache then behaves as
// the map that it was made of, which it does not close.
func (n *Cache[K, V]) Close() {
	n.mu.Lock()
	n.closed = true
	n.kept.Store(nil)
	end := n.end
	n.mu.Unlock()
	if end != nil {
		end.run()
		end.report.tell()
	}
}

// copies returns what is kept, from the first read on; nil once it is closed.
func (n *Cache[K, V]) copies() *copies[K, V] {
	if c := n.kept.Load(); c != nil {
		return c
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if c := n.kept.Load(); c != nil || n.closed || n.b.Bad != nil {
		return c
	}
	c, end := n.begin()
	n.end = end
	runtime.AddCleanup(n, (*ending).collected, end)
	n.kept.Store(c)
	return c
}

// begin sends nothing yet.
func (n *Cache[K, V]) begin() (*copies[K, V], *ending) {
	lanes := newLanes(fewLanes)
	if n.cfg.announced {
		entries := max(n.cfg.entries, int(min(n.cfg.bytes/besideEntry, 1<<20)))
		lanes = newLanes(1 << bits.Len(uint(min(max(4*entries, 256), 1<<20)-1))) // so many that entries seldom share one
	}
	end := &ending{}
	from := make([]*origin, len(n.b.Keys))
	for i, key := range n.b.Keys {
		from[i] = &origin{born: time.Now(), silence: n.cfg.silence}
		if n.cfg.announced {
			a := &announced{h: n.b.Hub, key: key, o: from[i], lanes: lanes, news: make(chan struct{}, 1), mutes: map[string]time.Time{}}
			from[i].arm = a.arm
			end.all = append(end.all, a.close)
		} else { // the server tells of changes
			w := n.b.Hub.Engine.Track(key, n.cfg.silence, from[i], n.b.Beside...)
			from[i].arm = w.Arm
			end.all = append(end.all, w.Close)
		}
	}
	c := newCopies[K, V](n.b.Hub.Engine, n.cfg, lanes, from)
	c.ahead = n.b.Heard
	name := n.m.Name()
	c.report = &report{e: n.b.Hub.Engine, born: time.Now(), did: func() core.NearCounts {
		return core.NearCounts{Cache: name, Hits: c.allHits(), Misses: c.misses.Load(), Drops: c.lanes.drops.Load(), WholeDrops: c.wholeDrops()}
	}}
	c.report.next.Store(int64(reportEvery))
	for _, o := range from {
		o.heard = c.report.look
	}
	end.report = c.report
	return c, end
}

// usable checks what a hit does not ask the map for.
func (n *Cache[K, V]) usable(ctx context.Context) error {
	if ctx == nil || n.bad != nil || n.b.Hub == nil {
		return n.unusable(ctx)
	}
	return n.b.Hub.Engine.Open()
}

func (n *Cache[K, V]) unusable(ctx context.Context) error {
	return object.Failed("near", "", n.m.Name(), cmp.Or(n.bad, n.b.Bad, object.CheckContext(ctx)))
}

// place is where an entry would be kept that is read now.
type place[K comparable, V any] struct {
	in    *copies[K, V] // nil: nowhere
	field string
	from  *origin
	gen   uint64
	born  int64
	lane  *lane
	drop  uint32 // of the lane
	ok    bool   // it may be
}

// origins are hashes whose next change is not told.
type origins map[*origin]bool

// place has the next change told, if it can, and notes where it cannot: several keys that are read together ask once. Each
// place is left.
func (n *Cache[K, V]) place(ctx context.Context, k K, unready *origins) (p place[K, V]) {
	c := n.copies()
	if c == nil {
		return p
	}
	c.misses.Add(1)
	c.report.look()
	i, field, err := n.b.At(k)
	if err != nil {
		return p // which the map will say
	}
	p = place[K, V]{in: c, field: field, from: c.from[i], lane: c.lanes.of(keys.Hash(field))}
	p.drop = p.lane.Load()
	if unready == nil || !(*unready)[p.from] {
		p.gen, p.ok = p.from.ready(ctx, n.b.Hub.Engine)
	}
	if unready != nil && !p.ok {
		if *unready == nil {
			*unready = origins{}
		}
		(*unready)[p.from] = true
	}
	c.reads.begin(k)
	p.born = p.from.now()
	return p
}

// leave ends the read of k.
func (p place[K, V]) leave(k K) {
	if p.in != nil {
		p.in.reads.end(k)
	}
}

// keep keeps what was read for a place.
func (n *Cache[K, V]) keep(ctx context.Context, k K, v V, p place[K, V]) {
	if p.in == nil {
		return
	}
	it := n.copied(v, p, n.cfg.age)
	p.in.returned(k, it, p.born, p.ok && n.weighs(it, p) && n.lasts(ctx, k, it, p))
}

// weighs notes what a copy counts where they are bounded by bytes. It is false for one that cannot be kept.
func (n *Cache[K, V]) weighs(it *copied[V], p place[K, V]) (is bool) {
	if n.cfg.bytes == 0 {
		return true
	}
	it.size, is = n.sizeOf(p.field, it.v)
	return is
}

// lasts has a copy end with its entry. It is false for one whose end is not known.
func (n *Cache[K, V]) lasts(ctx context.Context, k K, it *copied[V], p place[K, V]) bool {
	if n.b.Left == nil {
		return true
	}
	now := p.from.now()
	left, err := n.b.Left(ctx, k)
	if left > 0 {
		it.ends = min(it.ends, now+int64(left))
	}
	return err == nil && left != 0
}

// keepNone keeps that there is no entry, where that is wanted.
func (n *Cache[K, V]) keepNone(k K, p place[K, V]) {
	if p.in == nil {
		return
	}
	var none V
	it := n.copied(none, p, min(n.cfg.misses, n.cfg.age))
	it.none, it.size = true, uint32(besideEntry+len(p.field))
	p.in.returned(k, it, p.born, p.ok && n.cfg.misses > 0)
}

// copied returns what was read for a place, for so long at most.
func (n *Cache[K, V]) copied(v V, p place[K, V], age time.Duration) *copied[V] {
	it := &copied[V]{v: v, from: p.from, gen: p.gen, lane: p.lane, drop: p.drop}
	it.ends = min(p.born+int64(age), p.from.ends.Load())
	return it
}

// wrote has what was written here counted no more, whatever became of the write.
func (n *Cache[K, V]) wrote(ks ...K) {
	c := n.kept.Load()
	if c == nil {
		return
	}
	for _, k := range ks {
		if _, field, err := n.b.At(k); err == nil {
			c.lanes.drop(keys.Hash(field))
		}
	}
}

// wroteAll is wrote of all entries.
func (n *Cache[K, V]) wroteAll() {
	if c := n.kept.Load(); c != nil {
		for _, o := range c.from {
			o.Dropped()
		}
	}
}

// Name returns the name of the map.
func (n *Cache[K, V]) Name() string { return n.m.Name() }

// Get returns the value of k, and whether there is one. A copy that counts is
// returned without a round trip, also if ctx has ended; a readthrough.Map beneath hears of it
// where the entry is to be loaded anew soon (readthrough.WithRefreshAhead). That there is none is
// kept by [WithMisses] only.
//
// Cost: nothing, or that of the map's Get, a PTTL for all that miss together, and of an
// [rmap.Cache] or an [rmap.TTLMap] its TTL. Errors: those of the map's Get.
func (n *Cache[K, V]) Get(ctx context.Context, k K) (v V, there bool, err error) {
	if err := n.usable(ctx); err != nil {
		return v, false, err
	}
	c := n.kept.Load()
	if it := c.get(k); it != nil {
		c.hears(ctx, k, it)
		return it.v, !it.none, nil
	}
	p := n.place(ctx, k, nil)
	defer p.leave(k)
	switch v, there, err = n.m.Get(ctx, k); {
	case err != nil:
	case there:
		n.keep(ctx, k, v, p)
	default:
		n.keepNone(k, p)
	}
	return v, there, err
}

// GetMany returns the entries of those of the keys that are there. It reads those without a copy
// that counts by one GetMany of the map. A readthrough.Map beneath hears of copies as by Get.
//
// Cost: nothing for copies; for the others that of the map's GetMany. Errors: those of the map's
// GetMany.
func (n *Cache[K, V]) GetMany(ctx context.Context, ks ...K) (map[K]V, error) {
	if err := n.usable(ctx); err != nil {
		return nil, err
	}
	found := make(map[K]V, len(ks))
	var missing []K
	var places []place[K, V]
	defer func() {
		for i, p := range places {
			p.leave(missing[i])
		}
	}()
	var unready origins
	c := n.kept.Load()
	for _, k := range ks {
		if it := c.get(k); it != nil {
			if !it.none {
				found[k] = it.v
				c.hears(ctx, k, it)
			}
		} else {
			missing, places = append(missing, k), append(places, n.place(ctx, k, &unready))
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	got, err := n.m.GetMany(ctx, missing...)
	if got == nil {
		return nil, err
	}
	for i, k := range missing {
		if v, there := got[k]; there {
			n.keep(ctx, k, v, places[i])
			found[k] = v
		} else if err == nil {
			n.keepNone(k, places[i])
		}
	}
	return found, err
}

// Has reports whether there is an entry of k: by a copy that counts, or the map's Has. A
// readthrough.Map beneath hears of a copy as by Get.
//
// Cost: nothing for a copy, else that of the map's Has. Errors: those of the map's Has.
func (n *Cache[K, V]) Has(ctx context.Context, k K) (bool, error) {
	if err := n.usable(ctx); err != nil {
		return false, err
	}
	c := n.kept.Load()
	if it := c.get(k); it != nil {
		c.hears(ctx, k, it)
		return !it.none, nil
	}
	return n.m.Has(ctx, k)
}

// preloadPage is how many entries Preload reads at a time.
const preloadPage = 500

// Preload reads entries of the map, so that Gets find copies of them, until all are read or
// as many are kept as may be. It returns how many it has read. What others write meanwhile
// drops copies as ever. Entries with a copy that counts are not read again.
//
// Cost: that of the map's Keys, and of a GetMany of 500 keys for each page; of an
// [rmap.Cache] or an [rmap.TTLMap] the TTL of each entry. Errors: those of the map's Keys and GetMany. Source:
// RLocalCachedMap.preloadCache.
func (n *Cache[K, V]) Preload(ctx context.Context) (read int64, err error) {
	if err := n.usable(ctx); err != nil {
		return 0, err
	}
	var page []K
	most := preloadPage
	if n.cfg.entries > 0 {
		most = min(most, n.cfg.entries)
	}
	for k, err := range n.m.Keys(ctx) {
		if err != nil {
			return read, err
		}
		if page = append(page, k); len(page) < most {
			continue
		}
		got, err := n.GetMany(ctx, page...)
		read += int64(len(got))
		full := read >= int64(n.cfg.entries)
		if c := n.kept.Load(); n.cfg.bytes > 0 && c != nil {
			full = int64(c.store.WeightedSize()) > n.cfg.bytes*9/10
		}
		if err != nil || full {
			return read, err
		}
		page = page[:0]
	}
	got, err := n.GetMany(ctx, page...)
	return read + int64(len(got)), err
}

// Len returns how many entries the map has. It does what the map's Len does, with its cost and
// errors.
func (n *Cache[K, V]) Len(ctx context.Context) (int64, error) {
	if err := n.usable(ctx); err != nil {
		return 0, err
	}
	return n.m.Len(ctx)
}

// All walks the entries of the map. It does what the map's All does, with its cost and errors.
func (n *Cache[K, V]) All(ctx context.Context, opts ...rmap.ScanOption) iter.Seq2[rmap.Entry[K, V], error] {
	if err := n.usable(ctx); err != nil {
		return func(yield func(rmap.Entry[K, V], error) bool) { yield(rmap.Entry[K, V]{}, err) }
	}
	return n.m.All(ctx, opts...)
}

// Keys walks the keys of the map. It does what the map's Keys does, with its cost and errors.
func (n *Cache[K, V]) Keys(ctx context.Context, opts ...rmap.ScanOption) iter.Seq2[K, error] {
	if err := n.usable(ctx); err != nil {
		return func(yield func(K, error) bool) {
			var none K
			yield(none, err)
		}
	}
	return n.m.Keys(ctx, opts...)
}

// Lock returns the map's.
func (n *Cache[K, V]) Lock(k K) *lock.Lock { return n.m.Lock(k) }

func (n *Cache[K, V]) add(ctx context.Context, k K, delta V, opts []rmap.PutOption) (v V, err error) {
	if err := n.usable(ctx); err != nil {
		return v, err
	}
	defer n.wrote(k)
	return n.b.Add(ctx, k, delta, opts)
}

// Inside returns what packages readthrough and writethrough build on. It is for this module, see
// [rmap.Mapping].
func (n *Cache[K, V]) Inside() mapstore.Inside[K, V, rmap.PutOption] {
	in := n.b
	in.Handle, in.Whole, in.Writes, in.Written, in.Add = nil, false, false, nil, n.add
	return in
}

// Stats is what a near cache has done since its first read.
type Stats struct {
	// Hits is how many reads of an entry were answered by a copy, and Misses how many were not.
	Hits, Misses int64

	// Drops is how many single entries were told to have changed, here or by others,
	// kept or not, and WholeDrops how often all may have.
	Drops, WholeDrops int64

	// Size is about how many entries are kept, with those that do not count any more
	// and were not written over yet.
	Size int

	// Err is why nothing is kept at the moment; it wraps [errors.ErrUnsupported] where
	// the server, or the protocol that the client speaks, has no tracking. The near
	// cache is then the map that it was made of, and tries again by itself.
	Err error
}

// Stats returns what it has done so far.
func (n *Cache[K, V]) Stats() (s Stats) {
	c := n.kept.Load()
	if c == nil {
		return s
	}
	s = Stats{Hits: c.allHits(), Misses: c.misses.Load(), Drops: c.lanes.drops.Load(), Size: c.store.EstimatedSize()}
	s.WholeDrops = c.wholeDrops()
	var why []error
	for _, o := range c.from {
		o.mu.Lock()
		why = append(why, o.err)
		o.mu.Unlock()
	}
	s.Err = errors.Join(why...)
	return s
}

var _ rmap.Mapping[string, int] = (*Cache[string, int])(nil)
