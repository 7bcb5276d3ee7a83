package readthrough

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// WithStaleOnError keeps entries for d after their time to live, for the case that their source
// fails. A loaded entry lives d longer in Redis than [rmap.WithTTL] or [WithLoadTTL] say.
// In the last d of an entry's life [Map.Get] and [Map.GetMany] load it anew first, by
// one call of the loader in the fleet. They return the old value if the load fails, here or
// in another process, or if their context ends. After a failure the handle does not load the
// entry for a pause: that of [WithLoadBackoff], or else 100 ms at first and 5 s at most.
//
// Other readers, Java too, see such an entry as any other. The last d of the time to live of an
// entry that was put counts in the same way. The first Get of the handle that finds an entry
// asks the server for its expiry, which is remembered for 10,000 entries. It is for an [rmap.Cache] or
// an [rmap.TTLMap] whose handle has no [rmap.WithMaxIdle]. Operations return [ErrInvalidArgument] on other
// maps, and if d is below a millisecond or above 100 years.
func WithStaleOnError(d time.Duration) Option {
	return option(func(c *config) error {
		c.stale = d
		return send.CheckTTL("stale time", d)
	})
}

// The pauses of a source that fails while there is something stale, without WithLoadBackoff.
const (
	leastStale = 100 * time.Millisecond
	mostStale  = 5 * time.Second
)

// found returns what a Get returns that has found v.
func (l *Map[K, V]) found(ctx context.Context, k K, v V) (V, bool) {
	if l.cfg.stale > 0 && l.stale(ctx, k) {
		return l.freshen(ctx, k, v, nil)
	}
	if l.cfg.beta > 0 {
		l.hit(ctx, k)
	}
	return v, true
}

// freshenMany is found of entries; those that are not there any more are left out.
func (l *Map[K, V]) freshenMany(ctx context.Context, found map[K]V) {
	var mu sync.Mutex
	var due, all []K
	for k := range found {
		all = append(all, k)
	}
	mapstore.FewAtATime(len(all), func(i int) {
		if l.stale(ctx, all[i]) {
			mu.Lock()
			due = append(due, all[i])
			mu.Unlock()
		}
	})
	fresh := make(map[K]V)
	_ = l.each(ctx, due, func(k K, b *bulk[K, V]) (V, bool, error) {
		v, there := l.freshen(ctx, k, found[k], b)
		return v, there, nil
	}, func(k K, v V) { fresh[k] = v })
	for _, k := range due {
		delete(found, k)
	}
	for k, v := range fresh {
		found[k] = v
	}
}

// stale reports whether an entry is to be loaded anew, and may be: its last time has begun.
func (l *Map[K, V]) stale(ctx context.Context, k K) bool {
	now := l.now()
	l.mu.Lock()
	e, known := l.ends.of[k]
	out := l.out(k)
	l.mu.Unlock()
	if out != nil || known && !e.asked && (e.unknown && now < e.at || !e.unknown && now < e.at-l.cfg.stale) {
		return false
	}
	return l.endsSoon(ctx, k)
}

// endsSoon asks whether the last time of an entry has begun.
func (l *Map[K, V]) endsSoon(ctx context.Context, k K) bool {
	before := l.now()
	left, err := l.in.Left(ctx, k)
	switch {
	case err != nil || left == 0:
		return false // which was right when it was read
	case left < 0:
		l.learn(k, end{at: before + lookAgain, unknown: true})
		return false
	}
	l.learn(k, end{at: l.now() + left})
	return left <= l.cfg.stale
}

// freshen has an entry loaded anew, on a flight that callers share, and returns what was
// there before if that fails. A bulk counts the caller.
func (l *Map[K, V]) freshen(ctx context.Context, k K, was V, b *bulk[K, V]) (V, bool) {
	key, err := l.h.Codecs.Key(k)
	if err != nil {
		b.leave()
		return was, true
	}
	t, err := l.board(ctx, k, key, b, true)
	if err == nil {
		err = l.ride(ctx, k, t)
	}
	if err != nil || t.err != nil || t.late() {
		return was, true
	}
	return t.v, t.there
}

// errElsewhere is why a process does not load what another has failed to.
var errElsewhere = errors.New("the load of another process failed")

// afresh returns the base of a Map: where its last time begins, an entry ends for those
// who keep copies.
func (l *Map[K, V]) afresh(b mapstore.Base[K]) mapstore.Base[K] {
	left := b.Left
	if l.cfg.stale == 0 || left == nil {
		return b
	}
	b.Left = func(ctx context.Context, k K) (time.Duration, error) {
		d, err := left(ctx, k)
		if err == nil && d > 0 {
			d = max(d-l.cfg.stale, 0)
		}
		return d, err
	}
	return b
}
