package rmap

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

type product struct {
	Name string
	Tags []string
}

// suite is what a map does, on every server, with request ids and without.
var suite = map[string]func(t *testing.T, e *locking.Engine, name string, opts []MapOption){
	"entries come and go": func(t *testing.T, e *locking.Engine, name string, opts []MapOption) {
		m, ctx := New[int64, product](e, name, opts...), t.Context()
		tea := product{"tea", []string{"a", "b"}}
		require.NoError(t, m.Put(ctx, 42, tea))
		got, there, err := m.Get(ctx, 42)
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, tea, got)
		_, there, err = m.Get(ctx, 43)
		require.NoError(t, err)
		require.False(t, there)
		there, err = m.Has(ctx, 42)
		require.NoError(t, err)
		require.True(t, there)
		n, err := m.Len(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		old, had, err := m.Swap(ctx, 42, product{Name: "coffee"})
		require.NoError(t, err)
		require.True(t, had)
		require.Equal(t, tea, old)
		old, had, err = m.Swap(ctx, 1, tea)
		require.NoError(t, err)
		require.False(t, had)
		require.Zero(t, old)
		took, had, err := m.Take(ctx, 1)
		require.NoError(t, err)
		require.True(t, had)
		require.Equal(t, tea, took)
		_, had, err = m.Take(ctx, 1)
		require.NoError(t, err)
		require.False(t, had)
		n, err = m.Remove(ctx, 42, 43, 44)
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		require.NoError(t, m.Put(ctx, 42, tea))
		require.NoError(t, m.Clear(ctx))
		there, err = m.Exists(ctx)
		require.NoError(t, err)
		require.False(t, there)
	},
	"only if": func(t *testing.T, e *locking.Engine, name string, opts []MapOption) {
		m, ctx := New[string, string](e, name, opts...), t.Context()
		did, err := m.Replace(ctx, "k", "a")
		require.NoError(t, err)
		require.False(t, did)
		now, stored, err := m.PutIfAbsent(ctx, "k", "b")
		require.NoError(t, err)
		require.True(t, stored)
		require.Equal(t, "b", now)
		now, stored, err = m.PutIfAbsent(ctx, "k", "c")
		require.NoError(t, err)
		require.False(t, stored)
		require.Equal(t, "b", now)
		did, err = m.Replace(ctx, "k", "d")
		require.NoError(t, err)
		require.True(t, did)
		for _, c := range []struct {
			old string
			did bool
		}{{"b", false}, {"d", true}, {"d", false}} {
			did, err = m.CompareAndSwap(ctx, "k", c.old, "e")
			require.NoError(t, err)
			require.Equal(t, c.did, did, c.old)
		}
		did, err = m.CompareAndRemove(ctx, "k", "d")
		require.NoError(t, err)
		require.False(t, did)
		did, err = m.CompareAndRemove(ctx, "k", "e")
		require.NoError(t, err)
		require.True(t, did)
		did, err = m.CompareAndSwap(ctx, "k", "", "f")
		require.NoError(t, err)
		require.False(t, did, "nothing is not the empty text")
	},
	"many": func(t *testing.T, e *locking.Engine, name string, opts []MapOption) {
		m, ctx := New[int, int](e, name, opts...), t.Context()
		want := map[int]int{}
		for i := range 6000 {
			want[i] = -i
		}
		require.NoError(t, m.PutMany(ctx, want))
		got, err := m.GetMany(ctx, append(slices.Collect(maps.Keys(want)), 7000)...)
		require.NoError(t, err)
		require.Equal(t, want, got)
		walked := map[int]int{}
		for entry, err := range m.All(ctx) {
			require.NoError(t, err)
			walked[entry.Key] = entry.Value
		}
		require.Equal(t, want, walked)
		var some []int
		for k, err := range m.Keys(ctx, WithMatch("599?")) {
			require.NoError(t, err)
			some = append(some, k)
		}
		require.Len(t, some, 10)
		n, err := m.Remove(ctx, slices.Collect(maps.Keys(want))...)
		require.NoError(t, err)
		require.EqualValues(t, 6000, n)
		none, err := m.GetMany(ctx)
		require.NoError(t, err)
		require.Empty(t, none)
		require.NoError(t, m.PutMany(ctx, nil))
		n, err = m.Remove(ctx)
		require.NoError(t, err)
		require.Zero(t, n)
	},
	"compute": func(t *testing.T, e *locking.Engine, name string, opts []MapOption) {
		m, ctx := New[string, int](e, name, opts...), t.Context()
		count := func(old int, had bool) (int, Verdict, error) { return old + 1, Store, nil }
		for i := range 3 {
			n, there, err := m.Compute(ctx, "k", count)
			require.NoError(t, err)
			require.True(t, there)
			require.Equal(t, i+1, n)
		}
		n, there, err := m.Compute(ctx, "k", func(old int, had bool) (int, Verdict, error) { return 9, Keep, nil })
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, 3, n)
		wrong := errors.New("wrong")
		_, _, err = m.Compute(ctx, "k", func(int, bool) (int, Verdict, error) { return 9, Store, wrong })
		require.ErrorIs(t, err, wrong)
		n, there, err = m.Compute(ctx, "k", func(int, bool) (int, Verdict, error) { return 9, Delete, nil })
		require.NoError(t, err)
		require.False(t, there)
		require.Zero(t, n)
		_, there, err = m.Compute(ctx, "k", func(_ int, had bool) (int, Verdict, error) {
			require.False(t, had)
			return 0, Delete, nil
		})
		require.NoError(t, err)
		require.False(t, there)
	},
	"add": func(t *testing.T, e *locking.Engine, name string, opts []MapOption) {
		ctx := t.Context()
		opts = append(opts, WithCodec(codec.Text))
		n, err := Add(ctx, New[string, int](e, name, opts...), "i", 1<<60+1)
		require.NoError(t, err)
		require.Equal(t, 1<<60+1, n)
		small := New[string, int8](e, name, opts...)
		one, err := Add(ctx, small, "s", 120)
		require.NoError(t, err)
		require.EqualValues(t, 120, one)
		_, err = Add(ctx, small, "s", 8)
		require.ErrorIs(t, err, ErrInvalidArgument)
		one, _, err = small.Get(ctx, "s")
		require.NoError(t, err)
		require.EqualValues(t, 120, one)
		_, err = Add(ctx, small, "s", -128)
		require.NoError(t, err)
		f, err := Add(ctx, New[string, float64](e, name, opts...), "f", 1.5)
		require.NoError(t, err)
		require.Equal(t, 1.5, f)
	},
	"the whole of it": func(t *testing.T, e *locking.Engine, name string, opts []MapOption) {
		m, ctx := New[string, int](e, name, opts...), t.Context()
		left, err := m.Remaining(ctx)
		require.NoError(t, err)
		require.Zero(t, left)
		did, err := m.Expire(ctx, time.Hour)
		require.NoError(t, err)
		require.False(t, did)
		require.NoError(t, m.Put(ctx, "k", 1))
		left, err = m.Remaining(ctx)
		require.NoError(t, err)
		require.EqualValues(t, -1, left)
		did, err = m.Expire(ctx, time.Hour)
		require.NoError(t, err)
		require.True(t, did)
		left, err = m.Remaining(ctx)
		require.NoError(t, err)
		require.Greater(t, left, 59*time.Minute)
		did, err = m.Persist(ctx)
		require.NoError(t, err)
		require.True(t, did)
		did, err = m.Persist(ctx)
		require.NoError(t, err)
		require.False(t, did)
		other := "new:{" + name + "}"
		if e.Cluster() {
			_, err = m.Rename(ctx, "elsewhere")
			require.ErrorIs(t, err, ErrInvalidArgument)
		}
		did, err = m.Rename(ctx, other)
		require.NoError(t, err)
		require.True(t, did)
		did, err = m.Rename(ctx, other)
		require.NoError(t, err)
		require.False(t, did)
		n, there, err := New[string, int](e, other).Get(ctx, "k")
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, 1, n)
		did, err = New[string, int](e, other, opts...).Delete(ctx)
		require.NoError(t, err)
		require.True(t, did)
		did, err = m.Delete(ctx)
		require.NoError(t, err)
		require.False(t, did)
	},
}

func TestSuite(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e := maptest.EngineOn(t, raw)
		for name, test := range suite {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				t.Run("without ids", func(t *testing.T) { test(t, e, maptest.Named(t, raw), nil) })
				t.Run("with ids", func(t *testing.T) { test(t, e, maptest.Named(t, raw), []MapOption{WithRequestIDs()}) })
			})
		}
	})
}
