package rmap

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// oneHashed is what every map of one hash has as an object.
type oneHashed interface {
	Mapping[string, int]
	Remaining(ctx context.Context) (time.Duration, error)
	RenameIfAbsent(ctx context.Context, to string) (bool, error)
	Copy(ctx context.Context, to string) (bool, error)
	ExpireAt(ctx context.Context, at time.Time) (bool, error)
	SizeInMemory(ctx context.Context) (int64, error)
	Exists(ctx context.Context) (bool, error)
}

func TestMapAsAnObject(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
	for name, opts := range map[string][]MapOption{"": nil, " with ids": {WithRequestIDs()}} {
		opts = append([]MapOption{WithCodec(maptest.TextFamily)}, opts...)
		for kind, of := range map[string]func(e *locking.Engine, name string) oneHashed{
			"map": func(e *locking.Engine, name string) oneHashed { return New[string, int](e, name, opts...) },
			"announced": func(e *locking.Engine, name string) oneHashed {
				return New[string, int](e, name, append(opts, WithAnnounce())...)
			},
			"native": func(e *locking.Engine, name string) oneHashed {
				return NewTTLMap[string, int](e, name, maptest.As[TTLMapOption](opts)...)
			},
			"cache": func(e *locking.Engine, name string) oneHashed {
				return NewCache[string, int](e, name, maptest.As[CacheOption](opts)...)
			},
		} {
			t.Run(kind+name, func(t *testing.T) {
				t.Parallel()
				asAnObject(t, raw, of)
			})
		}
	}
}

func asAnObject(t *testing.T, raw rueidis.Client, of func(e *locking.Engine, name string) oneHashed) {
	ctx, e, name := t.Context(), maptest.EngineOn(t, raw), redistest.Name(t)
	m, other, third := of(e, name), of(e, name+"-b"), of(e, name+"-c")
	t.Cleanup(func() {
		for _, one := range []oneHashed{m, other, third} {
			raw.Do(context.Background(), raw.B().Del().Key(mapstore.ObjectOf(one.Name())...).Build())
		}
	})
	yes := func(want bool) func(is bool, err error) {
		return func(is bool, err error) {
			t.Helper()
			require.NoError(t, err)
			require.Equal(t, want, is)
		}
	}
	size := func(m oneHashed) int64 {
		t.Helper()
		n, err := m.SizeInMemory(ctx)
		require.NoError(t, err)
		return n
	}
	require.Zero(t, size(m))
	yes(false)(m.Copy(ctx, other.Name()))
	yes(false)(m.RenameIfAbsent(ctx, other.Name()))
	yes(false)(m.ExpireAt(ctx, time.Now().Add(time.Hour)))
	require.NoError(t, m.PutMany(ctx, map[string]int{"a": 1, "b": 2}))
	require.Greater(t, size(m), int64(50))
	yes(true)(m.Copy(ctx, other.Name()))
	require.InDelta(t, size(m), size(other), 64, "names are of other lengths")
	require.NoError(t, other.Put(ctx, "c", 3))
	yes(false)(m.Copy(ctx, other.Name()))
	yes(false)(m.RenameIfAbsent(ctx, other.Name()))
	require.Equal(t, map[string]int{"a": 1, "b": 2}, allOf(t, m), "the copy is another map")
	require.Equal(t, map[string]int{"a": 1, "b": 2, "c": 3}, allOf(t, other), "and was not written over")
	yes(true)(m.RenameIfAbsent(ctx, third.Name()))
	yes(false)(m.Exists(ctx))
	require.Equal(t, map[string]int{"a": 1, "b": 2}, allOf(t, third))
	yes(true)(third.ExpireAt(ctx, time.Now().Add(time.Hour)))
	left, err := third.Remaining(ctx)
	require.NoError(t, err)
	require.InDelta(t, time.Hour, left, float64(time.Minute))
	yes(true)(third.ExpireAt(ctx, time.Now().Add(-time.Hour)))
	yes(false)(third.Exists(ctx))
	for _, at := range []time.Time{{}, time.Now().Add(2 * core.LongestLease)} {
		_, err := other.ExpireAt(ctx, at)
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	_, err = other.Copy(ctx, "")
	require.ErrorIs(t, err, ErrInvalidArgument)
}
