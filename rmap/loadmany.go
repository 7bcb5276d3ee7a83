package rmap

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// mostLoads is how many entries one GetMany loads at a time.
const mostLoads = 16

// GetMany returns the entries of those of the keys that are there, and loads those
// that are not, 16 at a time, each by a call of its own; with [WithLoadMany] as many at
// a time, and by one call, as that says. What cannot be loaded is
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
	missing := l.missing(found, ks)
	if l.cfg.stale > 0 {
		l.freshenMany(ctx, found)
	}
	return found, l.getMissing(ctx, found, missing)
}

// missing returns the keys that are to be loaded, each once.
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
	return l.each(ctx, ks, func(k K, b *bulk[K, V]) (V, bool, error) { return l.miss(ctx, k, b) }, func(k K, v V) { found[k] = v })
}

// each calls for keys, as many at a time as are loaded by one call, and has what is there.
func (l *Loading[K, V]) each(ctx context.Context, ks []K, call func(k K, b *bulk[K, V]) (V, bool, error), has func(k K, v V)) error {
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
		fewAtATime(ks, func(k K) { one(k, nil) })
	} else {
		for some := range slices.Chunk(ks, l.cfg.many) {
			b := l.newBulk(ctx, len(some))
			var all sync.WaitGroup
			for _, k := range some {
				all.Go(func() { one(k, b) }) // ends with the call
			}
			all.Wait()
		}
	}
	for _, err := range failures {
		goOn(err)
	}
	return errors.Join(failures...)
}

func fewAtATime[K any](ks []K, call func(k K)) {
	var all sync.WaitGroup
	next := make(chan K)
	for range min(mostLoads, len(ks)) {
		all.Go(func() { // ends with the keys
			for k := range next {
				call(k)
			}
		})
	}
	for _, k := range ks {
		next <- k
	}
	close(next)
	all.Wait()
}
