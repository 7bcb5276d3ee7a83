package rmap

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// refusedAdd has a sum refused that N cannot hold: the entry is as it was.
func refusedAdd[N Number](t *testing.T, m Mapping[string, N], was, delta N) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, m.Put(ctx, "k", was))
	_, err := Add(ctx, m, "k", delta)
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.NotErrorIs(t, err, ErrDecode)
	v, there, err := m.Get(ctx, "k")
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, was, v)
	v, err = Add(ctx, m, "k", -was)
	require.NoError(t, err)
	require.Zero(t, v)
	v, err = Add(ctx, m, "none", was)
	require.NoError(t, err)
	require.Equal(t, was, v)
	_, err = m.Remove(ctx, "none")
	require.NoError(t, err)
}

// addKinds are the maps that are added to in different ways.
func addKinds[N Number](e *locking.Engine, name string) []Mapping[string, N] {
	text, ids := WithCodec(codec.Text), WithRequestIDs()
	return []Mapping[string, N]{
		New[string, N](e, name, text), New[string, N](e, name, text, ids),
		NewCache[string, N](e, name+"-cache", text), NewCache[string, N](e, name+"-cache", text, ids),
		NewSharded[string, N](e, name+"-sharded", 2, text),
	}
}

func TestASumThatIsOutOfBoundsChangesNothing(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e, name := maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw)
		t.Cleanup(func() {
			all := append(mapstore.ObjectOf(name+"-cache"), name)
			raw.Do(context.Background(), raw.B().Del().Key(all...).Build())
			_, _ = NewSharded[string, int](e, name+"-sharded", 2).Delete(context.Background())
		})
		for _, m := range addKinds[float64](e, name) {
			refusedAdd(t, m, 1.7e308, 1.7e308)
			refusedAdd(t, m, -1.7e308, -1.7e308)
		}
		for _, m := range addKinds[float32](e, name) {
			refusedAdd(t, m, math.MaxFloat32, math.MaxFloat32)
			refusedAdd(t, m, -3e38, -3e38)
		}
		for _, m := range addKinds[int8](e, name) {
			refusedAdd(t, m, 120, 100)
			refusedAdd(t, m, -127, -100)
		}
		for _, m := range addKinds[uint16](e, name)[:1] {
			require.NoError(t, m.Put(t.Context(), "k", 65535))
			_, err := Add(t.Context(), m, "k", 1)
			require.ErrorIs(t, err, ErrInvalidArgument)
		}
	})
}

// TestAnAddThatIsRefusedLeavesTheBytesAndTheEnd of an entry as they were.
func TestAnAddThatIsRefusedLeavesTheBytesAndTheEnd(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
	for was, add := range map[string]func(ctx context.Context, e *locking.Engine, name string) error{
		"120": func(ctx context.Context, e *locking.Engine, name string) error {
			_, err := Add(ctx, NewTTLMap[string, int8](e, name, WithCodec(codec.Text), WithTTL(time.Hour)), "k", 100)
			return err
		},
		"340282346638528859811704183484516925440.1": func(ctx context.Context, e *locking.Engine, name string) error {
			_, err := Add(ctx, NewTTLMap[string, float32](e, name, WithCodec(codec.Text), WithTTL(time.Hour)), "k", 1e38)
			return err
		},
		"200": func(ctx context.Context, e *locking.Engine, name string) error { // by a map that knows of no ends
			_, err := Add(ctx, New[string, uint8](e, name, WithCodec(codec.Text)), "k", 100)
			return err
		},
		"no number": func(ctx context.Context, e *locking.Engine, name string) error {
			_, err := Add(ctx, NewTTLMap[string, int](e, name, WithCodec(codec.Text), WithTTL(time.Hour)), "k", 1)
			return err
		},
	} {
		t.Run(was, func(t *testing.T) {
			t.Parallel()
			e, name := maptest.EngineOn(t, raw), maptest.Named(t, raw)
			m := NewTTLMap[string, string](e, name, WithCodec(codec.Text))
			require.NoError(t, m.Put(t.Context(), "k", was, WithTTL(time.Minute)))
			end := func() int64 {
				at, err := raw.Do(t.Context(), raw.B().Hpexpiretime().Key(name).Fields().Numfields(1).Field("k").Build()).AsIntSlice()
				require.NoError(t, err)
				return at[0]
			}
			before := end()
			require.Error(t, add(t.Context(), e, name))
			v, _, err := m.Get(t.Context(), "k")
			require.NoError(t, err)
			require.Equal(t, was, v)
			require.Equal(t, before, end())
		})
	}
}
