package list

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	raw := cluster.Client(t)
	t.Run("each operation", func(t *testing.T) { eachOperation(t, raw) })
	t.Run("the model", func(t *testing.T) { againstTheModel(t, raw) })
	t.Run("any name", func(t *testing.T) {
		e := enginetest.On(t, raw)
		for _, end := range []string{"{", "}", "{}x", "a{b", "x}y{"} {
			l := listOn(e, redistest.Name(t)+end)
			t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(l.Name()).Build()) })
			_, err := l.Append(t.Context(), "a")
			require.NoError(t, err, end)
			require.NoError(t, l.Check(t.Context()), end)
		}
	})
	t.Run("a slot moves", func(t *testing.T) { aSlotMoves(t, cluster) })
	t.Run("a failover", func(t *testing.T) {
		name := redistest.Name(t)
		goesOnAfter(t, cluster.Client(t), name, func() { cluster.FailOver(t, name) })
	})
}

// TestEachOperation on every server.
func TestEachOperation(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) { eachOperation(t, raw) })
}

// eachOperation compares answers, and what is left.
func eachOperation(t *testing.T, raw rueidis.Client) {
	t.Helper()
	e := enginetest.On(t, raw)
	for what, one := range effects {
		l := listOn(e, fresh(t, raw))
		abac(t, raw, l.Name())
		answer, err := one.do(t.Context(), l)
		require.NoError(t, err, what)
		require.Equal(t, one.answer, answer, what)
		require.Equal(t, one.left, state(t, raw, l.Name()), what)
	}
	l := listOn(e, fresh(t, raw))
	abac(t, raw, l.Name())
	for what, one := range reads {
		answer, err := one.do(t.Context(), l)
		require.NoError(t, err, what)
		if one.answer != nil {
			require.Equal(t, one.answer, answer, what)
		}
	}
}

// aSlotMoves moves a list while it is used: nothing fails, and no element is lost or there twice.
func aSlotMoves(t *testing.T, cluster *redistest.Cluster) {
	t.Helper()
	raw := cluster.Client(t)
	l := New[int](enginetest.On(t, raw), fresh(t, raw))
	var mu sync.Mutex
	there := map[int]bool{}
	note := func(do func()) { mu.Lock(); defer mu.Unlock(); do() }
	enginetest.WhileASlotMoves(t, cluster, []string{l.Name()}, func(ctx context.Context, g, i int) bool {
		v := 4*i + g
		note(func() { there[v] = true })
		_, err := l.Insert(ctx, 0, v)
		if !assert.NoError(t, err) || i%2 > 0 {
			return err == nil
		}
		v, had, err := l.RemoveAt(ctx, 1)
		note(func() {
			if assert.True(t, !had || there[v], "removed twice"); had {
				delete(there, v)
			}
		})
		return assert.NoError(t, err)
	})
	left := map[int]bool{}
	for v, err := range l.All(t.Context()) {
		require.NoError(t, err)
		require.False(t, left[v], "there twice")
		left[v] = true
	}
	require.Equal(t, there, left)
}

// goesOnAfter has a list be used through a failover.
func goesOnAfter(t *testing.T, raw rueidis.Client, name string, failover func()) {
	t.Helper()
	l := listOn(enginetest.On(t, raw), name)
	_, err := l.Append(t.Context(), "a")
	require.NoError(t, err)
	failover()
	redistest.Eventually(t, func() bool {
		_, err := l.Append(t.Context(), "b")
		return err == nil
	}, redistest.Soon, 10*time.Millisecond)
	_, there, err := l.Index(t.Context(), "b")
	require.NoError(t, err)
	require.True(t, there)
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
	l := listOn(enginetest.On(t, client, enginetest.ShortSends), fresh(t, raw))
	abac(t, raw, l.Name())
	held := proxy.HoldRequest(redistest.All(redistest.Command("RPUSH"), redistest.Arg(l.Name())))
	_, err := l.Append(t.Context(), "d")
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.Equal(t, "abac hour", state(t, raw, l.Name()))
	held.Release()
	require.Equal(t, "abacd hour", state(t, raw, l.Name()))
}
