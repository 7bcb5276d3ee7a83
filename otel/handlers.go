package otel

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/rueidisson/rueidisson"
)

// Attributes of the semantic conventions for messaging, and one of ours.
const (
	systemKey      = attribute.Key("messaging.system")
	operationKey   = attribute.Key("messaging.operation.name")
	typeKey        = attribute.Key("messaging.operation.type")
	destinationKey = attribute.Key("messaging.destination.name")
	messageKey     = attribute.Key("messaging.message.id")
	attemptKey     = attribute.Key("rueidisson.attempt")
)

// MessageHandling makes a span that the handler's are children of. It is a child of what
// the header of the message carries, or else of what Serve was called under.
func (o *observer) MessageHandling(ctx context.Context, h rueidisson.Handling) (context.Context, func(rueidisson.Handled)) {
	ctx = o.spans.propagator.Extract(ctx, propagation.MapCarrier(h.Header))
	began := time.Now()
	ctx, span := o.spans.tracer.Start(ctx, "process "+h.Queue, trace.WithTimestamp(began),
		trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
			systemKey.String("rueidisson"), operationKey.String("process"), typeKey.String("process"),
			destinationKey.String(h.Queue), messageKey.String(strconv.FormatInt(h.ID, 10)), attemptKey.Int(h.Attempt)))
	return ctx, func(is rueidisson.Handled) {
		span.SetAttributes(outcomeKey.String(is.Outcome))
		if is.Err == nil {
			is.Err = is.Unsettled
		}
		if is.Err != nil {
			span.SetAttributes(errorTypeKey.String(typeOf(is.Err)))
			span.SetStatus(codes.Error, is.Err.Error())
		}
		span.End(trace.WithTimestamp(began.Add(is.Took)))
	}
}

var _ rueidisson.HandlerObserver = (*observer)(nil)
