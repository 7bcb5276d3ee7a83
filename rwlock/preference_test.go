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
	}, 20*time.Second, time.Millisecond)
}

func TestAWaitingWriterIsPreferred(t *testing.T) {
	t.Parallel()
	addr, name := redistest.Shared(t).Addr(), redistest.Name(t)
	reader := open(t, addr).RWLock(name).Read()
	writer := open(t, addr).RWLock(name, rwlock.WithWriterPreference()).Write()
	first := take(t, open(t, addr).RWLock(name).Read())
	got := make(chan *lock.Hold, 1)
	go func() { // ends with the hold
		hold, err := writer.Lock(context.Background())
		assert.NoError(t, err)
		got <- hold
	}()
	claimed(t, name)
	requireBusy(t, reader)
	late := make(chan *lock.Hold, 1)
	go func() { // ends with the hold
		hold, err := reader.Lock(context.Background())
		assert.NoError(t, err)
		late <- hold
	}()
	select {
	case <-late:
		t.Fatal("a reader went past a writer that waits, for more than a claim lasts")
	case <-time.After(1500 * time.Millisecond):
	}
	unlock(t, first)
	hold := <-got
	require.Empty(t, late)
	unlock(t, hold)
	unlock(t, <-late)
}

func TestAWriterThatLeavesOrDiesHoldsNobodyBack(t *testing.T) {
	t.Parallel()
	addr := redistest.Shared(t).Addr()
	for _, how := range []string{"leaves", "dies"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			name := redistest.Name(t)
			reader, proxy := open(t, addr).RWLock(name).Read(), redistest.NewProxy(t, addr)
			first := take(t, reader)
			defer unlock(t, first)
			ctx, cancel := context.WithCancel(t.Context())
			waited := make(chan struct{})
			go func() { // ends with ctx
				_, _ = open(t, proxy.Addr()).RWLock(name, rwlock.WithWriterPreference()).Write().Lock(ctx)
				close(waited)
			}()
			claimed(t, name)
			if how == "dies" {
				proxy.BlackHole()
			} else {
				cancel()
				<-waited
			}
			second := take(t, open(t, addr).RWLock(name).Read())
			unlock(t, second)
			cancel()
			<-waited
		})
	}
}

// A reader that is behind a writer of its own process does not wait for as long as that.
func TestReadersBehindAWaitingWriterGoFirstAfterAWrite(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	here, raw := open(t, server.Addr()).RWLock(name), server.Client(t)
	there := open(t, server.Addr()).RWLock(name)
	take(t, there.Write())
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
	}, 20*time.Second, time.Millisecond)
	reader := begin(here.Read())
	var waiting []string
	require.Eventually(t, func() bool {
		var err error
		waiting, err = raw.Do(context.Background(), raw.B().Zrange().Key("rueidisson_rw_readers:{"+name+"}").Min("0").Max("-1").Build()).AsStrSlice()
		return err == nil && len(waiting) == 1
	}, 20*time.Second, time.Millisecond, "the writer says so for the reader")
	// A turn that does not end by itself: a release gives 20 ms, which this machine may miss.
	require.NoError(t, raw.Do(t.Context(), raw.B().Zadd().Key("rueidisson_rw_turn:{"+name+"}").ScoreMember().ScoreMember(0, waiting[0]).Build()).Error())
	_, err := there.Write().ForceUnlock(t.Context())
	require.NoError(t, err)
	read := <-reader
	require.Empty(t, writer)
	unlock(t, read)
	unlock(t, <-writer)
	unlock(t, take(t, here.Write()))
}

// Preferring writers and readers of several processes take turns: neither
// starves, and no writer has the lock beside anybody.
func TestReadersAndPreferringWritersTakeTurns(t *testing.T) {
	t.Parallel()
	addr, name := redistest.Shared(t).Addr(), redistest.Name(t)
	ctx, stop := context.WithTimeout(t.Context(), redistest.Span(t, 3*time.Second, time.Minute))
	defer stop()
	var inside, reads, writes atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		l := open(t, addr).RWLock(name, rwlock.WithWriterPreference())
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
					time.Sleep(time.Millisecond)
					inside.Add(-weight)
					count.Add(1)
					assert.NoError(t, hold.Unlock(context.Background()))
				}
			})
		}
	}
	all.Wait()
	t.Logf("%d reads, %d writes", reads.Load(), writes.Load())
	require.Greater(t, reads.Load(), int64(3), "readers starve")
	require.Greater(t, writes.Load(), int64(3), "writers starve")
}

// A reader that died does not keep a writer for as long as others live.
func TestADeadReaderIsDroppedAtItsOwnLease(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	here, there := open(t, server.Addr()).RWLock(name), open(t, server.Addr()).RWLock(name)
	proxy := redistest.NewProxy(t, server.Addr())
	dead := take(t, open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(2*time.Second)).RWLock(name).Read())
	alive := take(t, here.Read())
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
	}, 20*time.Second, 10*time.Millisecond)
	require.Empty(t, got, "one reads")
	unlock(t, alive)
	unlock(t, <-got)
}

// Of thousands of goroutines each gets what it waits for, with few calls.
func TestAThousandGoroutinesReadWithFewCalls(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	l := open(t, proxy.Addr(), rueidisson.WithHandover(100, 100*time.Millisecond)).RWLock(redistest.Name(t))
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
