package otel

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	global "go.opentelemetry.io/otel"

	"github.com/rueidisson/rueidisson"
)

const groupKey = attribute.Key("rueidisson.group")

// elementSets are the attributes of the first queues, streams and topics that were heard
// of, as many as there are limiters with some.
type elementSets struct{ memo memo[elementSet] }

type elementSet struct {
	plain  adding
	waited recording
}

func (s *elementSets) of(kind, name string) *elementSet {
	both := kind + "\x00" + name
	if made := s.memo.made.Load(); made != nil && (*made)[both] == nil && len(*made) >= maxLimiters {
		name, both = others, kind+"\x00"+others
	}
	return s.memo.of(both, func(string) *elementSet {
		set := attributes(kindKey.String(kind), queueKey.String(name))
		return &elementSet{plain: adding{set}, waited: recording{set}}
	})
}

func (o *observer) ElementsOffered(ctx context.Context, kind, name string, elements int) {
	o.offered.Add(ctx, int64(elements), o.elements.of(kind, name).plain...)
}

func (o *observer) ElementsTaken(ctx context.Context, t rueidisson.Taken) {
	sets := o.elements.of(t.Kind, t.Name)
	o.taken.Add(ctx, int64(t.Elements), sets.plain...)
	if t.Waited >= 0 {
		o.waitedFor.Record(ctx, t.Waited.Seconds(), sets.waited...)
	}
}

func (o *observer) ElementsMissed(kind, name string, elements int64) {
	o.missed.Add(context.Background(), elements, o.elements.of(kind, name).plain...)
}

var _ rueidisson.QueueObserver = (*observer)(nil)

// ObserveLength has the length of a queue, a stream or a reliable topic be asked for at each
// collection of metrics, until stop is called:
//
//	stop, err := otel.ObserveLength("orders", orders.Len)
//
// One process of a fleet is enough. What cannot be found out is left out of that collection.
// name is the value of rueidisson.queue. Errors: [rueidisson.ErrInvalidArgument]; that of a meter
// provider which refuses an instrument.
func ObserveLength(name string, length func(context.Context) (int64, error), opts ...Option) (stop func() error, err error) {
	return observe("rueidisson.queue.length", "Number of elements of a queue, a stream or a topic.", length, opts, queueKey.String(name))
}

// ObserveLag observes, as [ObserveLength] does, the lag of a group of a stream, or of a durable
// name of a topic:
//
//	stop, err := otel.ObserveLag("orders", "billing", orders.Durable("billing").Lag)
func ObserveLag(name, group string, lag func(context.Context) (int64, error), opts ...Option) (stop func() error, err error) {
	return observe("rueidisson.queue.lag", "Number of elements that a group has not handled.", lag, opts, queueKey.String(name), groupKey.String(group))
}

func observe(gauge, description string, ask func(context.Context) (int64, error), opts []Option, of ...attribute.KeyValue) (func() error, error) {
	c := config{meters: global.GetMeterProvider(), tracers: global.GetTracerProvider(), propagator: global.GetTextMapPropagator()}
	if err := c.resolve(opts); err != nil {
		return nil, err
	}
	if ask == nil {
		return nil, fmt.Errorf("%w: nothing to ask for %s", rueidisson.ErrInvalidArgument, gauge)
	}
	m := c.meters.Meter(scope)
	g, err := m.Int64ObservableGauge(gauge, metric.WithUnit("{element}"), metric.WithDescription(description))
	if err != nil {
		return nil, fmt.Errorf("rueidisson metrics: %w", err)
	}
	attributes := metric.WithAttributeSet(attribute.NewSet(of...))
	r, err := m.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		n, err := ask(ctx)
		if err == nil {
			o.ObserveInt64(g, n, attributes)
		}
		return err
	}, g)
	if err != nil {
		return nil, fmt.Errorf("rueidisson metrics: %w", err)
	}
	return r.Unregister, nil
}
