package rmap

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// bytesOf is what the entries of a cache weigh, and what is counted.
func bytesOf(t testing.TB, raw rueidis.Client, key string) (bytes, counted int64) {
	t.Helper()
	all, err := raw.Do(context.Background(), raw.B().Hgetall().Key(key).Build()).AsStrMap()
	require.NoError(t, err)
	for k, v := range all {
		bytes += int64(len(k) + len(v))
	}
	counted, err = raw.Do(context.Background(), raw.B().Hget().Key(keys.MapOptions(key)).Field("rueidisson-bytes").Build()).AsInt64()
	require.NoError(t, err)
	return bytes, counted
}

// countsRight checks that what is counted of a cache with a bound by bytes is what there is, once all is over.
func countsRight(t testing.TB, raw rueidis.Client, key string) {
	bytes, counted := bytesOf(t, raw, key)
	assert.Equal(t, bytes, counted)
}

// TestACacheHasNoMoreBytesThanItMay: from many goroutines and two clients, with entries of all sizes.
func TestACacheHasNoMoreBytesThanItMay(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		const most = 50_000
		key := maptest.CacheNamed(t, raw)
		var handles []*Cache[string, string]
		for range 2 {
			handles = append(handles, NewCache[string, string](maptest.EngineOn(t, raw), key, WithCodec(codec.Text)))
		}
		require.NoError(t, handles[0].SetMaxBytes(t.Context(), most, LFU))
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				m, random := handles[i%2], rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(i)))
				for range maptest.Rounds(t, 60, 5000) {
					k := fmt.Sprint(random.IntN(200))
					var err error
					switch random.IntN(8) {
					case 0:
						_, _, err = m.Get(t.Context(), k)
					case 1:
						_, err = m.Remove(t.Context(), k)
					case 2:
						err = m.PutMany(t.Context(), map[string]string{k: "v", k + "x": strings.Repeat("v", random.IntN(2000))})
					default:
						err = m.Put(t.Context(), k, strings.Repeat("v", random.IntN(3000)), WithTTL(time.Hour))
					}
					assert.NoError(t, err)
					assert.LessOrEqual(t, maptest.IntOf(t, raw, "HGET", keys.MapOptions(key), "rueidisson-bytes"), int64(most))
				}
			})
		}
		all.Wait()
		bytes, counted := bytesOf(t, raw, key)
		require.Equal(t, bytes, counted)
		require.LessOrEqual(t, bytes, int64(most))
		require.Greater(t, bytes, int64(most/2), "it holds what it may")
		n, by, err := handles[1].MaxBytes(t.Context())
		require.NoError(t, err)
		require.Equal(t, []any{int64(most), LFU}, []any{n, by})
	})
}

// TestABoundByBytesThatIsLowered has what is too much go behind the call, and be told of.
func TestABoundByBytesThatIsLowered(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		w := &maptest.Watcher{Events: map[string]int{}}
		m := NewCache[string, string](maptest.EngineOn(t, raw, func(c *core.Config) { c.Caches = w }), maptest.CacheNamed(t, raw), WithCodec(codec.Text))
		many := map[string]string{}
		for i := range 400 {
			many[fmt.Sprintf("%04d", i)] = strings.Repeat("v", 80)
		}
		require.NoError(t, m.PutMany(t.Context(), many)) // each has 100 bytes
		require.NoError(t, m.SetMaxBytes(t.Context(), 12_300, LRU))
		redistest.Eventually(t, func() bool { n, err := m.Len(t.Context()); return err == nil && n == 123 }, maptest.Soon, 5*time.Millisecond)
		redistest.Eventually(t, func() bool { return w.Evicted() == 277 }, maptest.Soon, 5*time.Millisecond)
		require.NoError(t, m.Put(t.Context(), "new", strings.Repeat("v", 200)))
		n, err := m.Len(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 121, n, "three go for it")
		require.NoError(t, m.Put(t.Context(), "large", strings.Repeat("v", 20_000)))
		there, err := m.Has(t.Context(), "large")
		require.NoError(t, err)
		require.False(t, there, "more than all may be")
		require.NoError(t, m.Clear(t.Context()))
		require.NoError(t, m.Put(t.Context(), "again", "v"))
		bytes, counted := bytesOf(t, raw, m.Name())
		require.Equal(t, bytes, counted)
		to := m.Name() + "-new"
		t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(mapstore.ObjectOf(to)...).Build()) })
		_, err = m.Rename(t.Context(), to)
		require.NoError(t, err)
		most, _, err := NewCache[string, string](m.m.Hub.Engine, to).MaxBytes(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 12_300, most, "the bound goes with the cache")
	})
}
