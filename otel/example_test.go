package otel_test

import (
	"context"
	"fmt"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/otel"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// exampleT stands for the *testing.T that a test function is given.
type exampleT struct {
	testing.TB
	cleanups []func()
}

func (t *exampleT) Helper()                   {}
func (t *exampleT) Cleanup(f func())          { t.cleanups = append(t.cleanups, f) }
func (t *exampleT) Logf(string, ...any)       {}
func (t *exampleT) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

func (t *exampleT) end() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}

func ExampleNew() {
	t := &exampleT{}
	defer t.end()
	ctx := context.Background()

	reader := metric.NewManualReader() // a program has an exporter here
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	defer provider.Shutdown(ctx)

	o, err := otel.New(otel.WithMeterProvider(provider))
	if err != nil {
		fmt.Println(err)
		return
	}
	c := rueidissontest.NewClient(t, rueidisson.WithObserver(o)) // a program has rueidisson.Open here

	for range 3 {
		hold, err := c.Lock("order:42").Lock(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := hold.Unlock(ctx); err != nil {
			fmt.Println(err)
		}
	}

	var collected metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &collected); err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range collected.ScopeMetrics[0].Metrics {
		sum, ok := m.Data.(metricdata.Sum[int64])
		if !ok || m.Name == "rueidisson.script.sends" {
			continue
		}
		for _, p := range sum.DataPoints {
			handed, _ := p.Attributes.Value("rueidisson.handed")
			fmt.Println(m.Name, p.Value, "handed:", handed.AsBool())
		}
	}
	// Output:
	// rueidisson.acquired 3 handed: false
	// rueidisson.released 3 handed: false
}
