package rmap

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestNativeEntryThatHasEndedStaysEnded where the server has not reaped it yet: to touch
// it does not bring it back, and to remove it counts nothing.
func TestNativeEntryThatHasEndedStaysEnded(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Version("8.0"), redistest.Config("enable-debug-command", "yes"))
	raw := server.Client(t)
	maptest.Raws(t, raw, "DEBUG SET-ACTIVE-EXPIRE 0")
	for name, opts := range map[string][]TTLMapOption{
		"plain": nil, "with ids": {WithRequestIDs()}, "announced": {WithAnnounce()},
	} {
		m, ctx := NewTTLMap[string, int](maptest.EngineOn(t, raw), name, opts...), t.Context()
		require.NoError(t, m.PutMany(ctx, map[string]int{"stays": 1, "gone": 2}))
		require.NoError(t, m.PutMany(ctx, map[string]int{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}, WithTTL(time.Millisecond)))
		require.Eventually(t, func() bool { there, err := m.Has(ctx, "f"); return err == nil && !there }, maptest.Soon, time.Millisecond)
		n, err := m.Len(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 7, n, "f was reaped when it was looked at, the others were not")
		back := redistest.Do(t, raw, "HPEXPIRE", name, "3600000", "FIELDS", "1", "d")
		did, err := back.AsIntSlice()
		require.NoError(t, err)
		require.Equal(t, []int64{1}, did, "the server itself brings one back")
		require.EqualValues(t, 1, maptest.IntOf(t, raw, "HDEL", name, "e"), "and counts one")
		for _, d := range []time.Duration{time.Hour, 0} {
			there, err := m.Touch(ctx, "a", WithTTL(d))
			require.NoError(t, err, name)
			require.False(t, there, name)
			there, err = m.Has(ctx, "a")
			require.NoError(t, err)
			require.False(t, there, "%s: it came back", name)
		}
		n, err = m.Remove(ctx, "b", "c", "gone", "gone", "none")
		require.NoError(t, err)
		require.EqualValues(t, 1, n, name)
		_, had, err := m.Take(ctx, "a")
		require.NoError(t, err)
		require.False(t, had, name)
	}
}

// TestTouchWithoutTimesChangesNothing, of both kinds of map whose entries end, and
// WithTTL(0) takes an end away.
func TestTouchWithoutTimesChangesNothing(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
	e, ctx := maptest.EngineOn(t, raw), t.Context()
	type ending interface {
		Mapping[string, int]
		touching
	}
	for name, m := range map[string]ending{
		"native": NewTTLMap[string, int](e, maptest.Named(t, raw), WithCodec(maptest.TextFamily)),
		"cache":  NewCache[string, int](e, maptest.CacheNamed(t, raw), WithCodec(maptest.TextFamily)),
	} {
		left := func(k string) time.Duration {
			t.Helper()
			d, err := m.TTL(ctx, k)
			require.NoError(t, err, name)
			return d
		}
		require.NoError(t, m.Put(ctx, "k", 1, WithTTL(time.Hour)))
		there, err := m.Touch(ctx, "k")
		require.NoError(t, err, name)
		require.True(t, there, name)
		require.Greater(t, left("k"), 59*time.Minute, name)
		there, err = m.Touch(ctx, "none")
		require.NoError(t, err, name)
		require.False(t, there, name)
		there, err = m.Touch(ctx, "k", WithTTL(0))
		require.NoError(t, err, name)
		require.True(t, there, name)
		require.EqualValues(t, -1, left("k"), name)
	}
}

// TestWithTTLOfZeroIsNoEnd, whatever the handle says and the entry has.
func TestWithTTLOfZeroIsNoEnd(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
	e, ctx := maptest.EngineOn(t, raw), t.Context()
	type ending interface {
		Mapping[string, int]
		touching
	}
	hour := []TTLMapOption{WithCodec(maptest.TextFamily), WithTTL(time.Hour)}
	for name, m := range map[string]ending{
		"native": NewTTLMap[string, int](e, maptest.Named(t, raw), hour...),
		"cache":  NewCache[string, int](e, maptest.CacheNamed(t, raw), maptest.As[CacheOption](hour)...),
	} {
		for what, write := range map[string]func(k string) error{
			"put":  func(k string) error { return m.Put(ctx, k, 2, WithTTL(0)) },
			"many": func(k string) error { return m.PutMany(ctx, map[string]int{k: 2}, WithTTL(0)) },
			"swap": func(k string) error { _, _, err := m.Swap(ctx, k, 2, WithTTL(0)); return err },
			"replace": func(k string) error {
				did, err := m.Replace(ctx, k, 2, WithTTL(0))
				require.True(t, did)
				return err
			},
			"compare and swap": func(k string) error {
				did, err := m.CompareAndSwap(ctx, k, 1, 2, WithTTL(0))
				require.True(t, did)
				return err
			},
		} {
			require.NoError(t, m.Put(ctx, what, 1))
			left, err := m.TTL(ctx, what)
			require.NoError(t, err)
			require.Greater(t, left, 59*time.Minute, "%s: of the handle", name)
			require.NoError(t, write(what), "%s: %s", name, what)
			left, err = m.TTL(ctx, what)
			require.NoError(t, err)
			require.EqualValues(t, -1, left, "%s: %s", name, what)
			v, there, err := m.Get(ctx, what)
			require.NoError(t, err)
			require.True(t, there, "%s: %s", name, what)
			require.Equal(t, 2, v)
		}
	}
}
