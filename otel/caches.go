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

// cacheSet is the attributes of one cache.
type cacheSet struct {
	cache attribute.KeyValue
	plain adding
}

func newCacheSet(cache string) *cacheSet {
	name := cacheKey.String(cache)
	return &cacheSet{cache: name, plain: adding{attributes(name)}}
}

func (o *observer) CacheSwept(ctx context.Context, s rueidisson.Sweep) {
	sets := o.caches.capped(s.Cache, newCacheSet)
	if s.Expired > 0 {
		o.expired.Add(ctx, s.Expired, sets.plain...)
	}
	if s.Evicted > 0 {
		o.evicted.Add(ctx, s.Evicted, sets.plain...)
	}
	if s.Written || s.Busy {
		return
	}
	kind := o.kinds.of(s.Kind, newKindSets)
	o.sweepDuration.Record(ctx, s.Took.Seconds(), kind.waited.of(typeOf(s.Err))...)
	if s.ClockAhead != 0 {
		o.clockAhead.Add(ctx, 1, kind.plain...)
	}
}

func (o *observer) CacheLoaded(ctx context.Context, l rueidisson.Load) {
	o.loadDuration.Record(ctx, l.Took.Seconds(), o.sweep.of(typeOf(l.Err))...)
}

func (o *observer) CacheEvent(ctx context.Context, cache, kind string) {
	o.cacheEvents.Add(ctx, 1, attributes(o.caches.capped(cache, newCacheSet).cache, eventKey.String(kind)))
}

func (o *observer) CacheNear(ctx context.Context, n rueidisson.NearCounts) {
	sets := o.caches.capped(n.Cache, newCacheSet)
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
	sets, n := o.caches.capped(w.Map, newCacheSet), int64(w.Changes)
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
		o.storeQueued.Record(ctx, w.Queued, attributes(sets.cache))
	}
}

var _ rueidisson.CacheObserver = (*observer)(nil)
