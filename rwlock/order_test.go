package rwlock_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rwlock"
)

// TestWriterThatGivesWayLeavesNoClaim has a writer find the lock free, in the turn of
// readers of its own process: its claim would refuse the second of them.
func TestWriterThatGivesWayLeavesNoClaim(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	require.NoError(t, b.raw.Do(t.Context(), b.raw.B().Zadd().Key(b.claims()).ScoreMember().
		ScoreMember(float64(time.Now().Add(500*time.Millisecond).UnixMilli()), "c").Build()).Error(), "from its last look")
	require.NoError(t, b.raw.Do(t.Context(), b.raw.B().Zadd().Key(b.turn()).ScoreMember().ScoreMember(0, "c").Build()).Error())
	require.NoError(t, b.raw.Do(t.Context(), b.raw.B().Pexpire().Key(b.turn()).Milliseconds(900).Build()).Error())
	require.Regexp(t, `^\d+$`, b.writeFor("c", "w", "1000", "1"), "it gives way")
	n, err := b.raw.Do(t.Context(), b.raw.B().Exists().Key(b.claims()).Build()).AsInt64()
	require.NoError(t, err)
	require.Zero(t, n)
	require.Equal(t, "nil", b.readOf("c", "one", "1", leaseMs))
	require.Equal(t, "nil", b.readOf("c", "two", "1", leaseMs))
}

// TestReadLockStandsBackForAWatchdogTimeout has a writer wait for a reader that does not
// end. Another reader stands back for it, and then enters.
func TestReadLockStandsBackForAWatchdogTimeout(t *testing.T) {
	t.Parallel()
	addr := redistest.Shared(t).Addr()
	whileClaimsStand(t, func() (stoodBack bool) {
		name := redistest.Name(t)
		first := locktest.Take(t, locktest.Open(t, addr).RWLock(name).Read())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		writer := waits(ctx, t, locktest.Open(t, addr).RWLock(name).Write())
		claimed(t, name)
		const patience = 2 * time.Second
		reader := locktest.Open(t, addr, rueidisson.WithWatchdogTimeout(patience)).RWLock(name).Read()
		began := time.Now()
		second := locktest.Take(t, reader)
		stoodBack = time.Since(began) > patience
		require.Empty(t, writer)
		locktest.Unlock(t, second)
		cancel()
		require.Nil(t, <-writer)
		locktest.Unlock(t, first)
		return stoodBack
	})
}

// TestReadLockGoesPastAWriterOfItsProcess has a writer wait for a reader that does not
// end. A reader of the writer's own process is behind it in the local queue.
func TestReadLockGoesPastAWriterOfItsProcess(t *testing.T) {
	t.Parallel()
	addr, name := redistest.Shared(t).Addr(), redistest.Name(t)
	first := locktest.Take(t, locktest.Open(t, addr).RWLock(name).Read())
	const patience = 2 * time.Second
	here := locktest.Open(t, addr, rueidisson.WithWatchdogTimeout(patience)).RWLock(name)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	writer := waits(ctx, t, here.Write())
	claimed(t, name)
	began := time.Now()
	second := locktest.Take(t, here.Read())
	require.Greater(t, time.Since(began), patience, "it stands back")
	require.Empty(t, writer)
	locktest.Unlock(t, second)
	locktest.Unlock(t, first)
	locktest.Unlock(t, <-writer)
}

// logged is what a client warns of.
type logged chan string

func (l logged) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// TestSecondReadHoldWithoutTheContextIsNamedInTheLog has a writer wait for the first
// hold, in its process or in another one. The second hold waits for the writer.
func TestSecondReadHoldWithoutTheContextIsNamedInTheLog(t *testing.T) {
	t.Parallel()
	addr := redistest.Shared(t).Addr()
	t.Run("here", func(t *testing.T) {
		t.Parallel()
		require.True(t, secondReadHold(t, addr, true), "it has stood back without a word")
	})
	t.Run("elsewhere", func(t *testing.T) {
		t.Parallel()
		whileClaimsStand(t, func() (stoodBack bool) { return secondReadHold(t, addr, false) })
	})
}

// secondReadHold has a second read hold taken while a writer waits for the first, here or elsewhere. It reports whether
// the log names it.
func secondReadHold(t *testing.T, addr string, here bool) (named bool) {
	t.Helper()
	name, said := redistest.Name(t), make(logged, 10)
	c := locktest.Open(t, addr, rueidisson.WithWatchdogTimeout(2*time.Second), rueidisson.WithHandover(0, 0),
		rueidisson.WithLogger(slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelWarn}))))
	l := c.RWLock(name)
	writes := l.Write()
	if !here {
		writes = locktest.Open(t, addr).RWLock(name).Write()
	}
	first := locktest.Take(t, l.Read())
	require.NoError(t, first.Extend(t.Context(), time.Minute), "its loss would be logged too")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	writer := waits(ctx, t, writes)
	if here { // the wait is for its own process, and no server is asked
		redistest.Eventually(t, func() bool {
			hold, err := l.Read().TryLock(t.Context())
			if err == nil {
				locktest.Unlock(t, hold)
			}
			return errors.Is(err, lock.ErrNotAcquired)
		}, redistest.Soon, time.Millisecond, "the writer does not wait")
	} else {
		claimed(t, name)
	}
	locktest.Unlock(t, locktest.Take(t, l.Read()))
	named = len(said) > 0
	if named {
		line := <-said
		require.Contains(t, line, name)
		require.Contains(t, line, "second read hold")
		require.Contains(t, line, "Hold.Context")
		require.Empty(t, said, "once")
	}
	require.Empty(t, writer)
	locktest.Unlock(t, first)
	locktest.Unlock(t, <-writer)
	return named
}

// TestReaderPreferenceLetsReadersPast: a writer that asks for it waits, and says nothing
// of that to readers.
func TestReaderPreferenceLetsReadersPast(t *testing.T) {
	t.Parallel()
	addr, name := redistest.Shared(t).Addr(), redistest.Name(t)
	first := locktest.Take(t, locktest.Open(t, addr).RWLock(name).Read())
	there := locktest.Open(t, addr).RWLock(name, rwlock.WithReaderPreference())
	writer := waits(t.Context(), t, there.Write())
	redistest.Eventually(t, func() bool {
		n, err := there.Waiting(t.Context())
		return err == nil && n == 1
	}, redistest.Soon, time.Millisecond, "the writer does not wait")
	for range 3 {
		hold, err := locktest.Open(t, addr).RWLock(name).Read().TryLock(t.Context())
		require.NoError(t, err)
		locktest.Unlock(t, hold)
	}
	require.Empty(t, writer)
	locktest.Unlock(t, first)
	locktest.Unlock(t, <-writer)
}

// TestReadWriteLockOfAClockThatWasSetBack leaves a claim, and a turn, of an hour: what
// dead processes wrote before the server's clock was set back.
func TestReadWriteLockOfAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	hour := strconv.FormatInt(time.Hour.Milliseconds(), 10)
	stale := func(t *testing.T, key string, score time.Time) {
		redistest.Do(t, raw, "ZADD", key, strconv.FormatInt(score.UnixMilli(), 10), "dead")
		redistest.Do(t, raw, "PEXPIRE", key, hour)
	}
	exist := func(t *testing.T, keys ...string) int64 {
		n, err := raw.Do(context.Background(), raw.B().Exists().Key(keys...).Build()).AsInt64()
		require.NoError(t, err)
		return n
	}
	for kind, of := range map[string]func(*rwlock.Lock) *rwlock.Side{"read": (*rwlock.Lock).Read, "write": (*rwlock.Lock).Write} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			name := redistest.Name(t)
			l := locktest.Open(t, server.Addr()).RWLock(name)
			claims, turn := "rueidisson_rw_writers:{"+name+"}", "rueidisson_rw_turn:{"+name+"}"
			stale(t, claims, time.Now().Add(time.Hour))
			stale(t, turn, time.Now().Add(time.Hour))
			hold, err := of(l).TryLock(t.Context())
			require.NoError(t, err, "the lock is free")
			locktest.Unlock(t, hold)
			stale(t, claims, time.Now().Add(time.Hour))
			stale(t, turn, time.Now().Add(time.Hour))
			_, err = of(l).ForceUnlock(t.Context())
			require.NoError(t, err)
			require.Zero(t, exist(t, claims, turn))
		})
	}
}
