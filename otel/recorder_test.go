package otel_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/otel"
)

// recorder is an observer and what it has reported.
type recorder struct {
	rueidisson.Observer
	reader *sdkmetric.ManualReader
	spans  *tracetest.InMemoryExporter
	tracer *sdktrace.TracerProvider
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{reader: sdkmetric.NewManualReader(), spans: tracetest.NewInMemoryExporter()}
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader))
	r.tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.spans))
	t.Cleanup(func() {
		require.NoError(t, meters.Shutdown(context.Background()))
		require.NoError(t, r.tracer.Shutdown(context.Background()))
	})
	var err error
	r.Observer, err = otel.New(otel.WithMeterProvider(meters), otel.WithTracerProvider(r.tracer))
	require.NoError(t, err)
	return r
}

// metrics is everything by name.
func (r *recorder) metrics(t *testing.T) map[string]metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, r.reader.Collect(context.Background(), &all))
	byName := map[string]metricdata.Metrics{}
	for _, s := range all.ScopeMetrics {
		require.Equal(t, "github.com/rueidisson/rueidisson/otel", s.Scope.Name)
		for _, m := range s.Metrics {
			byName[m.Name] = m
		}
	}
	return byName
}

// set prints attributes for comparison.
func set(s attribute.Set) string { return s.Encoded(attribute.DefaultEncoder()) }

// sums is a counter's values by attributes.
func (r *recorder) sums(t *testing.T, name string) map[string]int64 {
	t.Helper()
	sum, ok := r.metrics(t)[name].Data.(metricdata.Sum[int64])
	require.True(t, ok, "%s is no counter, or has no value", name)
	values := map[string]int64{}
	for _, p := range sum.DataPoints {
		values[set(p.Attributes)] = p.Value
	}
	return values
}

// histogram is a histogram's points by attributes.
func histogram[N int64 | float64](t *testing.T, r *recorder, name string) map[string]metricdata.HistogramDataPoint[N] {
	t.Helper()
	h, ok := r.metrics(t)[name].Data.(metricdata.Histogram[N])
	require.True(t, ok, "%s is no histogram, or has no value", name)
	points := map[string]metricdata.HistogramDataPoint[N]{}
	for _, p := range h.DataPoints {
		points[set(p.Attributes)] = p
	}
	return points
}

// named is the spans of that name.
func (r *recorder) named(name string) (found []tracetest.SpanStub) {
	for _, s := range r.spans.GetSpans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

func attrs(s tracetest.SpanStub) string { return set(attribute.NewSet(s.Attributes...)) }
