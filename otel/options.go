package otel

import (
	"fmt"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/rueidisson/rueidisson"
)

// Option configures an observer. [New] returns [rueidisson.ErrInvalidArgument] if a value is
// invalid.
type Option interface{ apply(*config) error }

type config struct {
	meters     metric.MeterProvider
	tracers    trace.TracerProvider
	propagator propagation.TextMapPropagator
}

type option func(*config) error

func (o option) apply(c *config) error { return o(c) }

// WithMeterProvider sets where the metrics go. The default is the global
// provider, also one that is set later.
func WithMeterProvider(p metric.MeterProvider) Option {
	return option(func(c *config) error {
		if p == nil {
			return fmt.Errorf("%w: nil meter provider", rueidisson.ErrInvalidArgument)
		}
		c.meters = p
		return nil
	})
}

// WithTracerProvider sets where the spans go. The default is the global
// provider, also one that is set later.
func WithTracerProvider(p trace.TracerProvider) Option {
	return option(func(c *config) error {
		if p == nil {
			return fmt.Errorf("%w: nil tracer provider", rueidisson.ErrInvalidArgument)
		}
		c.tracers = p
		return nil
	})
}

// WithPropagator sets how the header of a message is read for the trace that it
// belongs to. The default is the global propagator, also one that is set later.
func WithPropagator(p propagation.TextMapPropagator) Option {
	return option(func(c *config) error {
		if p == nil {
			return fmt.Errorf("%w: nil propagator", rueidisson.ErrInvalidArgument)
		}
		c.propagator = p
		return nil
	})
}

func (c *config) resolve(opts []Option) error {
	for _, o := range opts {
		if o == nil {
			return fmt.Errorf("%w: a nil option", rueidisson.ErrInvalidArgument)
		}
		if err := o.apply(c); err != nil {
			return err
		}
	}
	return nil
}
