package otel_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/otel"
)

func TestMetricsHaveUnitsDescriptionsAndNoNames(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	everything(r, t.Context())
	units := map[string]string{}
	for name, m := range r.metrics(t) {
		units[name] = m.Unit
		assert.NotEmpty(t, m.Description, name)
		assert.NotContains(t, fmt.Sprintf("%+v", m.Data), "secret", name)
	}
	assert.Equal(t, map[string]string{
		"rueidisson.wait.duration":     "s",
		"rueidisson.waiting":           "{waiter}",
		"rueidisson.acquired":          "{hold}",
		"rueidisson.released":          "{hold}",
		"rueidisson.lost":              "{hold}",
		"rueidisson.renewal.duration":  "s",
		"rueidisson.renewal.holds":     "{hold}",
		"rueidisson.script.duration":   "s",
		"rueidisson.script.sends":      "{send}",
		"rueidisson.limiter.decisions": "{decision}",
		"rueidisson.limiter.together":  "{request}",
	}, units)
}

// everything calls each method once.
func everything(o rueidisson.Observer, ctx context.Context) {
	o.WaitStarted(ctx, "lock", "secret")
	o.WaitEnded(ctx, "lock", "secret", time.Second, nil)
	o.Acquired(ctx, "lock", "secret", false)
	o.Released(ctx, "lock", "secret", false)
	o.Lost("lock", "secret", errors.New("secret"))
	o.Renewed(3, time.Second, nil)
	o.ScriptRan(ctx, "acquire", time.Second, 2, nil)
	decider(o).Decided(ctx, rueidisson.Decision{Limiter: "api", Tokens: 1, Allowed: true, Together: 3})
}

// decider is the observer in what tests wrap around it.
func decider(o rueidisson.Observer) rueidisson.DecisionObserver {
	if r, ok := o.(*recorder); ok {
		o = r.Observer
	}
	return o.(rueidisson.DecisionObserver)
}

func TestCountersTellKindsAndHandOversApart(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	for range 3 {
		r.Acquired(t.Context(), "lock", "a", true)
	}
	r.Acquired(t.Context(), "lock", "b", false)
	r.Acquired(t.Context(), "fairlock", "b", false)
	r.Released(t.Context(), "lock", "b", true)
	r.Released(t.Context(), "lock", "a", false)
	r.Lost("lock", "a", lock.ErrLost)
	assert.Equal(t, map[string]int64{
		"rueidisson.handed=true,rueidisson.kind=lock":      3,
		"rueidisson.handed=false,rueidisson.kind=lock":     1,
		"rueidisson.handed=false,rueidisson.kind=fairlock": 1,
	}, r.sums(t, "rueidisson.acquired"))
	assert.Equal(t, map[string]int64{
		"rueidisson.handed=true,rueidisson.kind=lock":  1,
		"rueidisson.handed=false,rueidisson.kind=lock": 1,
	}, r.sums(t, "rueidisson.released"))
	assert.Equal(t, map[string]int64{"rueidisson.kind=lock": 1}, r.sums(t, "rueidisson.lost"))
}

func TestObserverCountsRefusalsUnknownOutcomesAndWhatWasGivenUp(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	o := r.Observer.(rueidisson.OutcomeObserver)
	o.Refused("semaphore", "a")
	o.Refused("semaphore", "b")
	o.Refused("permit", "a")
	o.Unknown("latch", "a", "count down", rueidisson.ErrOutcomeUnknown)
	r.Observer.(rueidisson.DeferralObserver).GaveUp(rueidisson.GaveUp{Kind: "semaphore", Name: "a", Operation: "release", Amount: 2})
	assert.Equal(t, map[string]int64{"rueidisson.kind=semaphore": 2, "rueidisson.kind=permit": 1}, r.sums(t, "rueidisson.refused"))
	assert.Equal(t, map[string]int64{"rueidisson.kind=latch": 1}, r.sums(t, "rueidisson.unknown"))
	assert.Equal(t, map[string]int64{"rueidisson.kind=semaphore": 1}, r.sums(t, "rueidisson.gave_up"))
}

func TestRenewalsAndScriptsAreMeasured(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	r.Renewed(100, 2*time.Millisecond, nil)
	r.Renewed(50, 500*time.Millisecond, errors.New("reset"))
	r.ScriptRan(t.Context(), "acquire", time.Millisecond, 1, nil)
	r.ScriptRan(t.Context(), "acquire", 3*time.Millisecond, 4, rueidisson.ErrOutcomeUnknown)

	took := histogram[float64](t, r, "rueidisson.renewal.duration")
	assert.InDelta(t, .002, took[""].Sum, 1e-9)
	assert.InDelta(t, .5, took["error.type=_OTHER"].Sum, 1e-9)
	holds := histogram[int64](t, r, "rueidisson.renewal.holds")
	assert.EqualValues(t, 100, holds[""].Sum)
	assert.EqualValues(t, 50, holds["error.type=_OTHER"].Sum)
	ran := histogram[float64](t, r, "rueidisson.script.duration")
	assert.InDelta(t, .001, ran["rueidisson.script=acquire"].Sum, 1e-9)
	assert.InDelta(t, .003, ran["error.type=outcome_unknown,rueidisson.script=acquire"].Sum, 1e-9)
	assert.Less(t, ran["rueidisson.script=acquire"].Bounds[0], .001, "a script takes a fraction of a millisecond")
	assert.Equal(t, map[string]int64{"rueidisson.script=acquire": 5}, r.sums(t, "rueidisson.script.sends"))
}

func TestErrorsHaveFewTypes(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"canceled":        fmt.Errorf("%w: because", context.Canceled),
		"timeout":         context.DeadlineExceeded,
		"closed":          rueidisson.ErrClosed,
		"lost":            fmt.Errorf("lock %q: %w", "secret", lock.ErrLost),
		"not_acquired":    lock.ErrNotAcquired,
		"not_replicated":  lock.ErrNotReplicated,
		"outcome_unknown": fmt.Errorf("%w: %w", rueidisson.ErrOutcomeUnknown, context.Canceled),
		"_OTHER":          errors.New("ERR secret"),
	} {
		r := newRecorder(t)
		ctx, parent := r.tracer.Tracer("test").Start(t.Context(), "parent")
		r.WaitEnded(ctx, "lock", "k", time.Second, err)
		parent.End()
		waits := histogram[float64](t, r, "rueidisson.wait.duration")
		assert.Equal(t, []string{"error.type=" + want + ",rueidisson.kind=lock"}, slices.Collect(maps.Keys(waits)))
		span := r.named("rueidisson.wait")[0]
		assert.Equal(t, "error.type="+want+",rueidisson.kind=lock,rueidisson.name=k", attrs(span))
		if want == "not_acquired" {
			assert.Equal(t, codes.Unset, span.Status.Code, "busy is an answer")
			continue
		}
		assert.Equal(t, codes.Error, span.Status.Code)
		assert.Equal(t, err.Error(), span.Status.Description)
	}
}

func TestSpansBeginWhereWhatTheyDescribeBegan(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	ctx, parent := r.tracer.Tracer("test").Start(t.Context(), "parent")
	r.WaitEnded(ctx, "lock", "k", time.Minute, nil)
	r.ScriptRan(ctx, "acquire", time.Second, 2, nil)
	parent.End()
	for name, took := range map[string]time.Duration{"rueidisson.wait": time.Minute, "rueidisson.script": time.Second} {
		spans := r.named(name)
		require.Len(t, spans, 1, name)
		assert.Equal(t, took, spans[0].EndTime.Sub(spans[0].StartTime))
		assert.Equal(t, parent.SpanContext().SpanID(), spans[0].Parent.SpanID())
		assert.Equal(t, parent.SpanContext().TraceID(), spans[0].SpanContext.TraceID())
		assert.Equal(t, trace.SpanKindInternal, spans[0].SpanKind)
		assert.Equal(t, codes.Unset, spans[0].Status.Code)
	}
	assert.Equal(t, "rueidisson.script=acquire,rueidisson.sends=2", attrs(r.named("rueidisson.script")[0]))
}

func TestWithoutASampledSpanThereAreNone(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	unsampled := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}})
	sampled := unsampled.WithTraceFlags(trace.FlagsSampled)
	everything(r, t.Context())
	everything(r, trace.ContextWithSpanContext(t.Context(), unsampled))
	require.Empty(t, r.spans.GetSpans())
	everything(r, trace.ContextWithRemoteSpanContext(t.Context(), sampled))
	require.Len(t, r.spans.GetSpans(), 2)
}

// refusing makes meters that refuse one instrument.
type refusing struct {
	metricnoop.MeterProvider
	name string
}

var errRefused = errors.New("refused")

func (r refusing) Meter(string, ...metric.MeterOption) metric.Meter { return meter{name: r.name} }

type meter struct {
	metricnoop.Meter
	name string
}

func (m meter) refuse(name string) error {
	if name == m.name {
		return errRefused
	}
	return nil
}

func (m meter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return metricnoop.Int64Counter{}, m.refuse(name)
}

func (m meter) Int64UpDownCounter(name string, _ ...metric.Int64UpDownCounterOption) (metric.Int64UpDownCounter, error) {
	return metricnoop.Int64UpDownCounter{}, m.refuse(name)
}

func (m meter) Int64Histogram(name string, _ ...metric.Int64HistogramOption) (metric.Int64Histogram, error) {
	return metricnoop.Int64Histogram{}, m.refuse(name)
}

func (m meter) Float64Histogram(name string, _ ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return metricnoop.Float64Histogram{}, m.refuse(name)
}

func TestAnInstrumentThatIsRefusedIsAnError(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"rueidisson.waiting", "rueidisson.lost", "rueidisson.renewal.holds", "rueidisson.wait.duration"} {
		_, err := otel.New(otel.WithMeterProvider(refusing{name: name}))
		require.ErrorIs(t, err, errRefused, name)
	}
	_, err := otel.New(otel.WithMeterProvider(refusing{}))
	require.NoError(t, err)
}

func TestOptionsThatCannotBeUsedAreErrors(t *testing.T) {
	t.Parallel()
	for _, o := range []otel.Option{nil, otel.WithMeterProvider(nil), otel.WithTracerProvider(nil), otel.WithPropagator(nil)} {
		_, err := otel.New(o)
		require.ErrorIs(t, err, rueidisson.ErrInvalidArgument)
	}
	o, err := otel.New()
	require.NoError(t, err)
	everything(o, t.Context()) // on global providers that nobody has set
}

func TestManyGoroutinesLoseNoCount(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	const goroutines, kinds = 8, 20
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for i := range kinds {
				r.WaitStarted(t.Context(), strings.Repeat("k", i), "n")
				r.ScriptRan(t.Context(), strings.Repeat("s", i), time.Second, 1, nil)
				r.Renewed(1, time.Second, nil)
			}
		})
	}
	all.Wait()
	for _, name := range []string{"rueidisson.waiting", "rueidisson.script.sends"} {
		sums := r.sums(t, name)
		require.Len(t, sums, kinds)
		for set, n := range sums {
			require.EqualValues(t, goroutines, n, set)
		}
	}
	require.EqualValues(t, goroutines*kinds, histogram[float64](t, r, "rueidisson.renewal.duration")[""].Count)
}

// Not parallel, as AllocsPerRun demands.
func TestNothingIsAllocatedWhereNothingFails(t *testing.T) {
	o, err := otel.New(otel.WithMeterProvider(metricnoop.NewMeterProvider()), otel.WithTracerProvider(tracenoop.NewTracerProvider()))
	require.NoError(t, err)
	ctx := context.Background()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		everythingFine(o, ctx)
	}))
}

func everythingFine(o rueidisson.Observer, ctx context.Context) {
	o.WaitStarted(ctx, "lock", "k")
	o.WaitEnded(ctx, "lock", "k", time.Second, nil)
	o.Acquired(ctx, "lock", "k", true)
	o.Released(ctx, "lock", "k", true)
	o.Renewed(3, time.Second, nil)
	o.ScriptRan(ctx, "acquire", time.Second, 1, nil)
	decider(o).Decided(ctx, rueidisson.Decision{Limiter: "api", Tokens: 1, Allowed: true, Together: 3})
	decider(o).Decided(ctx, rueidisson.Decision{Limiter: "api", Tokens: 1, Fallback: true, Shadow: true})
}

func TestOnlyTheLevelMayFall(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	everything(r, t.Context())
	m := r.metrics(t)
	assert.True(t, m["rueidisson.acquired"].Data.(metricdata.Sum[int64]).IsMonotonic)
	assert.False(t, m["rueidisson.waiting"].Data.(metricdata.Sum[int64]).IsMonotonic)
}
