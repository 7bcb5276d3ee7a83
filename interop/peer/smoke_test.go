//go:build interop

package peer

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The tests of this file prove the harness alone: what the JVM does is compared with commands that are
// written by hand. Each version of Redisson must build and behave.

const strangerOwner = "0b7f6a52-1111-4222-8333-444455556666:7"

func TestEveryVersion(t *testing.T) {
	t.Parallel()
	for _, version := range []string{Current, Last3, Oldest} {
		t.Run(version, func(t *testing.T) {
			s := startServer(t)
			java := Start(t, Options{Version: version, Addr: s.addr})
			require.Equal(t, version, java.Version())
			t.Run("a lock is a hash with the thread as owner", func(t *testing.T) { javaLockIsAHash(t, s, java) })
			t.Run("a lease is the key's expiry", func(t *testing.T) { leaseIsExpiry(t, s, java) })
			t.Run("a hold written by hand is respected", func(t *testing.T) { handWrittenHold(t, s, java) })
			t.Run("a message written by hand wakes a waiter", func(t *testing.T) { messageWakes(t, s, java, "NUMSUB", "PUBLISH") })
			t.Run("an unlock sends the message", func(t *testing.T) { unlockSends(t, s, java) })
			t.Run("threads that contend lose no update", func(t *testing.T) { contention(t, s, java) })
			t.Run("a waiter can be interrupted", func(t *testing.T) { interruption(t, s, java) })
			t.Run("the other kinds of lock", func(t *testing.T) { otherKinds(t, s, java) })
			t.Run("rate limiter", func(t *testing.T) { rateLimiter(t, s, java) })
			t.Run("maps", func(t *testing.T) { maps(t, s, java) })
			t.Run("nothing is left behind", func(t *testing.T) { nothingLeft(t, s, java) })
			t.Run("benchmarks", func(t *testing.T) { benchmarks(t, java) })
		})
	}
}

func javaLockIsAHash(t *testing.T, s *server, java *Peer) {
	ctx := within(t)
	lock, other := java.Lock("t1", "orders"), java.Lock("t2", "orders")
	require.NoError(t, lock.Lock(ctx))
	require.NoError(t, lock.Lock(ctx))

	owner, err := java.Owner(ctx, "t1")
	require.NoError(t, err)
	id, err := java.ThreadID(ctx, "t1")
	require.NoError(t, err)
	require.Equal(t, java.ID()+":"+strconv.FormatInt(id, 10), owner)
	require.Equal(t, map[string]string{owner: "2"}, s.hash(t, "orders"))
	require.LessOrEqual(t, s.int(t, "PTTL", "orders"), int64(30_000))

	count, err := lock.HoldCount(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 2, count)
	requireTruth(t, true, lock.IsHeldByCurrentThread, ctx)
	requireTruth(t, false, other.IsHeldByCurrentThread, ctx)
	requireTruth(t, false, other.TryLock, ctx)
	held, err := other.IsHeldByThread(ctx, id)
	require.NoError(t, err)
	require.True(t, held)
	require.Equal(t, "IllegalMonitorStateException", Thrown(other.Unlock(ctx)))

	require.NoError(t, lock.Unlock(ctx))
	require.NoError(t, lock.Unlock(ctx))
	requireTruth(t, false, other.IsLocked, ctx)
	require.Empty(t, s.hash(t, "orders"))
}

func leaseIsExpiry(t *testing.T, s *server, java *Peer) {
	ctx := within(t)
	lock := java.Lock("t1", "leased")
	require.NoError(t, lock.LockFor(ctx, time.Hour))
	require.Greater(t, s.int(t, "PTTL", "leased"), int64(30_000))
	ok, err := lock.TryLockFor(ctx, time.Second, 2*time.Hour)
	require.NoError(t, err)
	require.True(t, ok)
	left, err := lock.RemainTimeToLive(ctx)
	require.NoError(t, err)
	require.Greater(t, left, time.Hour.Milliseconds())
	requireTruth(t, true, lock.ForceUnlock, ctx)
	requireTruth(t, false, lock.ForceUnlock, ctx)
	left, err = lock.RemainTimeToLive(ctx)
	require.NoError(t, err)
	require.EqualValues(t, -2, left)
}

func handWrittenHold(t *testing.T, s *server, java *Peer) {
	ctx := within(t)
	lock := java.Lock("t1", "theirs")
	holdByHand(t, s, "theirs")
	requireTruth(t, true, lock.IsLocked, ctx)
	requireTruth(t, false, lock.TryLock, ctx)
	requireTruth(t, false, lock.IsHeldByCurrentThread, ctx)
	ok, err := lock.TryLockWait(ctx, 20*time.Millisecond)
	require.NoError(t, err)
	require.False(t, ok)
	count, err := lock.HoldCount(ctx)
	require.NoError(t, err)
	require.Zero(t, count)
	requireTruth(t, true, lock.ForceUnlock, ctx)
	require.Zero(t, s.int(t, "EXISTS", "theirs"))
}

// messageWakes needs no clock: the lease outlives the limit of the wait, so a waiter that was not woken
// returns false.
func messageWakes(t *testing.T, s *server, java *Peer, count, publish string) {
	ctx := within(t)
	const channel = "redisson_lock__channel:{woken}"
	holdByHand(t, s, "woken")
	got := make(chan bool, 1)
	go func() {
		ok, err := java.Lock("t1", "woken").TryLockWait(ctx, 25*time.Second)
		got <- ok && err == nil
	}()
	eventually(t, "Java listens", func() bool { return s.subscribers(t, count, channel) == 1 })
	requireTruth(t, true, java.Lock("t2", "woken").IsLocked, ctx) // another thread is not held up
	// In one step: Java tries once more when it listens, and on a busy machine that may be between two.
	const freeAndTell = `redis.call('DEL', KEYS[1]) return redis.call(ARGV[1], KEYS[2], '0')`
	require.EqualValues(t, 1, s.int(t, "EVAL", freeAndTell, "2", "woken", channel, publish))
	require.True(t, <-got)
	require.NoError(t, java.Lock("t1", "woken").Unlock(ctx))
}

func unlockSends(t *testing.T, s *server, java *Peer) {
	ctx := within(t)
	messages := s.listen(t, "redisson_lock__channel:{told}")
	require.NoError(t, java.Lock("t1", "told").Lock(ctx))
	require.NoError(t, java.Lock("t1", "told").Unlock(ctx))
	require.Equal(t, "0", <-messages)
}

func contention(t *testing.T, s *server, java *Peer) {
	const threads = 4
	ctx, total := within(t), int64(0)
	for total == 0 { // a busy machine may do nothing in one turn
		done, err := java.Lock("t1", "busy").Contend(ctx, "counter", threads, 300*time.Millisecond, 0)
		require.NoError(t, err)
		require.Len(t, done.Threads, threads)
		total += done.Total
	}
	require.Equal(t, total, s.int(t, "GET", "counter"))
	s.do(t, "DEL", "counter", "counter:inside")
}

// interruption comes when Java sleeps, or hears the answer to its last try. One more try that is still on its way
// outlives the interrupt, and takes a lock that was freed meanwhile: for a thread that is told that it has none, with
// the watchdog.
func interruption(t *testing.T, s *server, java *Peer) {
	ctx := within(t)
	holdByHand(t, s, "stuck")
	s.process.ResetStats()
	failed := make(chan error, 1)
	go func() { failed <- java.Lock("t1", "stuck").LockInterruptibly(ctx) }()
	// A refused try asks for the rest of the lease. The second one is that of a thread that listens.
	eventually(t, "Java has tried twice", func() bool { return s.process.CommandCalls(t, "pttl") == 2 })
	busy, err := java.Interrupt(ctx, "t1")
	require.NoError(t, err)
	require.True(t, busy)
	// The second, if Java had not yet heard the answer.
	require.Contains(t, []string{"InterruptedException", "RedisException"}, Thrown(<-failed))
	requireTruth(t, true, java.Lock("t1", "stuck").ForceUnlock, ctx) // the thread works on
}

func otherKinds(t *testing.T, s *server, java *Peer) {
	ctx := within(t)
	for _, kind := range []string{"fairlock", "spinlock", "fencedlock", "readlock", "writelock"} {
		lock := java.LockOf(kind, "t1", "of-"+kind)
		require.NoError(t, lock.Lock(ctx), kind)
		require.NotEmpty(t, s.hash(t, "of-"+kind), kind)
		require.NoError(t, lock.Unlock(ctx), kind)
	}
	s.do(t, "DEL", "redisson_lock_token:{of-fencedlock}") // the fencing counter stays on purpose
}

func rateLimiter(t *testing.T, s *server, java *Peer) {
	ctx := within(t)
	limiter := java.RateLimiter("t1", "limit")
	rate := Rate{PerClient: false, Permits: 3, Interval: time.Hour}
	ok, err := limiter.TrySetRate(ctx, rate)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "3600000", s.hash(t, "limit")["interval"])
	got, err := limiter.Config(ctx)
	require.NoError(t, err)
	require.Equal(t, rate, got)
	for _, want := range []bool{true, false} {
		ok, err = limiter.TryAcquire(ctx, 2, 0)
		require.NoError(t, err)
		require.Equal(t, want, ok)
	}
	left, err := limiter.AvailablePermits(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, left)
	if err := limiter.Release(ctx, 1); java.Version() == Oldest {
		require.Equal(t, "UnsupportedOperationException", Thrown(err))
	} else {
		require.NoError(t, err)
		require.EqualValues(t, 2, s.int(t, "GET", "{limit}:value"))
	}
	changesRate(ctx, t, s, java, limiter)
	requireTruth(t, true, limiter.Delete, ctx)
}

// changesRate: two permits were taken and one of them given back, which its log does not say.
func changesRate(ctx context.Context, t *testing.T, s *server, java *Peer, limiter RateLimiter) {
	rate := Rate{Permits: 5, Interval: time.Hour, KeepAlive: 2 * time.Hour}
	updated, err := limiter.UpdateRate(ctx, rate, true)
	if java.Version() != Current {
		require.Equal(t, "UnsupportedOperationException", Thrown(err))
		require.Equal(t, "UnsupportedOperationException", Thrown(limiter.ReplaceRate(ctx, rate, true)))
		return
	}
	require.NoError(t, err)
	require.True(t, updated)
	require.EqualValues(t, 3, s.int(t, "GET", "{limit}:value"))
	require.Equal(t, "7200000", s.hash(t, "limit")["keepAliveTime"])
	require.NoError(t, limiter.ReplaceRate(ctx, rate, false))
	require.Zero(t, s.int(t, "EXISTS", "{limit}:value"))
}

// nothingLeft allows Redisson 3.52.0 its unlock latches: it deletes them under a wrong name (the client's
// id in place of the request's), so they stay until they expire, 16 to 20 s later.
func nothingLeft(t *testing.T, s *server, java *Peer) {
	var there []leftover
	clean := inTime(func() bool {
		there = slices.DeleteFunc(s.leftovers(t), func(k leftover) bool {
			latch := strings.HasPrefix(k.key, "redisson_unlock_latch:") && k.left != -1 && k.left <= 20_000
			return latch && java.Version() == Last3
		})
		return len(there) == 0
	})
	require.True(t, clean, "still there: %+v", there)
}

func TestEveryWordReachesJavaAndComesBack(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	java := Start(t, Options{Addr: s.addr})
	words := []string{"", "-", "--", " ", "a b", "a+b", "100%", "%2D", "ключ→", "line\r\nbreak", "\x00\xff\xfe", "{tag}:x", `q"'\`}
	reply, err := java.Do(within(t), "t1", append([]string{"peer", "echo", "none"}, words...)...)
	require.NoError(t, err)
	var back []string
	for _, value := range reply {
		require.False(t, value.Null)
		back = append(back, value.Text)
	}
	require.Equal(t, words, back)

	name := "a {b} %+\n"
	require.NoError(t, java.Lock("thread with a space", name).Lock(within(t)))
	require.Equal(t, []string{name}, s.keys(t))
	_, err = java.Call(within(t), "t1", "nothing", "of", "this")
	require.Equal(t, "UnsupportedOperationException", Thrown(err))
}

func TestEveryCodec(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for codec, class := range map[string]string{
		"":                         "org.redisson.client.codec.StringCodec",
		"String":                   "org.redisson.client.codec.StringCodec",
		"ByteArray":                "org.redisson.client.codec.ByteArrayCodec",
		"JsonJackson":              "org.redisson.codec.JsonJacksonCodec",
		"TypedJson:java.lang.Long": "org.redisson.codec.TypedJsonJacksonCodec",
		"MsgPackJackson":           "org.redisson.codec.MsgPackJacksonCodec",
		"Kryo5":                    "org.redisson.codec.Kryo5Codec",
		"String,Kryo5":             "org.redisson.codec.CompositeCodec",
	} {
		t.Run(codec, func(t *testing.T) {
			java := Start(t, Options{Addr: s.addr, Codec: codec})
			got, err := java.Call(within(t), "t1", "peer", "codec")
			require.NoError(t, err)
			require.Equal(t, class, got)
		})
	}
}

func TestWhatPreventsTheStartIsTold(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	Start(t, Options{Addr: s.addr}).Close() // skips where Java is missing
	for name, c := range map[string]struct {
		options Options
		says    string
	}{
		"a codec that nobody knows":  {Options{Addr: s.addr, Codec: "Morse"}, "unknown codec Morse"},
		"no server there":            {Options{Addr: "127.0.0.1:1"}, "Unable to connect"},
		"neither single nor cluster": {Options{}, "usage:"},
		"a class that is missing":    {Options{Addr: s.addr, Codec: "TypedJson:no.such.Class"}, "has no no.such.Class"},
		"a setting that came later":  {Options{Version: Oldest, Cluster: []string{s.addr}, Sharded: "ON"}, "has no org.redisson.config.ShardedSubscriptionMode"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := start(t.Context(), c.options)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestAKilledJVMLeavesItsLockToTheLease(t *testing.T) {
	s := startServer(t)
	java := Start(t, Options{Addr: s.addr, Watchdog: 1500 * time.Millisecond})
	ctx := within(t)
	require.NoError(t, java.Lock("t1", "orphan").Lock(ctx))
	waiting := make(chan error, 1)
	go func() { waiting <- java.Lock("t2", "orphan").Lock(ctx) }()
	eventually(t, "the second thread waits", func() bool {
		return s.subscribers(t, "NUMSUB", "redisson_lock__channel:{orphan}") == 1
	})
	java.Kill()
	require.ErrorIs(t, <-waiting, ErrEnded)
	require.ErrorIs(t, java.Lock("t1", "orphan").Unlock(ctx), ErrEnded)
	require.LessOrEqual(t, s.int(t, "PTTL", "orphan"), int64(1500))
	eventually(t, "the lease ends", func() bool { return s.int(t, "EXISTS", "orphan") == 0 })
	java.Close()
}

func TestACallerThatLeavesCanFreeTheThread(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	java := Start(t, Options{Addr: s.addr})
	holdByHand(t, s, "left")
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() { failed <- java.Lock("t1", "left").LockInterruptibly(ctx) }()
	eventually(t, "Java listens", func() bool { return s.subscribers(t, "NUMSUB", "redisson_lock__channel:{left}") == 1 })
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	_, err := java.Interrupt(within(t), "t1")
	require.NoError(t, err)
	requireTruth(t, true, java.Lock("t1", "left").IsLocked, within(t))
}

func TestACluster(t *testing.T) {
	t.Parallel()
	s := startCluster(t)
	for mode, c := range map[string]struct{ count, publish string }{
		"AUTO": {"SHARDNUMSUB", "SPUBLISH"},
		"OFF":  {"NUMSUB", "PUBLISH"},
	} {
		t.Run(mode, func(t *testing.T) {
			java := Start(t, Options{Cluster: []string{s.addr}, Sharded: mode})
			javaLockIsAHash(t, s, java)
			messageWakes(t, s, java, c.count, c.publish)
		})
	}
}

func holdByHand(t *testing.T, s *server, name string) {
	t.Helper()
	s.do(t, "HSET", name, strangerOwner, "1")
	s.do(t, "PEXPIRE", name, "60000")
}

func requireTruth(t *testing.T, want bool, ask func(context.Context) (bool, error), ctx context.Context) {
	t.Helper()
	got, err := ask(ctx)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// benchmarks: each scenario does something, and an unknown one is refused.
func benchmarks(t *testing.T, java *Peer) {
	ctx := within(t)
	for _, scenario := range []string{"own", "hot", "fair", "semaphore", "limiter", "get", "put", "queue"} {
		n, err := java.Bench(ctx, scenario, "bench-"+scenario, 2, 20*time.Millisecond)
		require.NoError(t, err, scenario)
		require.Positive(t, n, scenario)
	}
	_, err := java.Bench(ctx, "nothing", "bench", 2, time.Millisecond)
	require.ErrorContains(t, err, "the peer knows no operation nothing of bench")
}
