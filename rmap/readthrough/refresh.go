package readthrough

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/turn"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// Refresh loads the entry of k anew, whether it is there or not, and returns what it is now:
// nothing of it was read from the source before the call. Readers get what is there meanwhile.
// What was written while it was loaded stays, and is returned; of an [rmap.Map], an [rmap.TTLMap]
// and an [rmap.Sharded] that is what has other bytes than what was there. What is on its way to the store of a
// writethrough.Map is not loaded, but returned.
//
// Cost: three script calls, and a wait for a load that is under way. Errors: as
// [Map.Get]. Source: RMap.loadAll with replaceExistingValues.
func (l *Map[K, V]) Refresh(ctx context.Context, k K) (v V, there bool, err error) {
	if l.bad != nil {
		return v, false, l.failed("refresh", l.bad)
	}
	v, there, err = l.renew(ctx, k, nil)
	turn.GoOn(err)
	return v, there, err
}

// LoadAll loads the entries of keys anew, whether they exist or not, and returns how many of
// them exist. It is [Map.Refresh] of each, as many at a time as [Map.GetMany] loads. If
// some cannot be loaded, LoadAll loads the others and returns an error.
//
// Cost and errors: those of Refresh, for each. Source: RMap.loadAll.
func (l *Map[K, V]) LoadAll(ctx context.Context, ks ...K) (n int64, err error) {
	if l.bad != nil {
		return 0, l.failed("load all of", l.bad)
	}
	seen := make(map[K]bool)
	var each []K
	for _, k := range ks {
		if !seen[k] {
			seen[k] = true
			each = append(each, k)
		}
	}
	err = l.each(ctx, each, func(k K, b *bulk[K, V]) (V, bool, error) { return l.renew(ctx, k, b) }, func(K, V) { n++ })
	return n, err
}

// renew loads an entry anew, on a flight of its own: one that is under way is older.
func (l *Map[K, V]) renew(ctx context.Context, k K, b *bulk[K, V]) (v V, there bool, err error) {
	key, err := l.h.EncodeKey(ctx, k)
	if err != nil {
		b.leave()
		return v, false, l.h.FailedAt("refresh", key, err)
	}
	defer l.written(k)
	return l.lonely(lock.Detach(ctx), k, key, func(f *flight[V]) {
		r := l.newRun(k, key)
		r.how, r.locks, r.anew, r.bulk = mapstore.Ahead, false, true, b
		defer r.leaves()
		f.v, f.there, f.err = r.renew(f.ctx)
	})
}

// renew is get of who does not mind that there is an entry.
func (r *run[K, V]) renew(ctx context.Context) (v V, there bool, err error) {
	for try := 0; ; try++ {
		v, there, done, err := r.renewOnce(ctx)
		if done || err != nil {
			return v, there, err
		}
		turn.Pause(try) // it was removed meanwhile
	}
}

func (r *run[K, V]) renewOnce(ctx context.Context) (v V, there, done bool, err error) {
	got, gone, err := r.await(ctx)
	switch {
	case err != nil || gone:
		r.abandon(ctx)
		return v, false, true, err
	case got.There: // the store is to have it
		r.abandon(ctx)
		v, there, err = r.decode(got)
		return v, there, true, err
	}
	if r.seen, err = r.h.Store.Get(ctx, r.lease.Key); err != nil {
		_, _ = r.end(ctx, toldLeft)
		return v, false, false, err
	}
	if r.still != nil && r.seen.There && !r.still() { // another was faster
		_, _ = r.end(ctx, toldLeft)
		v, there, err = r.decode(r.seen)
		return v, there, true, err
	}
	v, there, done, err = r.load(ctx)
	if done || err != nil {
		return v, there, done, err
	}
	if got, err = r.h.Store.Get(ctx, r.lease.Key); err != nil || !got.There {
		return v, false, false, err
	}
	v, there, err = r.decode(got) // it was written meanwhile
	return v, there, true, err
}
