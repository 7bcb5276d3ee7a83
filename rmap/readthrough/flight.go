package readthrough

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// flight is a load, or the wait for another process's, that callers of this
// process share. Its context ends when all of them have left.
type flight[V any] struct {
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	// Under the mutex of the Map.
	callers int
	sent    int // exchanges with the server that were begun

	// Once it is done.
	v     V
	there bool
	err   error
}

// ticket is one caller's part of a flight.
type ticket[V any] struct {
	*flight[V]
	since int // exchanges were begun when it came
	first bool
}

// board joins the flight of k, or begins one. Stale is of a caller that has found an entry.
//
// A singleflight.Group does not do: a flight ends when all callers have left, a caller that came late takes the next
// one, and a panic is that of the caller which began it.
func (l *Map[K, V]) board(ctx context.Context, k K, key string, b *bulk[K, V], stale bool) (ticket[V], error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.flights[k]
	if f != nil {
		b.leave()
		f.callers++
		return ticket[V]{flight: f, since: f.sent}, nil
	}
	// It has the values of the caller's context, but no holds: others come who have none.
	f = newFlight[V](lock.Detach(context.WithoutCancel(ctx)))
	if !l.h.Hub.Engine.Spawn(func() { l.fly(f, k, key, b, stale) }) {
		b.leave()
		f.cancel()
		return ticket[V]{}, ErrClosed
	}
	if l.flights == nil {
		l.flights = make(map[K]*flight[V])
	}
	l.flights[k] = f
	return ticket[V]{flight: f, first: true}, nil
}

// newFlight returns a flight of one caller.
func newFlight[V any](ctx context.Context) *flight[V] {
	f := &flight[V]{done: make(chan struct{}), callers: 1}
	f.ctx, f.cancel = context.WithCancel(ctx)
	return f
}

// fly ends with the flight, also where the loader ends its goroutine.
func (l *Map[K, V]) fly(f *flight[V], k K, key string, b *bulk[K, V], stale bool) {
	defer l.land(f, k)
	r, writes := l.newRun(k, key), uint64(0)
	r.bulk = b
	defer r.leaves()
	r.sends = func() {
		l.mu.Lock()
		f.sent++
		writes = l.none.writes
		l.mu.Unlock()
	}
	if stale {
		// It does not go on where others fail, and loads nothing that others have loaded meanwhile.
		r.how, r.locks, r.mild = mapstore.Ahead, false, true
		r.still = func() bool { return l.endsSoon(f.ctx, k) }
		f.v, f.there, f.err = r.renew(f.ctx)
	} else {
		f.v, f.there, f.err = r.get(f.ctx)
	}
	if d := l.cfg.absentFor; d > 0 && f.err == nil && !f.there {
		now := l.now()
		l.mu.Lock()
		l.none.add(k, now, now+d, writes)
		l.mu.Unlock()
	}
}

func (l *Map[K, V]) land(f *flight[V], k K) {
	l.mu.Lock()
	l.drop(f, k)
	l.mu.Unlock()
	f.cancel()
	close(f.done)
}

// drop lets nobody else come.
func (l *Map[K, V]) drop(f *flight[V], k K) {
	if l.flights[k] == f {
		delete(l.flights, k)
	}
}

// ride waits for the flight to land. If ctx ends it leaves, and the last who does
// ends the flight.
func (l *Map[K, V]) ride(ctx context.Context, k K, t ticket[V]) error {
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		l.leave(t.flight, k)
		return core.ContextError(ctx)
	case <-l.h.Hub.Engine.Closing():
		l.leave(t.flight, k)
		return ErrClosed
	}
}

func (l *Map[K, V]) leave(f *flight[V], k K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.callers--; f.callers == 0 {
		l.drop(f, k)
		f.cancel()
	}
}

// late reports whether the caller came when what told the outcome was on its way
// already: what it was told of may be older than its call.
func (t ticket[V]) late() bool { return t.err == nil && t.since >= t.sent }

// mostAbsent bounds the keys that a handle remembers as absent.
const mostAbsent = 10_000

// absences are keys that the loader found nothing for, and until when that counts.
type absences[K comparable] struct {
	until  map[K]time.Duration
	writes uint64 // so often something was written: what was found before may be over
}

// has reports whether k counts as absent.
func (a *absences[K]) has(k K, now time.Duration) bool {
	until, there := a.until[k]
	if there && now >= until {
		delete(a.until, k)
		return false
	}
	return there
}

// add remembers k, unless something was written since writes was read.
func (a *absences[K]) add(k K, now, until time.Duration, writes uint64) {
	if writes != a.writes {
		return
	}
	if a.until == nil {
		a.until = make(map[K]time.Duration)
	}
	if len(a.until) >= mostAbsent {
		a.shrink(now)
	}
	a.until[k] = until
}

// shrink drops what is over, and some of the others, whichever come first.
func (a *absences[K]) shrink(now time.Duration) {
	n := 0
	for k, until := range a.until {
		if now >= until || n < mostAbsent/10 {
			delete(a.until, k)
			n++
		}
	}
}

func (a *absences[K]) forget(ks []K) {
	a.writes++
	for _, k := range ks {
		delete(a.until, k)
	}
}

// written notes entries that may have been written by this handle.
func (l *Map[K, V]) written(ks ...K) {
	if l.cfg.absentFor > 0 {
		l.mu.Lock()
		l.none.forget(ks)
		l.mu.Unlock()
	}
}

func (l *Map[K, V]) absent(k K) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.none.has(k, l.now())
}

func (l *Map[K, V]) now() time.Duration { return l.h.Hub.Engine.Mono() }
