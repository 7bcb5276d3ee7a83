package readthrough

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/turn"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// GetMany returns the entries of the keys that have one, and loads those that do not exist. It
// loads 16 at a time, each by a call of its own; with [WithLoadMany] it loads as many as that
// says by one call. Entries that cannot be loaded are left out; GetMany then returns the others
// together with an error. So it does for values that do not decode, and then it loads nothing.
//
// Cost: that of the map's GetMany, and what [Map.Get] costs for each that is
// not there. Errors: as [Map.Get]. Source: RMap.getAll with a MapLoader.
func (l *Map[K, V]) GetMany(ctx context.Context, ks ...K) (map[K]V, error) {
	if l.bad != nil {
		return nil, l.failed("get many of", l.bad)
	}
	found, err := l.m.GetMany(ctx, ks...)
	if err != nil {
		return found, err
	}
	missing := l.missing(found, ks)
	if l.cfg.stale > 0 {
		l.freshenMany(ctx, found)
	}
	err = l.each(ctx, missing, func(k K, b *bulk[K, V]) (V, bool, error) { return l.miss(ctx, k, b) }, func(k K, v V) { found[k] = v })
	return found, err
}

// missing returns the keys that are to be loaded, each once.
func (l *Map[K, V]) missing(found map[K]V, ks []K) (missing []K) {
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

// each calls for keys, as many at a time as are loaded by one call, and has what is there.
func (l *Map[K, V]) each(ctx context.Context, ks []K, call func(k K, b *bulk[K, V]) (V, bool, error), has func(k K, v V)) error {
	var mu sync.Mutex
	var failures []error
	one := func(k K, b *bulk[K, V]) {
		v, there, err := call(k, b)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failures = append(failures, err)
		} else if there {
			has(k, v)
		}
	}
	if l.many == nil {
		mapstore.FewAtATime(len(ks), func(i int) { one(ks[i], nil) })
	} else {
		for some := range slices.Chunk(ks, l.cfg.many) {
			b := &bulk[K, V]{l: l, ctx: ctx, counted: len(some)}
			var all sync.WaitGroup
			for _, k := range some {
				all.Go(func() { one(k, b) }) // ends with the call
			}
			all.Wait()
		}
	}
	for _, err := range failures {
		turn.GoOn(err)
	}
	return errors.Join(failures...)
}

// chooseMany takes the loader of many, of the types of the map.
func (l *Map[K, V]) chooseMany() error {
	if l.cfg.manyOf == nil {
		return nil
	}
	many, is := l.cfg.manyOf.(func(context.Context, []K) (map[K]V, error))
	if !is {
		return fmt.Errorf("%w: the loader of many is a %T, and is to be a %T", ErrInvalidArgument, l.cfg.manyOf, many)
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

// bulk is entries that are loaded by one call. Each entry that is counted in it either joins or
// leaves. It leaves because it exists, or because another process loads it. The call is made
// when all have joined or left.
type bulk[K comparable, V any] struct {
	l   *Map[K, V]
	ctx context.Context // of the caller

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
	got, err := make([]outcome[V], len(seats)), turn.ErrExited
	defer func() {
		if p := recover(); p != nil {
			err = turn.Panicked(p)
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
