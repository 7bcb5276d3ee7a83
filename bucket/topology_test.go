package bucket

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	raw := cluster.Client(t)
	t.Run("each operation", func(t *testing.T) {
		e := enginetest.On(t, raw)
		for what, one := range effects {
			k := kitOn(e, fresh(t, raw))
			old(t, raw, k.name)
			answer, err := one.do(t.Context(), k)
			require.NoError(t, err, what)
			require.Equal(t, one.answer, answer, what)
			require.Equal(t, one.left, state(t, raw, k.name), what)
		}
	})
	t.Run("the model", func(t *testing.T) { againstTheModel(t, raw) })
	t.Run("many slots", func(t *testing.T) { manyOf(t, raw, 1000) })
	t.Run("one slot", func(t *testing.T) {
		e := enginetest.On(t, raw)
		many := NewMany[int](e, WithCodec(codec.Text))
		values := numbered("{"+redistest.Name(t)+"}", 10)
		deletesAll(t, e, values)
		for _, want := range []bool{true, false} {
			did, err := many.SetAllIfAbsent(t.Context(), values)
			require.NoError(t, err)
			require.Equal(t, want, did)
		}
		_, err := many.SetAllIfAbsent(t.Context(), numbered(redistest.Name(t), 10))
		require.ErrorIs(t, err, ErrInvalidArgument)
		require.ErrorContains(t, err, "one hash tag")
	})
	t.Run("any name", func(t *testing.T) {
		e := enginetest.On(t, raw)
		for _, end := range []string{"{", "}", "{}x", "a{b", "x}y{"} {
			k := kitOn(e, redistest.Name(t)+end)
			t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(k.name).Build()) })
			require.NoError(t, k.b.Set(t.Context(), "old"), end)
			for range 30 { // some of which would look for a claim
				_, _, err := k.b.Update(t.Context(), longer)
				require.NoError(t, err, end)
			}
			all, err := k.many.Get(t.Context(), k.name)
			require.NoError(t, err, end)
			require.Equal(t, map[string]string{k.name: "old" + strings.Repeat("+", 30)}, all)
			require.NoError(t, k.b.Check(t.Context()), end)
		}
	})
	t.Run("a slot moves under a bucket", func(t *testing.T) { aBucketMoves(t, cluster) })
	t.Run("a slot moves under many", func(t *testing.T) { halfMoved(t, cluster) })
	t.Run("a failover", func(t *testing.T) {
		name := redistest.Name(t)
		goesOnAfter(t, cluster.Client(t), name, func() { cluster.FailOver(t, name) })
	})
}

// aBucketMoves moves a bucket while it is used: nothing fails, and no Update is lost.
func aBucketMoves(t *testing.T, cluster *redistest.Cluster) {
	t.Helper()
	raw := cluster.Client(t)
	name := fresh(t, raw)
	b := New[int](enginetest.On(t, raw), name)
	done := enginetest.WhileASlotMoves(t, cluster, []string{name}, func(ctx context.Context, _, _ int) bool {
		_, _, err := b.Update(ctx, increment)
		return assert.NoError(t, err)
	})
	n, _, err := b.Get(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, done, n)
}

// halfMoved has some buckets of a slot on one server, and some on another one: what is about several of them is refused, and
// has done nothing.
func halfMoved(t *testing.T, cluster *redistest.Cluster) {
	t.Helper()
	raw := cluster.Client(t)
	e := enginetest.On(t, raw, enginetest.ShortSends)
	tag := "{" + redistest.Name(t) + "}"
	many := NewMany[int](e, WithCodec(codec.Text))
	values := numbered(tag, 4)
	deletesAll(t, e, values)
	names := slices.Sorted(maps.Keys(values))
	require.NoError(t, many.Set(t.Context(), values))
	migration := cluster.StartMigration(t, tag)
	migration.Move(t, names[0], names[1])
	changed := map[string]int{names[0]: 10, names[3]: 13}
	var all sync.WaitGroup
	for what, op := range map[string]func() error{
		"get":               func() error { _, err := many.Get(t.Context(), names...); return err },
		"set":               func() error { return many.Set(t.Context(), changed) },
		"set with a time":   func() error { return many.Set(t.Context(), changed, WithTTL(day)) },
		"set all if absent": func() error { _, err := many.SetAllIfAbsent(t.Context(), changed); return err },
	} {
		all.Go(func() {
			err := op()
			assert.ErrorIs(t, err, ErrSlotMoving, what)
			assert.NotErrorIs(t, err, ErrOutcomeUnknown, what)
		})
	}
	all.Wait()
	for i, name := range names { // what needs one key follows it
		v, _, err := New[int](e, name, WithCodec(codec.Text)).Get(t.Context())
		require.NoError(t, err)
		require.Equal(t, i, v)
	}
	migration.Finish(t)
	got, err := many.Get(t.Context(), names...)
	require.NoError(t, err)
	require.Equal(t, values, got)
}

// goesOnAfter has a bucket be used through a failover.
func goesOnAfter(t *testing.T, raw rueidis.Client, name string, failover func()) {
	t.Helper()
	b := New[int](enginetest.On(t, raw), name)
	require.NoError(t, b.Set(t.Context(), 1))
	failover()
	redistest.Eventually(t, func() bool {
		_, _, err := b.Update(t.Context(), increment)
		return err == nil
	}, redistest.Soon, 10*time.Millisecond)
	v, there, err := b.Get(t.Context())
	require.NoError(t, err)
	require.True(t, there)
	require.Positive(t, v)
}

func TestAfterSentinels(t *testing.T) {
	t.Parallel()
	sentinel := redistest.StartSentinel(t)
	goesOnAfter(t, sentinel.Client(t), redistest.Name(t), func() { sentinel.FailOver(t) })
}

// TestALateCopy: a request that arrives after the caller was told that its outcome is unknown is done then, and not twice.
func TestALateCopy(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	client, proxy := redistest.ThroughProxy(t, server)
	b := New[string](enginetest.On(t, client, enginetest.ShortSends), fresh(t, raw), WithCodec(codec.Text))
	old(t, raw, b.Name())
	held := proxy.HoldRequest(script(swapScript))
	did, err := b.CompareAndSwap(t.Context(), "old", "new")
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.False(t, did)
	require.Equal(t, "old hour", state(t, raw, b.Name()))
	require.NoError(t, New[string](enginetest.On(t, raw), b.Name(), WithCodec(codec.Text)).Set(t.Context(), "other"))
	held.Release()
	require.Equal(t, "other forever", state(t, raw, b.Name()), "it compares")
}
