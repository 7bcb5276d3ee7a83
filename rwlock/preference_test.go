package rwlock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rwlock"
)

// claimed waits until a writer's claim stands.
func claimed(t testing.TB, name string) {
	t.Helper()
	raw := redistest.Shared(t).Client(t)
	require.Eventually(t, func() bool {
		n, err := raw.Do(context.Background(), raw.B().Exists().Key("rueidisson_rw_writers:{"+name+"}").Build()).AsInt64()
		return err == nil && n == 1
	}, redistest.Soon, time.Millisecond)
}

// whileClaimsStand fails the test if a reader goes past a writer that waits. A claim is renewed every 500 ms and lasts
// for 1 s. If this process stood still for more than 200 ms, the claim may have ended, and the round is run again.
func whileClaimsStand(t testing.TB, round func() (stoodBack bool)) {
	t.Helper()
	const limit = 800 * time.Millisecond // Within repeats a round in which this process stood still for a quarter of it
	redistest.Within(t, limit, func() time.Duration {
		if round() {
			return 0
		}
		t.Log("a reader went past a writer that waits")
		return 2 * limit
	})
}

func TestAWaitingWriterIsPreferred(t *testing.T) {
	t.Parallel()
	addr := redistest.Shared(t).Addr()
	whileClaimsStand(t, func() (stoodBack bool) {
		name := redistest.Name(t)
		reader := locktest.Open(t, addr).RWLock(name).Read()
		writer := locktest.Open(t, addr).RWLock(name).Write()
		first := locktest.Take(t, locktest.Open(t, addr).RWLock(name).Read())
		got := waits(t.Context(), t, writer)
		claimed(t, name)
		early, err := reader.TryLock(t.Context())
		if err == nil {
			locktest.Unlock(t, early)
		} else {
			require.ErrorIs(t, err, lock.ErrNotAcquired)
		}
		late := waits(t.Context(), t, reader)
		select {
		case hold := <-late:
			locktest.Unlock(t, hold)
			locktest.Unlock(t, first)
			locktest.Unlock(t, <-got)
			return false
		case <-time.After(1500 * time.Millisecond): // more than a claim lasts
		}
		locktest.Unlock(t, first)
		select {
		case hold := <-late:
			locktest.Unlock(t, hold)
			locktest.Unlock(t, <-got)
			return false
		case hold := <-got:
			require.Empty(t, late)
			locktest.Unlock(t, hold)
			locktest.Unlock(t, <-late)
		}
		return early == nil
	})
}

func TestAWriterThatLeavesOrDiesHoldsNobodyBack(t *testing.T) {
	t.Parallel()
	addr := redistest.Shared(t).Addr()
	for _, how := range []string{"leaves", "dies"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			name := redistest.Name(t)
			reader, proxy := locktest.Open(t, addr).RWLock(name).Read(), redistest.NewProxy(t, addr)
			first := locktest.Take(t, reader)
			defer locktest.Unlock(t, first)
			ctx, cancel := context.WithCancel(t.Context())
			waited := make(chan struct{})
			go func() { // ends with ctx
				_, _ = locktest.Open(t, proxy.Addr()).RWLock(name).Write().Lock(ctx)
				close(waited)
			}()
			claimed(t, name)
			if how == "dies" {
				proxy.BlackHole()
			} else {
				cancel()
				<-waited
			}
			second := locktest.Take(t, locktest.Open(t, addr).RWLock(name).Read())
			locktest.Unlock(t, second)
			cancel()
			<-waited
		})
	}
}

// A reader that is behind a writer of its own process does not wait for as long as that.
func TestReadersBehindAWaitingWriterGoFirstAfterAWrite(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	here, raw := locktest.Open(t, server.Addr()).RWLock(name), server.Client(t)
	there := locktest.Open(t, server.Addr()).RWLock(name)
	locktest.Take(t, there.Write())
	begin := func(side *rwlock.Side) chan *lock.Hold {
		got := make(chan *lock.Hold, 1)
		go func() { // ends with the hold
			hold, err := side.Lock(context.Background())
			assert.NoError(t, err)
			got <- hold
		}()
		return got
	}
	writer := begin(here.Write())
	require.Eventually(t, func() bool {
		n, err := here.Waiting(t.Context())
		return err == nil && n == 1
	}, redistest.Soon, time.Millisecond)
	reader := begin(here.Read())
	var waiting []string
	require.Eventually(t, func() bool {
		var err error
		waiting, err = raw.Do(context.Background(), raw.B().Zrange().Key("rueidisson_rw_readers:{"+name+"}").Min("0").Max("-1").Build()).AsStrSlice()
		return err == nil && len(waiting) == 1
	}, redistest.Soon, time.Millisecond, "the writer says so for the reader")
	// A turn that is given again and again: a release gives 20 ms, which this machine may miss.
	turn := "rueidisson_rw_turn:{" + name + "}"
	given, stop := make(chan struct{}), make(chan struct{})
	go func() { // ends with stop
		defer close(given)
		for {
			raw.DoMulti(context.Background(), raw.B().Zadd().Key(turn).ScoreMember().ScoreMember(0, waiting[0]).Build(),
				raw.B().Pexpire().Key(turn).Milliseconds(900).Build())
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	redistest.Eventually(t, func() bool {
		n, err := raw.Do(context.Background(), raw.B().Exists().Key(turn).Build()).AsInt64()
		return err == nil && n == 1
	}, redistest.Soon, time.Millisecond, "the turn is not there")
	require.NoError(t, raw.Do(t.Context(), raw.B().Del().Key(name).Build()).Error(), "as after a lease")
	require.NoError(t, raw.Do(t.Context(), raw.B().Publish().Channel("redisson_rwlock:{"+name+"}").Message("1").Build()).Error())
	defer func() { close(stop); <-given }()
	read := <-reader
	require.Empty(t, writer)
	locktest.Unlock(t, read)
	require.NoError(t, raw.Do(t.Context(), raw.B().Del().Key(turn).Build()).Error())
	locktest.Unlock(t, <-writer)
	locktest.Unlock(t, locktest.Take(t, here.Write()))
}

// Preferring writers and readers of several processes take turns: neither
// starves, and no writer has the lock beside anybody.
func TestReadersAndPreferringWritersTakeTurns(t *testing.T) {
	t.Parallel()
	addr, name := redistest.Shared(t).Addr(), redistest.Name(t)
	span := redistest.Span(t, 3*time.Second, time.Minute)
	var locks []*rwlock.Lock
	for range 4 {
		locks = append(locks, locktest.Open(t, addr).RWLock(name))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var inside, reads, writes, last, longest, pauses atomic.Int64
	last.Store(time.Now().UnixNano())
	var all sync.WaitGroup
	for _, l := range locks {
		for g := range 10 {
			side, weight, count := l.Read(), int64(1), &reads
			if g < 2 {
				side, weight, count = l.Write(), 1000, &writes
			}
			all.Go(func() {
				for ctx.Err() == nil {
					hold, err := side.Lock(ctx)
					if err != nil {
						assert.Error(t, ctx.Err(), "%v", err)
						return
					}
					if now := inside.Add(weight); now > 1000 || now > 999 && weight == 1 {
						t.Errorf("%d are inside", now)
					}
					now := time.Now().UnixNano()
					pause := now - last.Swap(now)
					if time.Duration(pause) > 800*time.Millisecond {
						pauses.Add(1) // as long as a claim that refuses everybody
					}
					for was := longest.Load(); pause > was && !longest.CompareAndSwap(was, pause); was = longest.Load() {
					}
					time.Sleep(time.Millisecond)
					inside.Add(-weight)
					count.Add(1)
					assert.NoError(t, hold.Unlock(context.Background()))
				}
			})
		}
	}
	time.Sleep(span)
	paused := pauses.Load()
	// On a machine that is busy with other tests few get in: it goes on until enough of both have.
	redistest.InTime(func() bool { return reads.Load() > 3 && writes.Load() > 3 }, redistest.Soon, 10*time.Millisecond)
	stop()
	all.Wait()
	t.Logf("%d reads, %d writes, %d pauses, the longest %v", reads.Load(), writes.Load(), pauses.Load(), time.Duration(longest.Load()))
	require.LessOrEqual(t, paused, int64(3), "a lock that is free stands still") // one or two may be the machine's

	if span > 3*time.Second { // a soak has the machine for itself
		require.Less(t, time.Duration(longest.Load()), 500*time.Millisecond, "the longest pause")
	}
	require.Greater(t, reads.Load(), int64(3), "readers starve")
	require.Greater(t, writes.Load(), int64(3), "writers starve")
}

// A reader that died does not keep a writer for as long as others live.
func TestADeadReaderIsDroppedAtItsOwnLease(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	here, there := locktest.Open(t, server.Addr()).RWLock(name), locktest.Open(t, server.Addr()).RWLock(name)
	proxy := redistest.NewProxy(t, server.Addr())
	dead := locktest.Take(t, locktest.Open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(2*time.Second)).RWLock(name).Read())
	alive := locktest.Take(t, here.Read())
	proxy.BlackHole()
	<-dead.Lost()
	got := make(chan *lock.Hold, 1)
	go func() { // ends with the hold
		hold, err := there.Write().Lock(context.Background())
		assert.NoError(t, err)
		got <- hold
	}()
	require.Eventually(t, func() bool {
		readers, err := here.Readers(context.Background())
		return err == nil && len(readers) == 1
	}, redistest.Soon, 10*time.Millisecond)
	require.Empty(t, got, "one reads")
	locktest.Unlock(t, alive)
	locktest.Unlock(t, <-got)
}

// Of thousands of goroutines each gets what it waits for, with few calls.
func TestAThousandGoroutinesReadWithFewCalls(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	l := locktest.Open(t, proxy.Addr(), rueidisson.WithHandover(100, 100*time.Millisecond)).RWLock(redistest.Name(t))
	var all sync.WaitGroup
	for range 1000 {
		all.Go(func() {
			assert.NoError(t, lock.Do(t.Context(), l.Read(), func(context.Context) error { return nil }))
		})
	}
	all.Wait()
	require.Less(t, proxy.Count(redistest.AnyScript()), 500)
	locked, err := l.Locked(t.Context())
	require.NoError(t, err)
	require.False(t, locked)
}
