package rmap

import (
	"context"
	"runtime"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/lock"
)

// flight is a load, or the wait for another process's, that callers of this
// process share. Its context ends when all of them have left.
type flight[V any] struct {
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	// Under the mutex of the Loading.
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

// board joins the flight of k, or begins one.
// Stale is of who has found an entry.
func (l *Loading[K, V]) board(ctx context.Context, k K, key string, b *bulk[K, V], stale bool) (ticket[V], error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.flights[k]
	if f != nil {
		b.leave()
		f.callers++
		return ticket[V]{flight: f, since: f.sent}, nil
	}
	f = l.flight(ctx)
	if !l.h.h.e.Spawn(func() { l.fly(f, k, key, b, stale) }) {
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

// flight returns one of the caller with ctx, whose values it has, but no holds: others
// come who have none.
func (l *Loading[K, V]) flight(ctx context.Context) *flight[V] {
	f := &flight[V]{done: make(chan struct{}), callers: 1}
	f.ctx, f.cancel = context.WithCancel(lock.Detach(context.WithoutCancel(ctx)))
	return f
}

// fly ends with the flight, also where the loader ends its goroutine.
func (l *Loading[K, V]) fly(f *flight[V], k K, key string, b *bulk[K, V], stale bool) {
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
		f.v, f.there, f.err = r.freshen(f.ctx)
	} else {
		f.v, f.there, f.err = r.get(f.ctx)
	}
	if f.err == nil && !f.there {
		l.remember(k, writes)
	}
}

// remember notes that there is nothing for k, by what was found before so many
// writes of this handle.
func (l *Loading[K, V]) remember(k K, writes uint64) {
	if d := l.cfg.absentFor; d > 0 {
		now := l.now()
		l.mu.Lock()
		l.none.add(k, now, now+d, writes)
		l.mu.Unlock()
	}
}

func (l *Loading[K, V]) land(f *flight[V], k K) {
	l.mu.Lock()
	l.drop(f, k)
	l.mu.Unlock()
	f.cancel()
	close(f.done)
}

// drop lets nobody else come.
func (l *Loading[K, V]) drop(f *flight[V], k K) {
	if l.flights[k] == f {
		delete(l.flights, k)
	}
}

// ride waits for the flight to land. If ctx ends it leaves, and the last who does
// ends the flight.
func (l *Loading[K, V]) ride(ctx context.Context, k K, t ticket[V]) error {
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		l.leave(t.flight, k)
		return core.ContextError(ctx)
	case <-l.h.h.e.Closing():
		l.leave(t.flight, k)
		return ErrClosed
	}
}

func (l *Loading[K, V]) leave(f *flight[V], k K) {
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

// goOn panics, or ends the goroutine, where a function did that of which err tells.
func goOn(err error) {
	if panicked, did := err.(*errPanic); did {
		panic(panicked)
	}
	if err == errExited {
		runtime.Goexit()
	}
}
