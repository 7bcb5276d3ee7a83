package counter

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m, fleet) }

var soon = redistest.Soon

// engineOn returns an engine on a client that somebody else closes.
var engineOn = enginetest.On

var onServers, onReal, named = redistest.OnServers, redistest.OnReal, redistest.Named

var through = redistest.ThroughProxy

// textOf returns what a key holds as a string, "-" if there is none.
func textOf(t testing.TB, raw rueidis.Client, key string) string {
	t.Helper()
	s, err := raw.Do(context.Background(), raw.B().Get().Key(key).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return "-"
	}
	require.NoError(t, err)
	return s
}

func setText(t testing.TB, raw rueidis.Client, key, text string) {
	t.Helper()
	require.NoError(t, raw.Do(context.Background(), raw.B().Set().Key(key).Value(text).Build()).Error())
}

func ttlOf(t testing.TB, raw rueidis.Client, key string) int64 {
	t.Helper()
	n, err := raw.Do(context.Background(), raw.B().Pttl().Key(key).Build()).AsInt64()
	require.NoError(t, err)
	return n
}

// is checks a number that an operation returns.
func is[N comparable](t testing.TB, want N) func(n N, err error) {
	return func(n N, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
}

// operation is one of any object, and whether it writes.
type operation struct {
	do     func(ctx context.Context, e *locking.Engine, name string) error
	reads  bool // changes nothing
	blind  bool // replaces or deletes whatever the key holds
	grows  bool // may be sent again without a slot
	counts bool // has a slot
}

func last[T any](_ T, err error) error { return err }

// operations are those of all objects that talk to the server.
var operations = map[string]operation{
	"counter get": {reads: true, do: func(ctx context.Context, e *locking.Engine, name string) error { return last(New(e, name).Get(ctx)) }},
	"counter add": {do: func(ctx context.Context, e *locking.Engine, name string) error { return last(New(e, name).Add(ctx, 2)) }},
	"counter add with a time to live": {do: func(ctx context.Context, e *locking.Engine, name string) error {
		return last(New(e, name, WithTTL(soon)).Add(ctx, 2))
	}},
	"counter add under a slot": {counts: true, do: func(ctx context.Context, e *locking.Engine, name string) error {
		return last(New(e, name, WithRequestIDs()).Add(ctx, 2))
	}},
	"counter set": {blind: true, do: func(ctx context.Context, e *locking.Engine, name string) error { return New(e, name).Set(ctx, 3) }},
	"counter set if absent": {blind: true, do: func(ctx context.Context, e *locking.Engine, name string) error {
		return last(New(e, name).SetIfAbsent(ctx, 3))
	}},
	"counter swap": {do: func(ctx context.Context, e *locking.Engine, name string) error {
		return last(New(e, name).Swap(ctx, 3))
	}},
	"counter take": {do: func(ctx context.Context, e *locking.Engine, name string) error { return last(New(e, name).Take(ctx)) }},
	"counter compare, swap": {do: func(ctx context.Context, e *locking.Engine, name string) error {
		return last(New(e, name).CompareAndSwap(ctx, 7, 8))
	}},
	"counter compare, clear": {do: func(ctx context.Context, e *locking.Engine, name string) error {
		return last(New(e, name).CompareAndDelete(ctx, 7))
	}},
	"counter raise": {do: func(ctx context.Context, e *locking.Engine, name string) error {
		return last(New(e, name).Raise(ctx, 9))
	}},
	"counter lower": {do: func(ctx context.Context, e *locking.Engine, name string) error {
		return last(New(e, name).Lower(ctx, 5))
	}},
	"counter delete": {blind: true, do: func(ctx context.Context, e *locking.Engine, name string) error { return last(New(e, name).Delete(ctx)) }},

	"float get": {reads: true, do: func(ctx context.Context, e *locking.Engine, name string) error {
		return last(NewFloat(e, name).Get(ctx))
	}},
	"float add": {do: func(ctx context.Context, e *locking.Engine, name string) error {
		return last(NewFloat(e, name).Add(ctx, 0.5))
	}},
	"float set": {blind: true, do: func(ctx context.Context, e *locking.Engine, name string) error {
		return NewFloat(e, name).Set(ctx, 0.5)
	}},
	"float swap": {do: func(ctx context.Context, e *locking.Engine, name string) error {
		return last(NewFloat(e, name).Swap(ctx, 0.5))
	}},
	"float compare, swap": {do: func(ctx context.Context, e *locking.Engine, name string) error {
		return last(NewFloat(e, name).CompareAndSwap(ctx, 7, 8))
	}},

	"ids init": {blind: true, do: func(ctx context.Context, e *locking.Engine, name string) error {
		return last(NewIDs(e, name).Init(ctx, 7, 3))
	}},
	"ids next": {grows: true, do: func(ctx context.Context, e *locking.Engine, name string) error {
		return last(NewIDs(e, name).Next(ctx))
	}},
	"ids range": {grows: true, do: func(ctx context.Context, e *locking.Engine, name string) error {
		_, _, err := NewIDs(e, name).Range(ctx, 9_000)
		return err
	}},

	"distinct add": {grows: true, do: func(ctx context.Context, e *locking.Engine, name string) error {
		return NewDistinct[string](e, name).Add(ctx, "a")
	}},
	"distinct count": {reads: true, do: func(ctx context.Context, e *locking.Engine, name string) error {
		return last(NewDistinct[string](e, name).Count(ctx))
	}},
	"distinct merge": {grows: true, do: func(ctx context.Context, e *locking.Engine, name string) error {
		return NewDistinct[string](e, name).Merge(ctx, name)
	}},

	"adder": {counts: true, do: func(ctx context.Context, e *locking.Engine, name string) error {
		a := NewAdder(e, name)
		return errors.Join(a.Add(ctx, 2), a.Flush(ctx))
	}},
	"adder sum": {reads: true, do: func(ctx context.Context, e *locking.Engine, name string) error {
		return last(NewAdder(e, name).Sum(ctx))
	}},
}
