package otel_test

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/rueidisson/rueidisson/otel"
)

// catalogue is a meter that notes the names of instruments, also as Prometheus has them.
type catalogue struct {
	noop.Meter
	names, prometheus map[string]bool
}

// provider gives the same catalogue to all.
type provider struct {
	noop.MeterProvider
	catalogue *catalogue
}

func (p provider) Meter(string, ...metric.MeterOption) metric.Meter { return p.catalogue }

func (c *catalogue) add(name, unit string, suffixes ...string) {
	c.names[name] = true
	name = strings.ReplaceAll(name, ".", "_")
	if unit == "s" {
		name += "_seconds"
	}
	for _, suffix := range suffixes {
		c.prometheus[name+suffix] = true
	}
}

func (c *catalogue) Float64Histogram(name string, opts ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	c.add(name, metric.NewFloat64HistogramConfig(opts...).Unit(), "_bucket", "_count", "_sum")
	return noop.Float64Histogram{}, nil
}

func (c *catalogue) Int64Histogram(name string, opts ...metric.Int64HistogramOption) (metric.Int64Histogram, error) {
	c.add(name, metric.NewInt64HistogramConfig(opts...).Unit(), "_bucket", "_count", "_sum")
	return noop.Int64Histogram{}, nil
}

func (c *catalogue) Int64Counter(name string, opts ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	c.add(name, metric.NewInt64CounterConfig(opts...).Unit(), "_total")
	return noop.Int64Counter{}, nil
}

func (c *catalogue) Int64UpDownCounter(name string, opts ...metric.Int64UpDownCounterOption) (metric.Int64UpDownCounter, error) {
	c.add(name, metric.NewInt64UpDownCounterConfig(opts...).Unit(), "")
	return noop.Int64UpDownCounter{}, nil
}

func (c *catalogue) Int64Gauge(name string, opts ...metric.Int64GaugeOption) (metric.Int64Gauge, error) {
	c.add(name, metric.NewInt64GaugeConfig(opts...).Unit(), "")
	return noop.Int64Gauge{}, nil
}

func (c *catalogue) Int64ObservableGauge(name string, opts ...metric.Int64ObservableGaugeOption) (metric.Int64ObservableGauge, error) {
	c.add(name, metric.NewInt64ObservableGaugeConfig(opts...).Unit(), "")
	return noop.Int64ObservableGauge{}, nil
}

// made lists every metric that the package makes.
func made(t *testing.T) *catalogue {
	t.Helper()
	c := &catalogue{names: map[string]bool{}, prometheus: map[string]bool{}}
	meters := otel.WithMeterProvider(provider{catalogue: c})
	_, err := otel.New(meters)
	require.NoError(t, err)
	none := func(context.Context) (int64, error) { return 0, nil }
	_, err = otel.ObserveLength("q", none, meters)
	require.NoError(t, err)
	_, err = otel.ObserveLag("q", "g", none, meters)
	require.NoError(t, err)
	require.NotEmpty(t, c.names)
	return c
}

var (
	metricName = regexp.MustCompile("`(rueidisson\\.[a-z_.]+)`")
	promName   = regexp.MustCompile(`\brueidisson_[a-z_]+`)
	grouping   = regexp.MustCompile(`by \(([^)]*)\)`)
	legend     = regexp.MustCompile(`{{(\w+)}}`)
)

// attributes are the keys of attributes, as Prometheus has them.
func attributes(t *testing.T) map[string]bool {
	t.Helper()
	source, err := os.ReadFile("../docs/metrics.md")
	require.NoError(t, err)
	all := map[string]bool{"error_type": true, "job": true, "le": true}
	for _, name := range regexp.MustCompile(`rueidisson\.(kind|handed|script|limiter|outcome|by|shadow|cache|event|queue|group)\b`).
		FindAllString(string(source), -1) {
		all[strings.ReplaceAll(name, ".", "_")] = true
	}
	return all
}

// TestOperationsPageNamesMetricsThatAreMade compares docs/operations.md with the metrics, in both directions.
func TestOperationsPageNamesMetricsThatAreMade(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/operations.md")
	require.NoError(t, err)
	c := made(t)
	named := map[string]bool{}
	for _, m := range metricName.FindAllStringSubmatch(string(page), -1) {
		named[m[1]] = true
	}
	assert.Equal(t, c.names, named, "docs/operations.md names each metric")
	checkExpressions(t, c, string(page[strings.Index(string(page), "```yaml"):]))
}

// TestDashboardUsesMetricsThatAreMade checks the expressions and legends of the dashboard.
func TestDashboardUsesMetricsThatAreMade(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../docs/grafana/rueidisson.json")
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	require.NoError(t, json.Unmarshal(source, &dashboard))
	c := made(t)
	ids, shown := map[int]bool{}, 0
	for _, p := range dashboard.Panels {
		assert.False(t, ids[p.ID], "two panels with the id %d", p.ID)
		ids[p.ID] = true
		if p.Type == "row" {
			continue
		}
		assert.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			shown++
			checkExpressions(t, c, target.Expr)
			for _, l := range legend.FindAllStringSubmatch(target.LegendFormat, -1) {
				assert.Contains(t, target.Expr, l[1], "%s: the legend shows a label that is not kept", p.Title)
			}
		}
	}
	assert.Greater(t, shown, 30)
}

// checkExpressions checks that each name in PromQL is a metric or an attribute.
func checkExpressions(t *testing.T, c *catalogue, text string) {
	t.Helper()
	known := attributes(t)
	for _, name := range promName.FindAllString(text, -1) {
		assert.True(t, c.prometheus[name] || known[name], "%s is neither a metric nor an attribute", name)
	}
	for _, by := range grouping.FindAllStringSubmatch(text, -1) {
		for name := range strings.SplitSeq(by[1], ",") {
			assert.True(t, known[strings.TrimSpace(name)], "by (%s): %s is no attribute", by[1], name)
		}
	}
}
