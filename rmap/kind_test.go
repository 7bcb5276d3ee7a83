package rmap

import (
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestMapAndCacheUnderOneNameAreNoticed by what they read: a value that has the header of
// a cache's, or none.
func TestMapAndCacheUnderOneNameAreNoticed(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e, ctx := maptest.EngineOn(t, raw), t.Context()
		wrong := func(err error) {
			t.Helper()
			require.ErrorIs(t, err, ErrWrongKind)
			require.ErrorIs(t, err, ErrDecode)
		}
		for family, codecOf := range map[string]codec.Family{"msgpack": codec.Msgpack, "json": codec.JSON, "text": codec.Text} {
			name := maptest.CacheNamed(t, raw)
			m, c := New[string, string](e, name, WithCodec(codecOf)), NewCache[string, string](e, name, WithCodec(codecOf))
			require.NoError(t, c.Put(ctx, "k", "value"))
			require.NoError(t, c.Put(ctx, "idle", "value", WithMaxIdle(time.Hour)))
			for _, k := range []string{"k", "idle"} {
				_, _, err := m.Get(ctx, k)
				wrong(err)
				_, err = m.GetMany(ctx, k)
				wrong(err)
				_, _, err = m.Compute(ctx, k, func(string, bool) (string, Verdict, error) { return "no", Store, nil })
				wrong(err)
			}
			for _, err := range m.All(ctx) {
				wrong(err)
			}
			v, _, err := c.Get(ctx, "k")
			require.NoError(t, err, family)
			require.Equal(t, "value", v)
			require.NoError(t, m.Put(ctx, "plain", "a value that is longer than a header has bytes"))
			_, _, err = c.Get(ctx, "plain")
			wrong(err)
			v, _, err = m.Get(ctx, "plain")
			require.NoError(t, err, family)
			require.NotEmpty(t, v)
		}
	})
}

// TestMapValuesLikeAHeaderAreRead: bytes that somebody keeps are his own.
func TestMapValuesLikeAHeaderAreRead(t *testing.T) {
	t.Parallel()
	m, _ := fresh(t)
	b := New[string, []byte](m.m.Hub.Engine, m.Name(), WithValueCodec(codec.For[[]byte](codec.Bytes)))
	like := append(make([]byte, 8), 1, 0, 0, 0, 0, 0, 0, 0, 'x')
	for _, value := range [][]byte{make([]byte, 16), like, make([]byte, 17)} {
		require.NoError(t, b.Put(t.Context(), "k", value))
		got, _, err := b.Get(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, value, got)
	}
}
