package rmap

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/lock"
)

// chooseMany takes the loader of many, of the types of the map.
func (l *Loading[K, V]) chooseMany() error {
	if l.cfg.manyOf == nil {
		return nil
	}
	many, is := l.cfg.manyOf.(func(context.Context, []K) (map[K]V, error))
	if !is {
		return fmt.Errorf("%w: the loader of many is a %T, and is to be a %T", ErrOption, l.cfg.manyOf, many)
	}
	if l.many = many; l.load == nil {
		l.load = func(ctx context.Context, k K) (v V, there bool, err error) {
			all, err := many(ctx, []K{k})
			v, there = all[k]
			return v, there, err
		}
	}
	return nil
}

// mostCollected bounds how long those of a bulk wait for the others of it, which may be held
// up: their leases end.
const mostCollected = 200 * time.Millisecond

// bulk is entries that are loaded by one call. Whoever is counted in it either joins, or
// leaves: since there is an entry, or somebody else is to be waited for. The call is made
// when all have done so.
type bulk[K comparable, V any] struct {
	l   *Loading[K, V]
	ctx context.Context // of whoever asks

	mu      sync.Mutex
	counted int
	seats   []seat[K, V]
	timer   *time.Timer
}

// seat is one that has joined.
type seat[K comparable, V any] struct {
	ctx      context.Context // of its flight
	k        K
	returned chan<- outcome[V]
}

func (l *Loading[K, V]) newBulk(ctx context.Context, n int) *bulk[K, V] {
	return &bulk[K, V]{l: l, ctx: ctx, counted: n}
}

// leave is of one that is counted. A bulk that is nil has nobody.
func (b *bulk[K, V]) leave() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counted--
	b.perhaps()
}

// join is of one that is counted, whose lease the caller has.
func (b *bulk[K, V]) join(ctx context.Context, k K, returned chan<- outcome[V]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counted--
	b.seats = append(b.seats, seat[K, V]{ctx, k, returned})
	if b.timer == nil {
		b.timer = time.AfterFunc(min(mostCollected, b.l.cfg.timeout/4), func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.timer = nil
			b.start()
		})
	}
	b.perhaps()
}

// perhaps starts the call if nobody else comes.
func (b *bulk[K, V]) perhaps() {
	if b.counted == 0 {
		if b.timer != nil {
			b.timer.Stop()
			b.timer = nil
		}
		b.start()
	}
}

// start has those loaded who have joined.
func (b *bulk[K, V]) start() {
	if seats := b.seats; len(seats) > 0 {
		b.seats = nil
		go b.call(seats) // ends with the loader
	}
}

// call calls the loader, for as long as one of the flights goes on.
func (b *bulk[K, V]) call(seats []seat[K, V]) {
	ctx, cancel := context.WithCancel(lock.Detach(context.WithoutCancel(b.ctx)))
	defer cancel()
	bounded, stop := context.WithTimeout(ctx, b.l.cfg.timeout)
	defer stop()
	go func() { // ends with the call
		for _, s := range seats {
			select {
			case <-s.ctx.Done():
			case <-bounded.Done():
			}
		}
		cancel()
	}()
	ks := make([]K, len(seats))
	for i, s := range seats {
		ks[i] = s.k
	}
	got, err := make([]outcome[V], len(seats)), errExited
	defer func() {
		if p := recover(); p != nil {
			err = &errPanic{p, debug.Stack()}
		}
		for i, s := range seats {
			if err != nil {
				got[i] = outcome[V]{err: err}
			}
			s.returned <- got[i]
		}
	}()
	all, failed := b.l.many(bounded, ks)
	for i, s := range seats {
		v, there := all[s.k]
		got[i] = b.l.outcomeOf(s.k, v, there, failed)
	}
	err = nil
}

// leaves has a run not counted any more, if it is.
func (r *run[K, V]) leaves() {
	b := r.bulk
	r.bulk = nil
	b.leave()
}
