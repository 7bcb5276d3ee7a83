package otel_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/otel"
	"github.com/rueidisson/rueidisson/queue/reliable"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// TestASpanIsAroundEachHandler, and of the trace of who has added the message, over two
// attempts.
func TestASpanIsAroundEachHandler(t *testing.T) {
	t.Parallel()
	exported := tracetest.NewInMemoryExporter()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exported))
	defer func() { assert.NoError(t, tracers.Shutdown(context.Background())) }()
	o, err := otel.New(otel.WithTracerProvider(tracers), otel.WithPropagator(propagation.TraceContext{}))
	require.NoError(t, err)
	c := rueidissontest.NewClient(t, rueidisson.WithObserver(o))
	q := reliable.New[string](c, "orders", reliable.WithMaxAttempts(2), reliable.WithBackoff(func(int) time.Duration { return 0 }))

	adding, adder := tracers.Tracer("test").Start(t.Context(), "adder")
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(adding, carrier)
	var opts []reliable.AddOption
	for key, value := range carrier {
		opts = append(opts, reliable.WithHeader(key, value))
	}
	id, err := q.Add(context.Background(), "tea", opts...)
	require.NoError(t, err)
	adder.End()

	serving, stop := context.WithCancel(t.Context())
	defer stop()
	var within []trace.SpanContext
	require.NoError(t, q.Serve(serving, func(ctx context.Context, m *reliable.Message[string]) error {
		within = append(within, trace.SpanContextFromContext(ctx))
		if m.Attempt == 1 {
			return errors.New("no paper")
		}
		stop()
		return nil
	}, reliable.WithConcurrency(1)))

	var spans []tracetest.SpanStub
	for _, s := range exported.GetSpans() {
		if s.Name == "process orders" {
			spans = append(spans, s)
		}
	}
	require.Len(t, spans, 2)
	for i, s := range spans {
		assert.Equal(t, within[i].SpanID(), s.SpanContext.SpanID(), "the handler's context has it")
		assert.Equal(t, adder.SpanContext().TraceID(), s.SpanContext.TraceID())
		assert.Equal(t, adder.SpanContext().SpanID(), s.Parent.SpanID())
		assert.Equal(t, trace.SpanKindConsumer, s.SpanKind)
		assert.False(t, s.EndTime.Before(s.StartTime))
	}
	const common = "messaging.destination.name=orders,messaging.message.id=%d,messaging.operation.name=process," +
		"messaging.operation.type=process,messaging.system=rueidisson,rueidisson.attempt="
	assert.Equal(t, fmt.Sprintf("error.type=_OTHER,"+common+"1,rueidisson.outcome=retried", id), attrs(spans[0]))
	assert.Equal(t, sdktrace.Status{Code: codes.Error, Description: "no paper"}, spans[0].Status)
	assert.Equal(t, fmt.Sprintf(common+"2,rueidisson.outcome=acked", id), attrs(spans[1]))
	assert.Equal(t, codes.Unset, spans[1].Status.Code)
}

// TestASpanOfAMessageWithoutATrace is a root, and says what has gone wrong with a message
// that its handler was fine with.
func TestASpanOfAMessageWithoutATrace(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	_, handled := r.Observer.(rueidisson.HandlerObserver).MessageHandling(t.Context(), rueidisson.Handling{Queue: "q", ID: 7, Attempt: 3})
	require.Empty(t, r.spans.GetSpans())
	handled(rueidisson.Handled{Outcome: "lost", Took: 5 * time.Second, Unsettled: reliable.ErrLost})
	spans := r.named("process q")
	require.Len(t, spans, 1)
	assert.False(t, spans[0].Parent.IsValid())
	assert.Equal(t, 5*time.Second, spans[0].EndTime.Sub(spans[0].StartTime), "the time of the server's answer is not the handler's")
	assert.Contains(t, attrs(spans[0]), "error.type=lost,")
	assert.Contains(t, attrs(spans[0]), "rueidisson.outcome=lost")
	assert.Equal(t, codes.Error, spans[0].Status.Code)
}
