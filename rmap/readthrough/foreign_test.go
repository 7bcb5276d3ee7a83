package readthrough

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
	"github.com/rueidisson/rueidisson/rmap/writethrough"
)

// TestALeaseOfWhoTellsNobody is Redisson's: what comes of its load is found out by
// looking, and long before its lease ends.
func TestALeaseOfWhoTellsNobody(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	name := maptest.CacheNamed(t, raw)
	m := rmap.NewCache[string, int](maptest.EngineOn(t, raw), name)
	lease := keys.MapLease(name) + "k"
	lasts := raw.B().Set().Key(lease).Value("0123456789abcdef0123456789abcdef").PxMilliseconds(int64(time.Hour / time.Millisecond)).Build()
	require.NoError(t, raw.Do(t.Context(), lasts).Error())
	l := New(m, func(context.Context, string) (int, bool, error) {
		assert.Fail(t, "it is loaded twice")
		return 0, false, nil
	})
	got := make(chan int, 1)
	go func() {
		v, _, err := l.Get(t.Context(), "k")
		assert.NoError(t, err)
		got <- v
	}()
	redistest.Eventually(t, func() bool { return l.aboard("k") == 1 }, maptest.Soon, time.Millisecond)
	time.Sleep(20 * time.Millisecond)
	select {
	case <-got:
		t.Fatal("there is nothing yet")
	default:
	}
	require.NoError(t, m.Put(t.Context(), "k", 7)) // which ends the lease, and tells nobody either
	select {
	case v := <-got:
		require.Equal(t, 7, v)
	case <-time.After(2 * time.Second): // and not when it looks of its own accord
		t.Fatal("it has not looked")
	}
}

// TestLoadingOnANativeMap loads with the handle's times, and a server that has none
// for entries says so.
func TestLoadingOnANativeMap(t *testing.T) {
	t.Parallel()
	t.Run("8.0", func(t *testing.T) {
		t.Parallel()
		raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
		m := rmap.NewTTLMap[string, int](maptest.EngineOn(t, raw), maptest.Named(t, raw), rmap.WithTTL(time.Hour))
		l := New(m, maptest.Quick)
		v, there, err := l.Get(t.Context(), "5")
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, 5, v)
		left, err := m.TTL(t.Context(), "5")
		require.NoError(t, err)
		require.Greater(t, left, 59*time.Minute)
		did, err := m.Touch(t.Context(), "5", rmap.WithTTL(time.Millisecond))
		require.NoError(t, err)
		require.True(t, did)
		redistest.Eventually(t, func() bool {
			has, err := m.Has(t.Context(), "5")
			return err == nil && !has
		}, maptest.Soon, time.Millisecond)
		_, there, err = l.Get(t.Context(), "5") // again
		require.NoError(t, err)
		require.True(t, there)
		maptest.NothingIsLeft(t, raw, m.Name())
	})
	t.Run("7.0", func(t *testing.T) {
		t.Parallel()
		raw := redistest.Shared(t).Client(t)
		for ttl, opts := range map[string][]rmap.CacheOption{"none": nil, "an hour": {rmap.WithTTL(time.Hour)}} {
			m := rmap.NewTTLMap[string, int](maptest.EngineOn(t, raw), maptest.Named(t, raw), maptest.As[rmap.TTLMapOption](opts)...)
			l := New(m, maptest.Quick)
			w := writethrough.New(m, stored, writethrough.WithBehind(10), writethrough.WithWriteDelay(5*time.Millisecond))
			through := writethrough.New(m, func(context.Context, []writethrough.Change[string, int]) error {
				assert.Fail(t, "the store was written, and the map cannot be")
				return nil
			})
			for what, on := range map[string]rmap.Mapping[string, int]{"loading": l, "behind": w, "through": through} {
				for name, op := range mapkinds.OperationsOf {
					require.ErrorContains(t, op(t.Context(), on), "7.4", "%s: %s, %s", what, name, ttl)
				}
			}
			exists, err := raw.Do(t.Context(), raw.B().Exists().Key(m.Name(), keys.MapWrites(m.Name())).Build()).AsInt64()
			require.NoError(t, err)
			require.Zero(t, exists)
		}
	})
}
