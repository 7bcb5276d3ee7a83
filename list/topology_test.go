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
		goesOnAfter(t, cluster.Client(t), name, func() {
			master := cluster.Master(name)
			addr := master.Addr()
			master.Kill()
			cluster.AwaitMaster(t, name, addr)
		})
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
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	var mu sync.Mutex
	n, there := 0, map[int]bool{}
	for range 4 {
		all.Go(func() { // ends with ctx
			for ctx.Err() == nil {
				mu.Lock()
				n++
				v := n
				there[v] = true
				mu.Unlock()
				_, err := l.Insert(context.WithoutCancel(ctx), 0, v)
				assert.NoError(t, err)
				if v%2 == 0 {
					v, had, err := l.RemoveAt(context.WithoutCancel(ctx), 1)
					assert.NoError(t, err)
					mu.Lock()
					assert.True(t, !had || there[v], "removed twice")
					if had {
						delete(there, v)
					}
					mu.Unlock()
				}
			}
		})
	}
	more := func() {
		t.Helper()
		mu.Lock()
		want := n + 20
		mu.Unlock()
		redistest.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return n >= want }, redistest.Soon, time.Millisecond)
	}
	more()
	migration := cluster.StartMigration(t, l.Name())
	more()
	migration.Move(t, l.Name())
	more()
	migration.Finish(t)
	more()
	stop()
	all.Wait()
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
	goesOnAfter(t, sentinel.Client(t), redistest.Name(t), func() {
		master := sentinel.Master()
		addr := master.Addr()
		master.Kill()
		sentinel.AwaitMaster(t, addr)
	})
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
