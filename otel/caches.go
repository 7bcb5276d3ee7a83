package otel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/rueidisson/rueidisson"
)

const (
	cacheKey = attribute.Key("rueidisson.cache")
	eventKey = attribute.Key("rueidisson.event")
)

// cacheSets are the attributes of the first caches that were heard of, as many as
// there are limiters with some.
type cacheSets struct{ memo memo[cacheSet] }

func (s *cacheSets) of(cache string) *cacheSet {
	if made := s.memo.made.Load(); made != nil && (*made)[cache] == nil && len(*made) >= maxLimiters {
		cache = others
	}
	return s.memo.of(cache, func(cache string) *cacheSet {
		name := cacheKey.String(cache)
		return &cacheSet{cache: name, plain: adding{set(name)}}
	})
}

type cacheSet struct {
	cache attribute.KeyValue
	plain adding
}

func (o *observer) CacheSwept(ctx context.Context, s rueidisson.Sweep) {
	sets := o.caches.of(s.Cache)
	if s.Expired > 0 {
		o.expired.Add(ctx, s.Expired, sets.plain...)
	}
	if s.Evicted > 0 {
		o.evicted.Add(ctx, s.Evicted, sets.plain...)
	}
	if !s.Written && !s.Busy {
		o.sweepDuration.Record(ctx, s.Took.Seconds(), o.sweep.of(typeOf(s.Err))...)
	}
}

func (o *observer) CacheLoaded(ctx context.Context, l rueidisson.Load) {
	o.loadDuration.Record(ctx, l.Took.Seconds(), o.sweep.of(typeOf(l.Err))...)
}

func (o *observer) CacheEvent(ctx context.Context, cache, kind string) {
	o.cacheEvents.Add(ctx, 1, set(o.caches.of(cache).cache, eventKey.String(kind)))
}

func (o *observer) CacheNear(ctx context.Context, n rueidisson.NearCounts) {
	sets := o.caches.of(n.Cache)
	for _, c := range []struct {
		to metric.Int64Counter
		n  int64
	}{{o.nearHits, n.Hits}, {o.nearMisses, n.Misses}, {o.nearDrops, n.Drops}, {o.nearWholeDrops, n.WholeDrops}} {
		if c.n > 0 {
			c.to.Add(ctx, c.n, sets.plain...)
		}
	}
}

func (o *observer) CacheWrote(ctx context.Context, w rueidisson.Write) {
	sets, n := o.caches.of(w.Map), int64(w.Changes)
	o.storeDuration.Record(ctx, w.Took.Seconds(), o.sweep.of(typeOf(w.Err))...)
	if w.Err == nil {
		o.stored.Add(ctx, n, sets.plain...)
	}
	if w.Attempt > 1 {
		o.storedAgain.Add(ctx, n, sets.plain...)
	}
	if w.Dead {
		o.storedDead.Add(ctx, n, sets.plain...)
	}
	if w.Behind && w.Queued >= 0 {
		o.storeQueued.Record(ctx, w.Queued, set(sets.cache))
	}
}

var _ rueidisson.CacheObserver = (*observer)(nil)
