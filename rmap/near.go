package rmap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/lock"
)

// Near is a map with a local copy of its hot entries, which knows how stale it may
// be; see the package's documentation. It does what the map does that it was made
// of, and answers Get, GetMany and Has by itself where it has a copy that counts.
// It may be used by any number of goroutines; one for each process and map is
// enough, and has the most hits.
//
// Values are handed out as they are kept: all who get one get the same, so what
// they point to must not be changed.
type Near[K comparable, V any] struct {
	m   mapping[K, V]
	b   base[K]
	cfg nearConfig
	bad error

	kept atomic.Pointer[copies[K, V]] // nil: nothing was read yet, or it was closed

	mu     sync.Mutex
	closed bool
	end    *ending // of what kept stands on
}

// NewNear returns a near cache of m, which is any map of this package, or what was
// made of one. It asks nobody: an option that cannot be used is the error of its
// operations. Close ends it; one that is not used any more ends by itself when the
// garbage is collected.
func NewNear[K comparable, V any](m mapping[K, V], opts ...NearOption) *Near[K, V] {
	n := &Near[K, V]{m: m, b: m.base()}
	n.cfg, n.bad = resolveNear(opts)
	if n.bad == nil && n.cfg.announced && !n.b.announces {
		n.bad = fmt.Errorf("%w: WithAnnounced needs a map that is made with WithAnnounce", ErrOption)
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

// collected is run of a near cache that nobody has closed.
func (e *ending) collected() {
	e.run()
	e.report.spawn()
}

// Close drops the copies, and what tells of changes. The near cache goes on as the
// map that it was made of, which it does not close.
func (n *Near[K, V]) Close() {
	if end := n.shut(); end != nil {
		end.run()
		end.report.tell()
	}
}

func (n *Near[K, V]) shut() *ending {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	n.kept.Store(nil)
	return n.end
}

// copies is what is kept, from the first read on; nil once it is closed.
func (n *Near[K, V]) copies() *copies[K, V] {
	if c := n.kept.Load(); c != nil {
		return c
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if c := n.kept.Load(); c != nil || n.closed || n.b.bad != nil {
		return c
	}
	c, end := n.begin()
	n.end = end
	runtime.AddCleanup(n, (*ending).collected, end)
	n.kept.Store(c)
	return c
}

// begin sends nothing yet.
func (n *Near[K, V]) begin() (*copies[K, V], *ending) {
	lanes := newLanes(fewLanes)
	if n.cfg.announced {
		lanes = newLanes(lanesFor(n.cfg.entries))
	}
	end := &ending{}
	from := make([]*origin, len(n.b.keys))
	for i, key := range n.b.keys {
		from[i] = &origin{born: time.Now(), silence: n.cfg.silence}
		if n.cfg.announced {
			end.all = append(end.all, announcedTo(n.b.h, key, from[i], lanes))
		} else {
			end.all = append(end.all, trackedBy(n.b.h.e, key, from[i], n.b.beside))
		}
	}
	c := newCopies[K, V](n.b.h.e, n.cfg.entries, lanes, from)
	c.report = newReport(n.b.h.e, c.did(n.m.Name()))
	for _, o := range from {
		o.heard = c.report.look
	}
	end.report = c.report
	return c, end
}

// usable checks what a hit does not ask the map for.
func (n *Near[K, V]) usable(ctx context.Context) error {
	if ctx == nil || n.bad != nil {
		return n.unusable()
	}
	return n.b.h.e.Open()
}

func (n *Near[K, V]) unusable() error {
	if n.bad != nil {
		return fmt.Errorf("near %q: %w", n.m.Name(), n.bad)
	}
	return fmt.Errorf("near %q: %w: nil context", n.m.Name(), ErrOption)
}

// hit is the copy of k, if it counts.
func (n *Near[K, V]) hit(k K) (v V, counts bool) { return n.kept.Load().get(k) }

// place is where an entry would be kept that is read now.
type place struct {
	field string
	from  *origin
	gen   uint64
	born  int64
	lane  *lane
	drop  uint32 // of the lane
	ok    bool   // it may be
}

// place has the next change told, if it can.
func (n *Near[K, V]) place(ctx context.Context, k K) (p place) {
	c := n.copies()
	if c == nil {
		return p
	}
	c.misses.Add(1)
	c.report.look()
	i, field, err := n.b.at(k)
	if err != nil {
		return p // which the map will say
	}
	p = place{field: field, from: c.from[i], lane: c.lanes.of(keys.Hash(field))}
	p.drop = p.lane.Load()
	p.gen, p.ok = p.from.ready(ctx, n.b.h.e)
	p.born = p.from.now()
	return p
}

// keep keeps what was read for a place.
func (n *Near[K, V]) keep(ctx context.Context, k K, v V, p place) {
	c := n.kept.Load()
	if c == nil || !p.ok {
		return
	}
	it := &copied[V]{v: v, from: p.from, gen: p.gen, lane: p.lane, drop: p.drop}
	it.ends = min(p.born+int64(n.cfg.age), p.from.ends.Load())
	if n.b.left != nil {
		now := p.from.now()
		switch left, err := n.b.left(ctx, k); {
		case err != nil || left == 0:
			return
		case left > 0:
			it.ends = min(it.ends, now+int64(left))
		}
	}
	if p.gen == p.from.gen.Load() && p.lane.Load() == p.drop {
		c.store.Set(k, it)
	}
}

// wrote has what was written here counted no more, whatever became of the write.
func (n *Near[K, V]) wrote(ks ...K) {
	c := n.kept.Load()
	if c == nil {
		return
	}
	for _, k := range ks {
		if _, field, err := n.b.at(k); err == nil {
			c.lanes.drop(keys.Hash(field))
		}
	}
}

// wroteAll is wrote of all entries.
func (n *Near[K, V]) wroteAll() {
	if c := n.kept.Load(); c != nil {
		c.dropAll()
	}
}

// Name is the name of the map.
func (n *Near[K, V]) Name() string { return n.m.Name() }

// Get returns the value of k, and whether there is one. A copy that counts is
// returned without a round trip, also if ctx has ended. That there is none is not
// kept.
//
// Cost: nothing, or that of the map's Get, once for all who want to know PTTL, and
// of a Cache or a Native its TTL. Errors: those of the map's Get.
func (n *Near[K, V]) Get(ctx context.Context, k K) (v V, there bool, err error) {
	if err := n.usable(ctx); err != nil {
		return v, false, err
	}
	if v, counts := n.hit(k); counts {
		return v, true, nil
	}
	p := n.place(ctx, k)
	if v, there, err = n.m.Get(ctx, k); there && err == nil {
		n.keep(ctx, k, v, p)
	}
	return v, there, err
}

// GetMany returns the entries of those of the keys that are there: those without a
// copy that counts by one GetMany of the map, whose errors it returns.
func (n *Near[K, V]) GetMany(ctx context.Context, ks ...K) (map[K]V, error) {
	if err := n.usable(ctx); err != nil {
		return nil, err
	}
	found := make(map[K]V, len(ks))
	var missing []K
	var places []place
	for _, k := range ks {
		if v, counts := n.hit(k); counts {
			found[k] = v
		} else {
			missing, places = append(missing, k), append(places, n.place(ctx, k))
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
		}
	}
	return found, err
}

// Has reports whether there is an entry of k: by a copy that counts, or the map's
// Has.
func (n *Near[K, V]) Has(ctx context.Context, k K) (bool, error) {
	if err := n.usable(ctx); err != nil {
		return false, err
	}
	if _, counts := n.hit(k); counts {
		return true, nil
	}
	return n.m.Has(ctx, k)
}

// Len is the map's.
func (n *Near[K, V]) Len(ctx context.Context) (int64, error) {
	if err := n.usable(ctx); err != nil {
		return 0, err
	}
	return n.m.Len(ctx)
}

// Put is the map's. When it returns, no Get of this near cache returns what was
// there before; so it is with every write.
func (n *Near[K, V]) Put(ctx context.Context, k K, v V, opts ...PutOption) error {
	if err := n.usable(ctx); err != nil {
		return err
	}
	defer n.wrote(k)
	return n.m.Put(ctx, k, v, opts...)
}

// PutMany is the map's.
func (n *Near[K, V]) PutMany(ctx context.Context, entries map[K]V, opts ...PutOption) error {
	if err := n.usable(ctx); err != nil {
		return err
	}
	defer func() {
		for k := range entries {
			n.wrote(k)
		}
	}()
	return n.m.PutMany(ctx, entries, opts...)
}

// Swap is the map's.
func (n *Near[K, V]) Swap(ctx context.Context, k K, v V, opts ...PutOption) (old V, had bool, err error) {
	if err := n.usable(ctx); err != nil {
		return old, false, err
	}
	defer n.wrote(k)
	return n.m.Swap(ctx, k, v, opts...)
}

// Remove is the map's.
func (n *Near[K, V]) Remove(ctx context.Context, ks ...K) (int64, error) {
	if err := n.usable(ctx); err != nil {
		return 0, err
	}
	defer n.wrote(ks...)
	return n.m.Remove(ctx, ks...)
}

// Clear is the map's.
func (n *Near[K, V]) Clear(ctx context.Context) error {
	if err := n.usable(ctx); err != nil {
		return err
	}
	defer n.wroteAll()
	return n.m.Clear(ctx)
}

// PutIfAbsent is the map's.
func (n *Near[K, V]) PutIfAbsent(ctx context.Context, k K, v V, opts ...PutOption) (now V, stored bool, err error) {
	if err := n.usable(ctx); err != nil {
		return now, false, err
	}
	defer n.wrote(k)
	return n.m.PutIfAbsent(ctx, k, v, opts...)
}

// Replace is the map's.
func (n *Near[K, V]) Replace(ctx context.Context, k K, v V, opts ...PutOption) (bool, error) {
	if err := n.usable(ctx); err != nil {
		return false, err
	}
	defer n.wrote(k)
	return n.m.Replace(ctx, k, v, opts...)
}

// Take is the map's.
func (n *Near[K, V]) Take(ctx context.Context, k K) (v V, had bool, err error) {
	if err := n.usable(ctx); err != nil {
		return v, false, err
	}
	defer n.wrote(k)
	return n.m.Take(ctx, k)
}

// CompareAndSwap is the map's.
func (n *Near[K, V]) CompareAndSwap(ctx context.Context, k K, old, v V, opts ...PutOption) (bool, error) {
	if err := n.usable(ctx); err != nil {
		return false, err
	}
	defer n.wrote(k)
	return n.m.CompareAndSwap(ctx, k, old, v, opts...)
}

// CompareAndRemove is the map's.
func (n *Near[K, V]) CompareAndRemove(ctx context.Context, k K, old V) (bool, error) {
	if err := n.usable(ctx); err != nil {
		return false, err
	}
	defer n.wrote(k)
	return n.m.CompareAndRemove(ctx, k, old)
}

// Compute is the map's: f gets what is in Redis, not a copy.
func (n *Near[K, V]) Compute(ctx context.Context, k K, f func(old V, had bool) (V, Verdict, error)) (v V, there bool, err error) {
	if err := n.usable(ctx); err != nil {
		return v, false, err
	}
	defer n.wrote(k)
	return n.m.Compute(ctx, k, f)
}

// All is the map's.
func (n *Near[K, V]) All(ctx context.Context, opts ...ScanOption) iter.Seq2[Entry[K, V], error] {
	if err := n.usable(ctx); err != nil {
		return func(yield func(Entry[K, V], error) bool) { yield(Entry[K, V]{}, err) }
	}
	return n.m.All(ctx, opts...)
}

// Keys is the map's.
func (n *Near[K, V]) Keys(ctx context.Context, opts ...ScanOption) iter.Seq2[K, error] {
	if err := n.usable(ctx); err != nil {
		return func(yield func(K, error) bool) {
			var none K
			yield(none, err)
		}
	}
	return n.m.Keys(ctx, opts...)
}

// Lock is the map's.
func (n *Near[K, V]) Lock(k K) *lock.Lock { return n.m.Lock(k) }

func (n *Near[K, V]) add(ctx context.Context, k K, delta V) (v V, err error) {
	if err := n.usable(ctx); err != nil {
		return v, err
	}
	defer n.wrote(k)
	return n.m.add(ctx, k, delta)
}

func (n *Near[K, V]) base() base[K] { return n.b }

// NearStats is what a near cache has done since its first read.
type NearStats struct {
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

// Stats is what it has done so far.
func (n *Near[K, V]) Stats() (s NearStats) {
	c := n.kept.Load()
	if c == nil {
		return s
	}
	s = NearStats{Hits: c.allHits(), Misses: c.misses.Load(), Drops: c.lanes.drops.Load(), Size: c.store.EstimatedSize()}
	s.WholeDrops = c.wholeDrops()
	var why []error
	for _, o := range c.from {
		why = append(why, o.problem())
	}
	s.Err = errors.Join(why...)
	return s
}

var _ mapping[string, int] = (*Near[string, int])(nil)
