package rmap

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/fieldttl"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

func newNative(t *testing.T, opts ...TTLMapOption) (*TTLMap[string, int], rueidis.Client) {
	t.Helper()
	raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
	return NewTTLMap[string, int](maptest.EngineOn(t, raw), maptest.Named(t, raw), opts...), raw
}

func TestEntriesOfANativeMapGoByThemselves(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]TTLMapOption{"without ids": nil, "with ids": {WithRequestIDs()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _ := newNative(t, opts...)
			ctx := t.Context()
			hour := func(k string) {
				t.Helper()
				left, err := m.TTL(ctx, k)
				require.NoError(t, err)
				require.Greater(t, left, 59*time.Minute)
				require.LessOrEqual(t, left, time.Hour)
			}
			ttl := func(k string, want time.Duration) {
				t.Helper()
				left, err := m.TTL(ctx, k)
				require.NoError(t, err)
				require.Equal(t, want, left)
			}
			ttl("k", 0)
			require.NoError(t, m.Put(ctx, "k", 1, WithTTL(time.Hour)))
			hour("k")
			require.NoError(t, m.Put(ctx, "k", 2, WithKeepTTL()))
			hour("k")
			require.NoError(t, m.Put(ctx, "k", 3))
			ttl("k", -1)
			require.NoError(t, m.Put(ctx, "k", 4, WithKeepTTL()))
			ttl("k", -1)
			require.NoError(t, m.PutMany(ctx, map[string]int{"a": 1, "b": 2}, WithTTL(time.Hour)))
			hour("a")
			hour("b")
			did, err := m.Touch(ctx, "a")
			require.NoError(t, err)
			require.True(t, did)
			hour("a")
			did, err = m.Touch(ctx, "a", WithTTL(0))
			require.NoError(t, err)
			require.True(t, did)
			ttl("a", -1)
			did, err = m.Touch(ctx, "a", WithTTL(time.Hour))
			require.NoError(t, err)
			require.True(t, did)
			hour("a")
			did, err = m.Touch(ctx, "none", WithTTL(time.Hour))
			require.NoError(t, err)
			require.False(t, did)
			old, had, err := m.Swap(ctx, "s", 1, WithTTL(time.Hour))
			require.NoError(t, err)
			require.False(t, had)
			require.Zero(t, old)
			hour("s")
			did, err = m.Replace(ctx, "s", 2, WithKeepTTL())
			require.NoError(t, err)
			require.True(t, did)
			hour("s")
			_, did, err = m.PutIfAbsent(ctx, "p", 1, WithTTL(time.Hour))
			require.NoError(t, err)
			require.True(t, did)
			hour("p")
			did, err = m.CompareAndSwap(ctx, "p", 1, 2, WithKeepTTL())
			require.NoError(t, err)
			require.True(t, did)
			hour("p")
			require.NoError(t, m.Put(ctx, "soon", 1, WithTTL(time.Millisecond)))
			require.Eventually(t, func() bool {
				_, there, err := m.Get(ctx, "soon")
				return err == nil && !there
			}, maptest.Soon, time.Millisecond)
		})
	}
}

func TestAHandleHasATimeToLiveForEveryWrite(t *testing.T) {
	t.Parallel()
	m, _ := newNative(t, WithTTL(time.Hour), WithCodec(codec.Text))
	_, _, err := m.Compute(t.Context(), "c", increment)
	require.NoError(t, err)
	n, err := Add(t.Context(), m, "a", 2)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	for _, k := range []string{"c", "a"} {
		left, err := m.TTL(t.Context(), k)
		require.NoError(t, err)
		require.Greater(t, left, 59*time.Minute, k)
	}
}

// natives is every operation of a native map.
var natives = map[string]func(ctx context.Context, m *TTLMap[string, int]) error{
	"get":      func(ctx context.Context, m *TTLMap[string, int]) error { _, _, err := m.Get(ctx, "k"); return err },
	"put":      func(ctx context.Context, m *TTLMap[string, int]) error { return m.Put(ctx, "k", 1) },
	"put ttl":  func(ctx context.Context, m *TTLMap[string, int]) error { return m.Put(ctx, "k", 1, WithTTL(time.Hour)) },
	"put keep": func(ctx context.Context, m *TTLMap[string, int]) error { return m.Put(ctx, "k", 1, WithKeepTTL()) },
	"many": func(ctx context.Context, m *TTLMap[string, int]) error {
		return m.PutMany(ctx, map[string]int{"k": 1}, WithTTL(time.Hour))
	},
	"swap": func(ctx context.Context, m *TTLMap[string, int]) error {
		_, _, err := m.Swap(ctx, "k", 1, WithTTL(time.Hour))
		return err
	},
	"if absent": func(ctx context.Context, m *TTLMap[string, int]) error {
		_, _, err := m.PutIfAbsent(ctx, "k", 1, WithTTL(time.Hour))
		return err
	},
	"compute": func(ctx context.Context, m *TTLMap[string, int]) error {
		_, _, err := m.Compute(ctx, "k", increment)
		return err
	},
	"ttl":   func(ctx context.Context, m *TTLMap[string, int]) error { _, err := m.TTL(ctx, "k"); return err },
	"touch": func(ctx context.Context, m *TTLMap[string, int]) error { _, err := m.Touch(ctx, "k"); return err },
	"all": func(ctx context.Context, m *TTLMap[string, int]) error {
		for _, err := range m.All(ctx) {
			return err
		}
		return nil
	},
}

// TestAnOlderServerIsNamedAndNothingIsLeftBehind also has the client believe
// that the server can, as after a failover to an older one.
func TestAnOlderServerIsNamedAndNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	for says, raw := range map[string]rueidis.Client{
		"Redis 7.0.":  redistest.Shared(t).Client(t),
		"Valkey 8.1.": redistest.Shared(t, redistest.Version("valkey-8.1")).Client(t),
		"miniredis":   maptest.MiniredisClient(t),
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			m := NewTTLMap[string, int](maptest.EngineOn(t, raw), maptest.Named(t, raw), WithTTL(time.Minute))
			for name, op := range natives {
				fieldttl.Of(m.m.Hub.Engine).Note(m.m.Key, false)
				err := op(t.Context(), m)
				require.ErrorIs(t, err, errors.ErrUnsupported, name)
				require.ErrorContains(t, err, says, name)
				if name == "get" || name == "all" || name == "ttl" { // as a plain map, or as miniredis can
					continue
				}
				fieldttl.Of(m.m.Hub.Engine).Note(m.m.Key, true)
				require.ErrorIs(t, op(t.Context(), m), errors.ErrUnsupported, name)
				require.False(t, fieldttl.Of(m.m.Hub.Engine).Known(m.m.Key))
			}
			n, err := raw.Do(t.Context(), raw.B().Exists().Key(m.m.Key).Build()).AsInt64()
			require.NoError(t, err)
			require.Zero(t, n, "nothing was written")
		})
	}
}
