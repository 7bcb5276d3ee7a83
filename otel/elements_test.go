package otel_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/otel"
	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/rueidissontest"
	"github.com/rueidisson/rueidisson/stream"
	"github.com/rueidisson/rueidisson/topic"
)

// TestAClientTellsOfElements of queues of each kind, streams and topics.
func TestAClientTellsOfElements(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	c := rueidissontest.NewServer(t).NewClient(t, rueidisson.WithObserver(r.Observer))
	ctx := t.Context()

	q, other := queue.New[string](c, "q"), queue.New[string](c, "other")
	_, err := q.Offer(ctx, "a", "b", "c", "d")
	require.NoError(t, err)
	_, err = q.Poll(ctx)
	require.NoError(t, err)
	_, err = q.MoveTo(ctx, other)
	require.NoError(t, err)
	_, err = q.PollN(ctx, 10)
	require.NoError(t, err)
	_, err = q.Poll(ctx)
	require.ErrorIs(t, err, queue.ErrEmpty)
	_, err = other.Take(ctx)
	require.NoError(t, err)

	b := queue.NewBounded[string](c, "b")
	_, err = b.TryOffer(ctx, "a")
	require.ErrorIs(t, err, queue.ErrNoCapacity)
	_, err = b.TrySetCapacity(ctx, 1)
	require.NoError(t, err)
	_, err = b.TryOffer(ctx, "a")
	require.NoError(t, err)
	_, err = b.TryOffer(ctx, "b")
	require.ErrorIs(t, err, queue.ErrFull)
	_, err = b.Take(ctx)
	require.NoError(t, err)

	p := queue.NewPriority[string](c, "p")
	for i, v := range []string{"a", "b"} {
		_, err = p.Offer(ctx, v, float64(i))
		require.NoError(t, err)
	}
	_, err = p.Drain(ctx)
	require.NoError(t, err)

	s := stream.New[string, string](c, "s")
	_, err = s.Group("g").Create(ctx, stream.FromStart)
	require.NoError(t, err)
	_, err = s.Add(ctx, map[string]string{"k": "v"})
	require.NoError(t, err)
	for m, err := range s.Group("g").Messages(ctx, "c") {
		require.NoError(t, err)
		require.NoError(t, m.Ack(ctx))
		break
	}

	lagging, err := topic.New[string](c, "t").Listen(ctx, topic.WithBuffer(1))
	require.NoError(t, err)
	all, err := topic.New[string](c, "t").Listen(ctx)
	require.NoError(t, err)
	for _, v := range []string{"a", "b", "c"} {
		_, err = topic.New[string](c, "t").Publish(ctx, v)
		require.NoError(t, err)
	}
	for _, sub := range []*topic.Subscription[string]{all, lagging} {
		for v := range sub.Messages(ctx) {
			if v == "c" {
				break
			}
		}
		sub.Close()
	}

	kinds := func(name string, pairs ...any) map[string]int64 {
		values := map[string]int64{}
		for i := 0; i < len(pairs); i += 3 {
			values["rueidisson.kind="+pairs[i].(string)+",rueidisson.queue="+pairs[i+1].(string)] = int64(pairs[i+2].(int))
		}
		assert.Equal(t, values, r.sums(t, name), name)
		return values
	}
	kinds("rueidisson.queue.offered", "queue", "q", 4, "queue", "other", 1, "bounded queue", "b", 1, "priority queue", "p", 2, "stream", "s", 1, "topic", "t", 3)
	kinds("rueidisson.queue.taken", "queue", "q", 4, "queue", "other", 1, "bounded queue", "b", 1, "priority queue", "p", 2, "stream", "s", 1, "topic", "t", 4)
	kinds("rueidisson.queue.missed", "topic", "t", 2)
	waited := histogram[float64](t, r, "rueidisson.queue.waiting.duration")
	require.Len(t, waited, 1)
	require.EqualValues(t, 1, waited["rueidisson.kind=stream,rueidisson.queue=s"].Count)
}

// TestLengthAndLagAreAskedForAtEachCollection, until that is stopped.
func TestLengthAndLagAreAskedForAtEachCollection(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	var mu sync.Mutex
	n, failure := int64(7), error(nil)
	ask := func(context.Context) (int64, error) {
		mu.Lock()
		defer mu.Unlock()
		return n, failure
	}
	stop, err := otel.ObserveLength("orders", ask, otel.WithMeterProvider(meters))
	require.NoError(t, err)
	stopLag, err := otel.ObserveLag("orders", "billing", ask, otel.WithMeterProvider(meters))
	require.NoError(t, err)
	collect := func() map[string]int64 {
		var all metricdata.ResourceMetrics
		_ = reader.Collect(t.Context(), &all) // which has the error of what cannot be asked
		values := map[string]int64{}
		for _, s := range all.ScopeMetrics {
			for _, m := range s.Metrics {
				for _, p := range m.Data.(metricdata.Gauge[int64]).DataPoints {
					values[m.Name+" "+set(p.Attributes)] = p.Value
				}
			}
		}
		return values
	}
	require.Equal(t, map[string]int64{
		"rueidisson.queue.length rueidisson.queue=orders":                       7,
		"rueidisson.queue.lag rueidisson.group=billing,rueidisson.queue=orders": 7,
	}, collect())
	require.NoError(t, stopLag())
	n = 8
	require.Equal(t, map[string]int64{"rueidisson.queue.length rueidisson.queue=orders": 8}, collect())
	failure = errors.New("no server")
	require.Empty(t, collect())
	require.NoError(t, stop())
	failure = nil
	require.Empty(t, collect())
	_, err = otel.ObserveLag("orders", "billing", nil)
	require.ErrorIs(t, err, rueidisson.ErrInvalidArgument)
	_, err = otel.ObserveLength("orders", ask, otel.Option(nil))
	require.ErrorIs(t, err, rueidisson.ErrInvalidArgument)
}
