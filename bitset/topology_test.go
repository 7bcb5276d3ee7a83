package bitset

import (
	"context"
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
			s := New(e, redistest.Name(t)+end)
			t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(s.Name()).Build()) })
			_, err := s.Set(t.Context(), 1, 2)
			require.NoError(t, err, end)
			require.NoError(t, s.Xor(t.Context(), s.Name()), end)
			require.NoError(t, s.Check(t.Context()), end)
		}
	})
	t.Run("another slot", func(t *testing.T) {
		s := New(enginetest.On(t, raw), fresh(t, raw))
		err := s.And(t.Context(), s.Name()+"x", s.Name()+"y", s.Name()+"z")
		require.ErrorIs(t, err, ErrInvalidArgument)
		require.ErrorContains(t, err, "one hash tag")
	})
	t.Run("a slot moves", func(t *testing.T) { aSlotMoves(t, cluster) })
	t.Run("half of them moved", func(t *testing.T) { halfMoved(t, cluster) })
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
		s := New(e, fresh(t, raw))
		a5(t, raw, s.Name())
		answer, err := one.do(t.Context(), s)
		require.NoError(t, err, what)
		require.Equal(t, one.answer, answer, what)
		require.Equal(t, one.left, state(t, raw, s.Name()), what)
	}
	s := New(e, fresh(t, raw))
	a5(t, raw, s.Name())
	for what, one := range reads {
		answer, err := one.do(t.Context(), s)
		require.NoError(t, err, what)
		if one.answer != nil {
			require.Equal(t, one.answer, answer, what)
		}
	}
}

// aSlotMoves moves a bitset while it is used: nothing fails, and no sum is lost.
func aSlotMoves(t *testing.T, cluster *redistest.Cluster) {
	t.Helper()
	raw := cluster.Client(t)
	s := New(enginetest.On(t, raw), fresh(t, raw))
	done := enginetest.WhileASlotMoves(t, cluster, []string{s.Name()}, func(ctx context.Context, _, _ int) bool {
		_, added := s.Uint(32, 0).Add(ctx, 1)
		_, cleared := s.Clear(ctx, 40)
		assert.NoError(t, cleared)
		return assert.NoError(t, added)
	})
	n, err := s.Uint(32, 0).Get(t.Context())
	require.NoError(t, err)
	require.Equal(t, done, n)
}

// halfMoved has one of two bitsets of a slot on another server: what is about both is refused, and has done nothing.
func halfMoved(t *testing.T, cluster *redistest.Cluster) {
	t.Helper()
	raw := cluster.Client(t)
	s := New(enginetest.On(t, raw, enginetest.ShortSends), fresh(t, raw))
	a5(t, raw, s.Name())
	a5(t, raw, other(s))
	migration := cluster.StartMigration(t, s.Name())
	migration.Move(t, s.Name())
	err := s.Xor(t.Context(), other(s))
	require.ErrorIs(t, err, ErrSlotMoving)
	require.NotErrorIs(t, err, ErrOutcomeUnknown)
	n, err := s.Count(t.Context())
	require.NoError(t, err, "what needs one key follows it")
	require.EqualValues(t, 4, n)
	migration.Finish(t)
	require.NoError(t, s.Xor(t.Context(), other(s)))
	require.Equal(t, "00 hour", state(t, raw, s.Name()))
}

// goesOnAfter has a bitset be used through a failover.
func goesOnAfter(t *testing.T, raw rueidis.Client, name string, failover func()) {
	t.Helper()
	s := New(enginetest.On(t, raw), name)
	_, err := s.Set(t.Context(), 7)
	require.NoError(t, err)
	failover()
	redistest.Eventually(t, func() bool {
		_, err := s.Set(t.Context(), 8)
		return err == nil
	}, redistest.Soon, 10*time.Millisecond)
	n, err := s.Len(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 9, n)
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
	s := New(enginetest.On(t, client, enginetest.ShortSends), fresh(t, raw))
	a5(t, raw, s.Name())
	held := proxy.HoldRequest(redistest.All(redistest.Command("BITFIELD"), redistest.Arg(s.Name())))
	_, err := s.Uint(8, 0).Add(t.Context(), 1)
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.Equal(t, "a5 hour", state(t, raw, s.Name()))
	held.Release()
	require.Equal(t, "a6 hour", state(t, raw, s.Name()))
}
