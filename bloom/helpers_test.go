package bloom

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m, fleet) }

var soon = redistest.Soon

// engineOn returns an engine on a client that somebody else closes.
var engineOn = enginetest.On

var onServers, through = redistest.OnServers, redistest.ThroughProxy

// named returns a name whose keys are deleted when the test ends.
func named(t testing.TB, raw rueidis.Client) string {
	name := redistest.Named(t, raw)
	t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(keys.BloomConfig(name)).Build()) })
	return name
}

// is checks what an operation returns.
func is[N any](t testing.TB, want N) func(n N, err error) {
	return func(n N, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
}

func last[T any](_ T, err error) error { return err }

// values returns so many values that begin with a text.
func values(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint(prefix, i)
	}
	return all
}

// hset writes the config of a filter, or a part of it.
func hset(t testing.TB, raw rueidis.Client, name string, fields ...string) {
	t.Helper()
	redistest.Do(t, raw, append([]string{"HSET", keys.BloomConfig(name)}, fields...)...)
}

func number(t testing.TB, raw rueidis.Client, command ...string) int64 {
	t.Helper()
	msg := redistest.Do(t, raw, command...)
	n, err := msg.AsInt64()
	require.NoError(t, err)
	return n
}

// operation is one of a filter that exists, and whether it writes.
type operation struct {
	do    func(ctx context.Context, f *Filter[string]) error
	reads bool // changes nothing
	grows bool // may be sent again
}

// operations are those that talk to the server.
var operations = map[string]operation{
	"init":     {do: func(ctx context.Context, f *Filter[string]) error { return last(f.Init(ctx, 100, 0.01)) }},
	"add":      {grows: true, do: func(ctx context.Context, f *Filter[string]) error { return f.Add(ctx, "a") }},
	"add new":  {do: func(ctx context.Context, f *Filter[string]) error { return last(f.AddNew(ctx, "a", "b")) }},
	"has":      {reads: true, do: func(ctx context.Context, f *Filter[string]) error { return last(f.Has(ctx, "a")) }},
	"has each": {reads: true, do: func(ctx context.Context, f *Filter[string]) error { return last(f.HasEach(ctx, "a", "b")) }},
	"count":    {reads: true, do: func(ctx context.Context, f *Filter[string]) error { return last(f.Count(ctx)) }},
	"shape":    {reads: true, do: func(ctx context.Context, f *Filter[string]) error { return last(f.Shape(ctx)) }},
}

// made returns a handle on a filter, made on that engine, with the shape known.
func made(t testing.TB, e *locking.Engine, name string) *Filter[string] {
	t.Helper()
	f := New[string](e, name)
	is(t, true)(f.Init(context.Background(), 100, 0.01))
	return f
}
