package otel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// traced reports whether there is a span to be a child of. One that is not
// sampled is never seen, and a child of it would be an orphan.
func traced(ctx context.Context) bool {
	sc := trace.SpanContextFromContext(ctx)
	return sc.IsValid() && sc.IsSampled()
}

// spans makes spans of what is over, and around handlers.
type spans struct {
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
}

// record takes the end from the clock once, so that the span is exactly as
// long as what it describes.
func (s spans) record(ctx context.Context, name string, took time.Duration, err error, attributes ...attribute.KeyValue) {
	end := time.Now()
	_, span := s.tracer.Start(ctx, name, trace.WithTimestamp(end.Add(-took)), trace.WithAttributes(attributes...))
	fail(span, err)
	span.End(trace.WithTimestamp(end))
}

func fail(span trace.Span, err error) {
	errorType := typeOf(err)
	if errorType == "" {
		return
	}
	span.SetAttributes(errorTypeKey.String(errorType))
	if errorType != notAcquired {
		span.SetStatus(codes.Error, err.Error())
	}
}
