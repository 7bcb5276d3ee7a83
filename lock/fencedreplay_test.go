package lock_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func (b *bench) acquireFenced(owner string, tokens int) int64 {
	b.t.Helper()
	n, err := strconv.ParseInt(b.run("acquire_fenced", []string{b.name, b.gone(), b.queue(), counter(b.name)},
		strconv.Itoa(leaseMs), owner, strconv.Itoa(tokens), "0"), 10, 64)
	require.NoError(b.t, err)
	return n
}

func (b *bench) reserve(owner string, tokens int) int64 {
	b.t.Helper()
	n, err := strconv.ParseInt(b.run("reserve", []string{b.name, counter(b.name)}, owner, strconv.Itoa(tokens), "0"), 10, 64)
	require.NoError(b.t, err)
	return n
}

func (b *bench) last() int64 {
	b.t.Helper()
	n, err := do(b.t, b.raw, "GET", counter(b.name)).AsInt64()
	require.NoError(b.t, err)
	return n
}

func TestAnAcquireThatIsSentTwiceHasTheSameTokens(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.acquireFenced("a", 5)
	require.Equal(t, first, b.acquireFenced("a", 5))
	require.Equal(t, "a=1", b.state())
	require.Equal(t, first, b.last())
	require.Negative(t, b.acquireFenced("b", 1), "what is left of the lease")
	require.Equal(t, first, b.last(), "who is refused skips no number")
}

// A late copy may skip numbers, and never gives one that another has or will get.
func TestALateCopyOfAFencedRequestTakesNothing(t *testing.T) {
	t.Parallel()
	for title, of := range map[string]struct {
		before func(b *bench)
		late   func(b *bench)
	}{
		"an acquire, after it was given back": {
			func(b *bench) { b.acquireFenced("a", 3); b.giveBack("a") },
			func(b *bench) { require.Zero(b.t, b.acquireFenced("a", 3)) },
		},
		"an acquire, after another's": {
			func(b *bench) { b.acquireFenced("a", 3); b.giveBack("a"); b.acquireFenced("b", 1) },
			func(b *bench) { require.Negative(b.t, b.acquireFenced("a", 3)) },
		},
		"an acquire, after an export": {
			func(b *bench) { b.acquireFenced("a", 3); b.export("a", "A") },
			func(b *bench) { require.Negative(b.t, b.acquireFenced("a", 3)) },
		},
		"a reservation, after the release": {
			func(b *bench) { b.acquireFenced("a", 3); b.reserve("a", 4); b.release("a") },
			func(b *bench) { require.Zero(b.t, b.reserve("a", 4)) },
		},
		"a reservation, after another's acquire": {
			func(b *bench) { b.acquireFenced("a", 3); b.reserve("a", 4); b.release("a"); b.acquireFenced("b", 1) },
			func(b *bench) { require.Zero(b.t, b.reserve("a", 4)) },
		},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			of.before(b)
			state, last := b.state(), b.last()
			of.late(b)
			require.Equal(t, state, b.state())
			require.Equal(t, last, b.last())
		})
	}
}

func TestAReservationIsAboveAllBeforeAndBelowAllAfter(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.acquireFenced("a", 1)
	one, two := b.reserve("a", 10), b.reserve("a", 10)
	require.GreaterOrEqual(t, one-10, first)
	require.GreaterOrEqual(t, two-10, one, "sent twice, it has numbers of its own")
	b.release("a")
	require.Greater(t, b.acquireFenced("b", 1), two)
}

func TestALostReplyToAFencedAcquireIsNoLoss(t *testing.T) {
	bothWays(t, func(t *testing.T, f *faulty, how ...redistest.DropOption) {
		l := f.client.FencedLock(f.lock.Name())
		before := pass(t, l)
		drop := f.proxy.DropReply(f.script("acquire_fenced"), 1, how...)
		hold := acquire(t, l)
		drop.Await(t)
		require.Greater(t, number(t, hold), before)
		require.Equal(t, 1, f.holder().Count)
		last, err := do(t, f.raw, "GET", counter(l.Name())).AsInt64()
		require.NoError(t, err)
		require.Equal(t, number(t, hold), last, "the second send raised nothing")
		require.NoError(t, hold.Unlock(t.Context()))
		require.False(t, f.holder().Held())
	})
}

func TestALostReplyToAReservationSkipsNumbers(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, generous)
	l := f.client.FencedLock(f.lock.Name())
	hold := acquire(t, l)
	own := number(t, hold)
	drop := f.proxy.DropReply(f.script("reserve"), 1)
	waiting := lockLater(t, l)
	drop.Await(t)
	require.Eventually(t, func() bool {
		last, err := f.raw.Do(t.Context(), f.raw.B().Get().Key(counter(l.Name())).Build()).AsInt64()
		return err == nil && last >= own+2
	}, soon, time.Millisecond, "the second send has numbers of its own")
	require.NoError(t, hold.Unlock(t.Context()))
	next, err := waiting.result(t)
	require.NoError(t, err)
	require.Greater(t, number(t, next), own)
	require.NoError(t, next.Unlock(t.Context()))
}

func TestAFullServerKeepsFencedHoldsAndTakesNone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	c := locktest.Open(t, server.Addr(), rueidisson.WithWatchdogTimeout(3*time.Second))
	l := c.FencedLock(redistest.Name(t))
	before := pass(t, l)
	hold := acquire(t, l)
	do(t, raw, "CONFIG", "SET", "maxmemory", "1")
	_, err := c.FencedLock(redistest.Name(t)).TryLock(t.Context())
	require.ErrorContains(t, err, "OOM")
	waiting := lockLater(t, l) // it asks for a token in vain
	require.NoError(t, hold.Extend(t.Context(), 10*time.Second))
	require.NoError(t, hold.Unlock(t.Context()))
	require.False(t, exists(t, raw, l.Name()), "it was released, not handed over without a token")
	do(t, raw, "CONFIG", "SET", "maxmemory", "0")
	next, err := waiting.result(t)
	require.NoError(t, err)
	require.Greater(t, number(t, next), before)
	require.NoError(t, next.Unlock(t.Context()))
}

// While its slot moves, a fenced lock is kept and released, and taken when the
// move is over.
func TestASlotMovesUnderAFencedLock(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	name := "{" + redistest.Name(t) + "}"
	here, there := openCluster(t, cluster, rueidisson.WithWatchdogTimeout(6*time.Second)), openCluster(t, cluster, rueidisson.WithWatchdogTimeout(6*time.Second))
	hold := acquire(t, here.FencedLock(name+"1"))
	free := pass(t, here.FencedLock(name+"2"))
	waiting := lockLater(t, there.FencedLock(name+"1"))
	awaitWaiters(t, here.Lock(name+"1"), 1)
	own := number(t, hold)

	moves := cluster.StartMigration(t, name)
	moves.Move(t, name+"1", "redisson_lock_token:"+name+"2")
	later := lockLater(t, there.FencedLock(name+"2"))
	stays(t, hold, hold.Context(t.Context()), 7*time.Second) // longer than the lease
	require.NoError(t, hold.Unlock(t.Context()), "its key alone is asked for")
	require.False(t, isDone(later.done), "the counter is a second key")
	moves.Finish(t)

	next, err := waiting.result(t)
	require.NoError(t, err)
	require.Greater(t, number(t, next), own)
	require.NoError(t, next.Unlock(t.Context()))
	next, err = later.result(t)
	require.NoError(t, err)
	require.Greater(t, number(t, next), free)
	require.NoError(t, next.Unlock(t.Context()))
}
