package rmap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/lock"
)

// Loading is a map whose Get loads what is not there: see [NewLoading]. Any number
// of goroutines may use it. Flights and what is remembered are of the handle, so
// one handle for a map serves a process best; it needs no end.
type Loading[K comparable, V any] struct {
	m     mapping[K, V]
	h     *handle[K, V]
	load  func(ctx context.Context, k K) (V, bool, error)
	cfg   loadingConfig
	bad   error
	locks bool // loads take the entry's lock
	voids bool // removals end the leases of loads, which the server does of caches

	mu      sync.Mutex
	flights map[K]*flight[V]
	none    absences[K]
	ends    horizon[K]
}

func (l *Loading[K, V]) base() base[K] {
	if l.bad != nil {
		return base[K]{bad: l.bad}
	}
	return l.m.base()
}

// housed is a map that is made of hashes in Redis, or on top of one that is.
type housed[K comparable, V any] interface{ handle() *handle[K, V] }

func (m *Map[K, V]) handle() *handle[K, V]     { return m.m }
func (m *Native[K, V]) handle() *handle[K, V]  { return m.m }
func (m *Cache[K, V]) handle() *handle[K, V]   { return m.m }
func (m *Sharded[K, V]) handle() *handle[K, V] { return m.m }
func (l *Loading[K, V]) handle() *handle[K, V] { return l.h }

// NewLoading returns a map on top of m whose [Loading.Get] and [Loading.GetMany]
// load what is not there: load is called, and what it returns is written to m,
// with the times of m's handle, before anybody has it. It returns the value of k,
// whether there is one, and an error, as Get does.
//
// Of all who miss an entry, in all processes of the fleet, one calls load; the
// others wait, and each process has the value by one round trip after it was
// written. Callers of one process share a flight: the context that load gets has
// the values of the first caller's, and ends when all of them have left, or by
// [WithLoadTimeout]. A loader whose process dies is another's turn when that time
// and half a second have passed. An error of load is the error of the callers of
// its process; of the processes that wait another loads, after a pause that grows
// with each failure. If load panics, that goes on in the caller that began the
// flight, and is an error of the others.
//
// A Put or Remove while an entry is loaded is never overwritten by the load: of a
// [Cache] whoever does it with this library, of the others a Put by anybody and a
// Remove by a Loading of the map: so remove by that there. A Remove has the entry
// loaded again for those who wait. Clear and Delete do not keep a load from
// writing what it has found.
//
// On a Cache the load stands under Redisson's lease of the entry. Elsewhere, and
// on a Cache with [WithEntryLock], it takes the lock of the entry too, which the
// read-through of Redisson takes: there it is one call with Java's loaders, too,
// which no test with the real Redisson has shown yet.
func NewLoading[K comparable, V any](m mapping[K, V], load func(ctx context.Context, k K) (V, bool, error), opts ...LoadingOption) *Loading[K, V] {
	l := &Loading[K, V]{m: m, load: load}
	l.cfg, l.bad = resolveLoading(opts)
	base, is := m.(housed[K, V])
	if is {
		l.h = base.handle()
	}
	switch {
	case l.bad != nil:
	case m == nil || load == nil:
		l.bad = fmt.Errorf("%w: a nil map or loader", ErrOption)
	case !is || l.h == nil:
		l.bad = fmt.Errorf("%w: %T cannot be loaded", ErrOption, m)
	case l.h.bad != nil:
		l.bad = l.h.bad
	default:
		_, cache := l.h.store.(*cached)
		l.locks, l.voids = !cache || l.h.cfg.entryLock, !cache
		l.bad = l.aheadOf(l.cfg.beta)
	}
	return l
}

// Name is the name that the map was made with, before any mapping.
func (l *Loading[K, V]) Name() string {
	if l.m == nil {
		return ""
	}
	return l.m.Name()
}

func (l *Loading[K, V]) failed(op string, err error) error {
	if err == nil || l.h == nil {
		return err
	}
	return l.h.failed(op, err)
}

// Get returns the value of k, and whether there is one, and loads it if it is not
// there. ctx bounds the wait for it, not the load, which goes on for others.
//
// Cost: that of the map's Get. If it is not there: one script call; for the
// process that loads another; where the entry's lock is taken, its two and one
// more. Wire: string redisson__map__lease:{name}:<key> of a Cache, or
// rueidisson_map_lease:{name}:<key>, PX; channel rueidisson_map_loaded:{name}:<hash
// of the key>. Errors: as the map's Get and Put; the loader's; that it took too
// long wraps [context.DeadlineExceeded]. Source: RMap.get with a MapLoader, and
// RMapCache.getWithLease.
func (l *Loading[K, V]) Get(ctx context.Context, k K) (v V, there bool, err error) {
	if l.bad != nil {
		return v, false, l.failed("get of", l.bad)
	}
	if l.cfg.absentFor > 0 && ctx != nil && l.absent(k) {
		return v, false, nil
	}
	if v, there, err = l.m.Get(ctx, k); there || err != nil {
		if l.cfg.beta > 0 && err == nil {
			l.hit(ctx, k)
		}
		return v, there, err
	}
	v, there, err = l.miss(ctx, k)
	goOn(err)
	return v, there, err
}

// miss boards a flight, and another one as long as it was late. An error that is
// to go on in the caller, see goOn, is as it is.
func (l *Loading[K, V]) miss(ctx context.Context, k K) (v V, there bool, err error) {
	key, err := l.h.encodeKey(ctx, k)
	if err != nil {
		return v, false, l.h.failedAt("load", key, err)
	}
	if l.locks && l.h.carries(ctx, key) {
		return l.alone(ctx, k, key)
	}
	for {
		t, err := l.board(ctx, k, key)
		if err == nil {
			err = l.ride(ctx, k, t)
		}
		if err != nil {
			return v, false, l.h.failedAt("load", key, err)
		}
		if !t.late() {
			return t.v, t.there, l.told(t.err, key, t.first)
		}
		if v, there, err = l.m.Get(ctx, k); there || err != nil {
			return v, there, err
		}
	}
}

// alone loads for a caller that has the lock of the entry: whoever loads else
// waits for that.
func (l *Loading[K, V]) alone(ctx context.Context, k K, key string) (V, bool, error) {
	r := l.newRun(k, key)
	r.how, r.locks = mine, false
	v, there, err := r.get(ctx)
	return v, there, l.told(err, key, true)
}

// told is what a caller is told of a load. The panic of the loader is that of the
// caller that began it, and so is the end of its goroutine.
func (l *Loading[K, V]) told(err error, key string, first bool) error {
	if _, panicked := err.(*errPanic); first && (panicked || err == errExited) {
		return err
	}
	return l.h.failedAt("load", key, err)
}

// carries reports whether ctx carries a hold of the entry's lock.
func (m *handle[K, V]) carries(ctx context.Context, key string) bool {
	_, hold := lock.Carried(ctx, m.h.e, m.h.e.Map(m.lockName(key)), "")
	return hold != nil
}

// mostLoads is how many entries one GetMany loads at a time.
const mostLoads = 16

// GetMany returns the entries of those of the keys that are there, and loads those
// that are not, 16 at a time, each by a call of its own. What cannot be loaded is
// left out, and is the error beside the others; so is what does not decode, and
// then nothing is loaded.
//
// Cost: that of the map's GetMany, and what [Loading.Get] costs for each that is
// not there. Errors: as [Loading.Get]. Source: RMap.getAll with a MapLoader.
func (l *Loading[K, V]) GetMany(ctx context.Context, ks ...K) (map[K]V, error) {
	if l.bad != nil {
		return nil, l.failed("get many of", l.bad)
	}
	found, err := l.m.GetMany(ctx, ks...)
	if err != nil {
		return found, err
	}
	return found, l.getMissing(ctx, found, l.missing(found, ks))
}

// missing is the keys that are to be loaded, each once.
func (l *Loading[K, V]) missing(found map[K]V, ks []K) (missing []K) {
	seen := make(map[K]bool)
	for _, k := range ks {
		_, there := found[k]
		if there || seen[k] || l.cfg.absentFor > 0 && l.absent(k) {
			continue
		}
		seen[k] = true
		missing = append(missing, k)
	}
	return missing
}

// getMissing adds what it loads to found. A panic of the loader goes on here.
func (l *Loading[K, V]) getMissing(ctx context.Context, found map[K]V, ks []K) error {
	var mu sync.Mutex
	var failures []error
	var all sync.WaitGroup
	next := make(chan K)
	for range min(mostLoads, len(ks)) {
		all.Go(func() { // ends with the keys
			for k := range next {
				v, there, err := l.miss(ctx, k)
				mu.Lock()
				if err != nil {
					failures = append(failures, err)
				} else if there {
					found[k] = v
				}
				mu.Unlock()
			}
		})
	}
	for _, k := range ks {
		next <- k
	}
	close(next)
	all.Wait()
	for _, err := range failures {
		goOn(err)
	}
	return errors.Join(failures...)
}

// Has reports whether there is an entry of k in Redis. It loads nothing.
func (l *Loading[K, V]) Has(ctx context.Context, k K) (bool, error) {
	if l.bad != nil {
		return false, l.failed("look for", l.bad)
	}
	return l.m.Has(ctx, k)
}

// Len is how many entries there are in Redis.
func (l *Loading[K, V]) Len(ctx context.Context) (int64, error) {
	if l.bad != nil {
		return 0, l.failed("count", l.bad)
	}
	return l.m.Len(ctx)
}

// Put writes an entry, whatever was there, as the map's Put does. A load that is
// under way does not overwrite it.
func (l *Loading[K, V]) Put(ctx context.Context, k K, v V, opts ...PutOption) error {
	if err := l.changes(ctx, "put into", k); err != nil {
		return err
	}
	defer l.written(k)
	return l.m.Put(ctx, k, v, opts...)
}

// PutMany writes entries, as the map's PutMany does.
func (l *Loading[K, V]) PutMany(ctx context.Context, entries map[K]V, opts ...PutOption) error {
	ks := make([]K, 0, len(entries))
	for k := range entries {
		ks = append(ks, k)
	}
	if err := l.changes(ctx, "put many into", ks...); err != nil {
		return err
	}
	defer l.written(ks...)
	return l.m.PutMany(ctx, entries, opts...)
}

// Swap writes an entry and returns what was there before in Redis, as the map's
// Swap does. It loads nothing.
func (l *Loading[K, V]) Swap(ctx context.Context, k K, v V, opts ...PutOption) (old V, had bool, err error) {
	if err = l.changes(ctx, "swap in", k); err != nil {
		return old, false, err
	}
	defer l.written(k)
	return l.m.Swap(ctx, k, v, opts...)
}

// Remove removes entries, as the map's Remove does, so that the next Get loads
// them. What is loaded meanwhile is not written: who waits for it has it loaded
// again.
//
// Cost: that of the map's Remove; but of a Cache, one command before it. Errors:
// as the map's.
func (l *Loading[K, V]) Remove(ctx context.Context, ks ...K) (int64, error) {
	if err := l.removes(ctx, "remove from", ks...); err != nil {
		return 0, err
	}
	defer l.written(ks...)
	return l.m.Remove(ctx, ks...)
}

// Clear removes all entries from Redis, as the map's Clear does. What is loaded
// meanwhile may be written behind it.
func (l *Loading[K, V]) Clear(ctx context.Context) error {
	if l.bad != nil {
		return l.failed("clear", l.bad)
	}
	defer l.forgetAll()
	return l.m.Clear(ctx)
}

// PutIfAbsent writes an entry if there is none in Redis, as the map's PutIfAbsent
// does. It loads nothing.
func (l *Loading[K, V]) PutIfAbsent(ctx context.Context, k K, v V, opts ...PutOption) (now V, stored bool, err error) {
	if err = l.changes(ctx, "put if absent into", k); err != nil {
		return now, false, err
	}
	defer l.written(k)
	return l.m.PutIfAbsent(ctx, k, v, opts...)
}

// Replace writes an entry if there is one in Redis, as the map's Replace does. It
// loads nothing.
func (l *Loading[K, V]) Replace(ctx context.Context, k K, v V, opts ...PutOption) (bool, error) {
	if err := l.changes(ctx, "replace in", k); err != nil {
		return false, err
	}
	defer l.written(k)
	return l.m.Replace(ctx, k, v, opts...)
}

// Take removes an entry and returns what was there in Redis, as the map's Take
// does. It loads nothing; see [Loading.Remove].
func (l *Loading[K, V]) Take(ctx context.Context, k K) (v V, had bool, err error) {
	if err = l.removes(ctx, "take from", k); err != nil {
		return v, false, err
	}
	defer l.written(k)
	return l.m.Take(ctx, k)
}

// CompareAndSwap writes an entry if what is there in Redis is old, as the map's
// CompareAndSwap does. It loads nothing.
func (l *Loading[K, V]) CompareAndSwap(ctx context.Context, k K, old, v V, opts ...PutOption) (bool, error) {
	if err := l.changes(ctx, "compare and swap in", k); err != nil {
		return false, err
	}
	defer l.written(k)
	return l.m.CompareAndSwap(ctx, k, old, v, opts...)
}

// CompareAndRemove removes an entry if what is there in Redis is old, as the map's
// CompareAndRemove does. It loads nothing; see [Loading.Remove].
func (l *Loading[K, V]) CompareAndRemove(ctx context.Context, k K, old V) (bool, error) {
	if err := l.removes(ctx, "compare and remove from", k); err != nil {
		return false, err
	}
	defer l.written(k)
	return l.m.CompareAndRemove(ctx, k, old)
}

// Compute changes an entry by a function of what is there in Redis, as the map's
// Compute does. It loads nothing: an entry that is not there is none for f. Where
// f says Delete, that costs one more command than the map's; see [Loading.Remove].
func (l *Loading[K, V]) Compute(ctx context.Context, k K, f func(old V, had bool) (V, Verdict, error)) (v V, there bool, err error) {
	if err = l.changes(ctx, "compute in", k); err != nil {
		return v, false, err
	}
	defer l.written(k)
	if f == nil || !l.voids {
		return l.m.Compute(ctx, k, f)
	}
	return l.m.Compute(ctx, k, func(old V, had bool) (V, Verdict, error) {
		v, verdict, err := f(old, had)
		if err == nil && verdict == Delete {
			err = l.void(ctx, k)
		}
		return v, verdict, err
	})
}

// All walks the entries that are there in Redis, as the map's All does.
func (l *Loading[K, V]) All(ctx context.Context, opts ...ScanOption) iter.Seq2[Entry[K, V], error] {
	if l.bad != nil {
		return func(yield func(Entry[K, V], error) bool) { yield(Entry[K, V]{}, l.failed("walk", l.bad)) }
	}
	return l.m.All(ctx, opts...)
}

// Keys walks the keys that are there in Redis, as the map's Keys does.
func (l *Loading[K, V]) Keys(ctx context.Context, opts ...ScanOption) iter.Seq2[K, error] {
	if l.bad != nil {
		return func(yield func(K, error) bool) { var none K; yield(none, l.failed("walk", l.bad)) }
	}
	return l.m.Keys(ctx, opts...)
}

// Lock is the lock of the entry of k, as the map's Lock is. A Get under the context
// of a hold of it loads under that.
func (l *Loading[K, V]) Lock(k K) *lock.Lock {
	if l.m == nil {
		panic("rmap: Lock of a Loading of a nil map")
	}
	return l.m.Lock(k)
}

func (l *Loading[K, V]) add(ctx context.Context, k K, delta V) (sum V, err error) {
	if err = l.changes(ctx, "add to", k); err != nil {
		return sum, err
	}
	defer l.written(k)
	return l.m.add(ctx, k, delta)
}

// changes comes before a write of entries. Where loads go on beside an entry that
// is there, it voids them: a write of the same value would not be seen.
func (l *Loading[K, V]) changes(ctx context.Context, op string, ks ...K) error {
	if l.bad != nil {
		return l.failed(op, l.bad)
	}
	if l.cfg.beta == 0 || !l.voids || ctx == nil {
		return nil
	}
	return l.failed(op, l.void(ctx, ks...))
}

// removes comes before a removal of entries: what is loaded meanwhile must not be
// written. What begins to be loaded behind that is not older than the call.
func (l *Loading[K, V]) removes(ctx context.Context, op string, ks ...K) error {
	if l.bad != nil {
		return l.failed(op, l.bad)
	}
	if !l.voids || ctx == nil || len(ks) == 0 {
		return nil
	}
	return l.failed(op, l.void(ctx, ks...))
}

func (l *Loading[K, V]) void(ctx context.Context, ks ...K) error {
	texts, err := l.h.keyTexts(ctx, ks)
	if err != nil {
		return err
	}
	at := make(map[string][]string) // by the hash
	for _, text := range texts {
		home := l.h.home(text)
		at[home] = append(at[home], text)
	}
	for _, texts := range at {
		for some := range slices.Chunk(texts, mostInOne) {
			_, err = reading(ctx, l.h.h, func() (struct{}, error) { return struct{}{}, l.h.leasesOf(some[0]).void(ctx, some) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

var _ mapping[string, int] = (*Loading[string, int])(nil)

// written is told of entries that may have been written by this handle.
func (l *Loading[K, V]) written(ks ...K) {
	if l.cfg.absentFor > 0 {
		l.mu.Lock()
		l.none.forget(ks)
		l.mu.Unlock()
	}
}

func (l *Loading[K, V]) forgetAll() {
	l.mu.Lock()
	l.none.clear()
	l.mu.Unlock()
}

func (l *Loading[K, V]) absent(k K) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.none.has(k, l.now())
}

func (l *Loading[K, V]) now() time.Duration { return l.h.h.e.Mono() }
