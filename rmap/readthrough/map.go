package readthrough

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/turn"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// Map is a map whose Get loads what is not there: see [New]. Any number
// of goroutines may use it. Flights and what is remembered are of the handle, so
// one handle for a map serves a process best; it needs no end.
type Map[K comparable, V any] struct {
	m     rmap.Mapping[K, V]
	in    mapstore.Inside[K, V, rmap.PutOption]
	h     *mapstore.Handle[K, V]
	load  func(ctx context.Context, k K) (V, bool, error)
	many  func(ctx context.Context, ks []K) (map[K]V, error) // nil: one by one
	ttl   func(k K, v V) time.Duration                       // nil: that of the handle
	cfg   config
	bad   error
	locks bool // loads take the entry's lock
	voids bool // removals end the leases of loads, which the server does of caches

	mu      sync.Mutex
	flights map[K]*flight[V]
	none    absences[K]
	ends    horizon[K]
	fails   map[K]failure
}

// Inside returns what packages nearcache and writethrough build on. It is for this module, see
// [rmap.Mapping].
func (l *Map[K, V]) Inside() mapstore.Inside[K, V, rmap.PutOption] {
	in := l.in
	in.Whole, in.Add = false, l.add
	if l.bad != nil {
		in.Base = mapstore.Base[K]{Bad: l.bad}
		return in
	}
	in.Base, in.Written = l.afresh(in.Base), l.written
	if l.cfg.beta > 0 {
		in.Heard = l.heard
	}
	return in
}

// New returns a map on top of m whose [Map.Get] and [Map.GetMany]
// load entries that do not exist. They call load, and write its result to m, with the times of
// m's handle, before any caller has it. load returns the value of k, whether there is one, and
// an error, as Get does.
//
// Of all callers that miss an entry, in all processes of the fleet, one calls load. The others
// wait, and each process has the value one round trip after it was written. Callers of one
// process share a flight. The context of load has the values of the first caller's context. It
// ends when all callers have left, or by [WithLoadTimeout]. If the process of a loader dies,
// another loads when that time and half a second have passed. An error of load is returned to
// the callers of its process. Of the processes that wait, another then loads, after a pause that
// grows with each failure. A panic of load continues in the caller that began the flight, and is
// an error of the others.
//
// A load never overwrites a Put or Remove that is made while it runs. For an [rmap.Cache] this holds
// for every writer that uses this library. For the other maps it holds for a Put by any client,
// and for a Remove by a Map of this package: remove through it. A Put whose time to
// live ends during the load counts, too, if it is one of this library. After a Remove the entry
// is loaded again for the callers that wait. Clear and Delete do not keep a load from writing
// its result.
//
// On an [rmap.Cache] the load holds Redisson's lease of the entry. Elsewhere, and
// on one with [rmap.WithEntryLock], it also acquires the lock of the entry, which the
// read-through of Redisson acquires: there one load serves Java's loaders, too.
func New[K comparable, V any](m rmap.Mapping[K, V], load func(ctx context.Context, k K) (V, bool, error), opts ...Option) *Map[K, V] {
	l := &Map[K, V]{m: m, load: load}
	l.cfg, l.bad = resolve(opts)
	if l.bad == nil {
		l.bad = errors.Join(l.chooseMany(), l.chooseTTL())
	}
	if m != nil {
		l.in = m.Inside()
		l.h = l.in.Handle
	}
	switch {
	case l.bad != nil:
	case m == nil || l.load == nil:
		l.bad = fmt.Errorf("%w: a nil map or loader", ErrInvalidArgument)
	case l.h == nil:
		l.bad = fmt.Errorf("%w: %T cannot be loaded", ErrInvalidArgument, m)
	case l.h.Bad != nil:
		l.bad = l.h.Bad
	default:
		l.locks, l.voids = !l.h.IsCache() || l.h.Config.EntryLock, !l.h.IsCache()
		l.bad = l.mayEnd()
	}
	return l
}

// Name returns the name that the map was made with, before any mapping.
func (l *Map[K, V]) Name() string {
	if l.m == nil {
		return ""
	}
	return l.m.Name()
}

func (l *Map[K, V]) failed(op string, err error) error {
	if err == nil || l.h == nil {
		return err
	}
	return l.h.Failed(op, err)
}

// Get returns the value of k, and whether there is one, and loads it if it is not
// there. ctx bounds the wait for it, not the load, which continues for other callers.
//
// Cost: that of the map's Get. If it is not there: one script call; for the process that loads
// another; where the entry's lock is taken, its two and one more. Errors: as the map's Get and Put;
// the loader's; that it took too long wraps [context.DeadlineExceeded]. If the server refuses for a
// passing reason, such as a lack of memory, Get tries again for a watchdog timeout. A server that
// takes no writes at all also refuses to keep the lease: if it recovers after the lease has
// expired, the entry is loaded again. Source: RMap.get with a MapLoader, and
// RMapCache.getWithLease.
func (l *Map[K, V]) Get(ctx context.Context, k K) (v V, there bool, err error) {
	if l.bad != nil {
		return v, false, l.failed("get of", l.bad)
	}
	if l.cfg.absentFor > 0 && ctx != nil && l.absent(k) {
		return v, false, nil
	}
	if v, there, err = l.m.Get(ctx, k); there || err != nil {
		if err == nil {
			v, there = l.found(ctx, k, v)
		}
		return v, there, err
	}
	v, there, err = l.miss(ctx, k, nil)
	turn.GoOn(err)
	return v, there, err
}

// miss boards a flight, in a bulk if there is one, and another one as long as it was late. An error that is
// to go on in the caller, see turn.GoOn, is as it is.
func (l *Map[K, V]) miss(ctx context.Context, k K, b *bulk[K, V]) (v V, there bool, err error) {
	key, err := l.h.EncodeKey(ctx, k)
	if err != nil {
		b.leave()
		return v, false, l.h.FailedAt("load", key, err)
	}
	if l.cfg.backsOff {
		l.mu.Lock()
		err = l.out(k)
		l.mu.Unlock()
	}
	if err != nil {
		b.leave()
		return v, false, l.h.FailedAt("load", key, err)
	}
	if l.locks && l.h.Carries(ctx, key) {
		b.leave()
		// Others that load wait for the lock of the entry, which the caller has: nobody else boards its flight.
		return l.lonely(ctx, k, key, func(f *flight[V]) {
			r := l.newRun(k, key)
			r.how, r.locks = mapstore.Mine, false
			f.v, f.there, f.err = r.get(f.ctx)
		})
	}
	for {
		t, err := l.board(ctx, k, key, b, false)
		b = nil // it is counted once
		if err == nil {
			err = l.ride(ctx, k, t)
		}
		if err != nil {
			return v, false, l.h.FailedAt("load", key, err)
		}
		if errors.Is(t.err, errElsewhere) { // who began it had something to fall back on
			continue
		}
		if !t.late() {
			return t.v, t.there, l.told(t.err, key, t.first)
		}
		if v, there, err = l.m.Get(ctx, k); there || err != nil {
			return v, there, err
		}
	}
}

// lonely returns a flight that nobody else boards.
func (l *Map[K, V]) lonely(ctx context.Context, k K, key string, fly func(f *flight[V])) (v V, there bool, err error) {
	f := newFlight[V](ctx)
	took := l.h.Hub.Engine.Spawn(func() { // ends with the loader
		defer l.land(f, k)
		fly(f)
	})
	if !took {
		f.cancel()
		return v, false, l.h.FailedAt("load", key, ErrClosed)
	}
	if err = l.ride(ctx, k, ticket[V]{flight: f}); err != nil {
		return v, false, l.h.FailedAt("load", key, err)
	}
	return f.v, f.there, l.told(f.err, key, true)
}

// told returns what a caller is told of a load. The panic of the loader is that of the
// caller that began it, and so is the end of its goroutine.
func (l *Map[K, V]) told(err error, key string, first bool) error {
	if _, panicked := err.(*turn.PanicError); first && (panicked || err == turn.ErrExited) {
		return err
	}
	return l.h.FailedAt("load", key, err)
}
