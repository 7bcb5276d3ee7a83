package otel

import (
	"context"
	"time"

	global "go.opentelemetry.io/otel"

	"github.com/rueidisson/rueidisson"
)

const scope = "github.com/rueidisson/rueidisson/otel"

// New returns an observer for [rueidisson.WithObserver]. It is a
// [rueidisson.DecisionObserver], a [rueidisson.CacheObserver], a
// [rueidisson.MessageObserver], a [rueidisson.QueueObserver], a
// [rueidisson.HandlerObserver], a [rueidisson.DeferralObserver], a [rueidisson.OutcomeObserver] and a
// [rueidisson.BatchObserver], too.
//
// Errors: [rueidisson.ErrInvalidArgument]; that of a meter provider which refuses an
// instrument.
func New(opts ...Option) (rueidisson.Observer, error) {
	c := config{meters: global.GetMeterProvider(), tracers: global.GetTracerProvider(), propagator: global.GetTextMapPropagator()}
	if err := c.resolve(opts); err != nil {
		return nil, err
	}
	m, err := newInstruments(c.meters.Meter(scope))
	if err != nil {
		return nil, err
	}
	return &observer{instruments: m, spans: spans{c.tracers.Tracer(scope), c.propagator}}, nil
}

type observer struct {
	instruments
	spans   spans
	kinds   memo[kindSets]
	scripts memo[scriptSets]
	renewal outcomes

	limiters memo[decisionSets]
	caches   memo[cacheSet]
	queues   memo[queueSet]
	elements elementSets
	sweep    outcomes
}

func (o *observer) WaitStarted(ctx context.Context, kind, _ string) {
	o.waiting.Add(ctx, 1, o.kinds.of(kind, newKindSets).plain...)
}

func (o *observer) WaitEnded(ctx context.Context, kind, name string, waited time.Duration, err error) {
	sets, errorType := o.kinds.of(kind, newKindSets), typeOf(err)
	o.waiting.Add(ctx, -1, sets.plain...)
	o.waitDuration.Record(ctx, waited.Seconds(), sets.waited.of(errorType)...)
	if traced(ctx) {
		o.spans.record(ctx, "rueidisson.wait", waited, err, kindKey.String(kind), nameKey.String(name))
	}
}

func (o *observer) Acquired(ctx context.Context, kind, _ string, handed bool) {
	o.acquired.Add(ctx, 1, o.kinds.of(kind, newKindSets).by(handed)...)
}

func (o *observer) Released(ctx context.Context, kind, _ string, handed bool) {
	o.released.Add(ctx, 1, o.kinds.of(kind, newKindSets).by(handed)...)
}

func (o *observer) Lost(kind, _ string, _ error) {
	o.lost.Add(context.Background(), 1, o.kinds.of(kind, newKindSets).plain...)
}

func (o *observer) GaveUp(g rueidisson.GaveUp) {
	o.gaveUp.Add(context.Background(), 1, o.kinds.of(g.Kind, newKindSets).plain...)
}

var _ rueidisson.DeferralObserver = (*observer)(nil)

func (o *observer) Refused(kind, _ string) {
	o.refused.Add(context.Background(), 1, o.kinds.of(kind, newKindSets).plain...)
}

func (o *observer) Unknown(kind, _, _ string, _ error) {
	o.unknown.Add(context.Background(), 1, o.kinds.of(kind, newKindSets).plain...)
}

var _ rueidisson.OutcomeObserver = (*observer)(nil)

func (o *observer) CallsSent(kind string, calls int) {
	o.combined.Record(context.Background(), int64(calls), o.kinds.of(kind, newKindSets).waited.of("")...)
}

var _ rueidisson.BatchObserver = (*observer)(nil)

func (o *observer) Renewed(holds int, took time.Duration, err error) {
	ctx, set := context.Background(), o.renewal.of(typeOf(err))
	o.renewalDuration.Record(ctx, took.Seconds(), set...)
	o.renewalHolds.Record(ctx, int64(holds), set...)
}

func (o *observer) ScriptRan(ctx context.Context, script string, took time.Duration, sends int, err error) {
	sets := o.scripts.of(script, newScriptSets)
	o.scriptDuration.Record(ctx, took.Seconds(), sets.ran.of(typeOf(err))...)
	o.scriptSends.Add(ctx, int64(sends), sets.plain...)
	if traced(ctx) {
		o.spans.record(ctx, "rueidisson.script", took, err, scriptKey.String(script), sendsKey.Int(sends))
	}
}
