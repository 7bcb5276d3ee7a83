//go:build interop

package interop

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rwlock"
)

var rwLockProofs = []proof{
	{row: "read-write_lock/mutual_exclusion/both", test: rwExclusion, alone: true},
	{row: "read-write_lock/read/go-java", test: javaReadsBesideGo},
	{row: "read-write_lock/read/java-go", test: goReadsBesideJava},
	{row: "read-write_lock/write/go-java", test: goWriterWakesJava},
	{row: "read-write_lock/write/java-go", test: javaWriterWakesGo},
	{row: "read-write_lock/downgrade/go-java", test: goDowngrades},
	{row: "read-write_lock/downgrade/java-go", test: javaDowngrades},
	{row: "read-write_lock/no_key_left/go-java", test: rwLeavesNothing},
}

var rwLockWaits = []proof{
	{row: "read-write_lock/reader_with_a_long_lease/both", test: longReaderBesideJava},
}

// rwTheirs are the sides of a read-write lock as a Java thread of its own uses them.
func (w *world) rwTheirs(t *testing.T, name string) (read, write peer.Lock) {
	thread := redistest.Name(t)
	return w.java.LockOf("readlock", thread, name), w.java.LockOf("writelock", thread, name)
}

// rwChannel is spelled here once more, so that the tests do not take the library's word for it.
func rwChannel(name string) string { return "redisson_rwlock:{" + name + "}" }

// awaitRW waits until so many processes listen for the lock, in the right way.
func (w *world) awaitRW(ctx context.Context, t *testing.T, name string, want int64) {
	t.Helper()
	how := "NUMSUB"
	if w.spublish() {
		how = "SHARDNUMSUB"
	}
	eventually(ctx, t, "somebody listens to "+rwChannel(name), func() bool {
		var sum int64
		for _, node := range w.redis.Nodes() {
			answer, err := node.Do(ctx, node.B().Arbitrary("PUBSUB", how, rwChannel(name)).Build()).ToArray()
			require.NoError(t, err)
			n, err := answer[1].AsInt64()
			require.NoError(t, err)
			sum += n
		}
		return sum == want
	})
}

// settles lets Java finish the try behind its subscription: other threads of it are asked, and answer.
func (w *world) settles(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	for range 3 {
		_, write := w.rwTheirs(t, name)
		requireTruth(ctx, t, false, write.TryLock)
	}
}

func mustTake(ctx context.Context, t *testing.T, l lock.Locker, opts ...lock.LockOption) *lock.Hold {
	t.Helper()
	h, err := l.Lock(ctx, opts...)
	require.NoError(t, err)
	return h
}

func goIsRefused(ctx context.Context, t *testing.T, l lock.Locker) {
	t.Helper()
	_, err := l.TryLock(ctx)
	require.ErrorIs(t, err, lock.ErrNotAcquired)
}

// javaReadsBesideGo: a Java reader comes to Go's and leaves before it, and neither library's writer gets in.
func javaReadsBesideGo(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	mine := w.client(t).RWLock(name)
	read, write := w.rwTheirs(t, name)
	hold := mustTake(ctx, t, mine.Read())
	requireTruth(ctx, t, true, read.TryLock)
	requireTruth(ctx, t, false, write.TryLock)
	goIsRefused(ctx, t, mine.Write())
	require.NoError(t, read.Unlock(ctx))
	require.NoError(t, hold.Err())
	requireTruth(ctx, t, true, read.IsLocked)
	requireTruth(ctx, t, false, write.TryLock)
	readers, err := mine.Readers(ctx)
	require.NoError(t, err)
	require.Len(t, readers, 1, "Java's reader has gone, and ours has stayed")
	got := begin(func() (bool, error) { return write.TryLockWait(ctx, patience) })
	w.awaitRW(ctx, t, name, 1)
	w.settles(ctx, t, name)
	released := time.Now()
	require.NoError(t, hold.Unlock(ctx))
	requireWoken(t, released, javaHas(t, got))
	require.NoError(t, write.Unlock(ctx))
}

// goReadsBesideJava is that with a Go reader that leaves first.
func goReadsBesideJava(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	mine := w.client(t).RWLock(name)
	read, write := w.rwTheirs(t, name)
	require.NoError(t, read.Lock(ctx))
	require.NoError(t, read.Lock(ctx))
	hold := mustTake(ctx, t, mine.Read())
	readers, err := mine.Readers(ctx)
	require.NoError(t, err)
	require.Len(t, readers, 2)
	require.NoError(t, hold.Unlock(ctx))
	requireTruth(ctx, t, true, read.IsHeldByCurrentThread)
	require.NoError(t, read.Unlock(ctx))
	goIsRefused(ctx, t, mine.Write())
	got := begin(func() (*lock.Hold, error) { return mine.Write().Lock(ctx) })
	w.awaitRW(ctx, t, name, 1)
	released := time.Now()
	require.NoError(t, read.Unlock(ctx))
	next, at := goHas(t, got)
	requireWoken(t, released, at)
	requireTruth(ctx, t, true, write.IsLocked)
	requireTruth(ctx, t, false, read.TryLock)
	require.NoError(t, next.Unlock(ctx))
}

// goWriterWakesJava: two Java readers wait for a Go writer, and both get in by its one message.
func goWriterWakesJava(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	mine := w.client(t).RWLock(name)
	first, _ := w.rwTheirs(t, name)
	second, _ := w.rwTheirs(t, name)
	hold := mustTake(ctx, t, mine.Write(), lock.WithLease(longLease))
	one := begin(func() (bool, error) { return first.TryLockWait(ctx, patience) })
	two := begin(func() (bool, error) { return second.TryLockWait(ctx, patience) })
	w.awaitRW(ctx, t, name, 1)
	w.settles(ctx, t, name)
	released := time.Now()
	require.NoError(t, hold.Unlock(ctx))
	requireWoken(t, released, javaHas(t, one))
	requireWoken(t, released, javaHas(t, two))
	goIsRefused(ctx, t, mine.Write())
	require.NoError(t, first.Unlock(ctx))
	require.NoError(t, second.Unlock(ctx))
}

// javaWriterWakesGo is the reverse, with a Go writer behind it, too.
func javaWriterWakesGo(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	mine := w.client(t).RWLock(name)
	_, write := w.rwTheirs(t, name)
	require.NoError(t, write.LockFor(ctx, longLease))
	holder, err := mine.Writer(ctx)
	require.NoError(t, err)
	require.True(t, holder.Held() && !holder.Mine)
	goIsRefused(ctx, t, mine.Write())
	goIsRefused(ctx, t, mine.Read())
	got := begin(func() (*lock.Hold, error) { return mine.Read().Lock(ctx) })
	w.awaitRW(ctx, t, name, 1)
	released := time.Now()
	require.NoError(t, write.Unlock(ctx))
	hold, at := goHas(t, got)
	requireWoken(t, released, at)
	requireTruth(ctx, t, false, write.TryLock)
	require.NoError(t, hold.Unlock(ctx))
	requireTruth(ctx, t, true, write.TryLock)
	require.NoError(t, write.Unlock(ctx))
}

// goDowngrades: a Java reader that waits gets in by Go's downgrade, which keeps Java's writer out.
func goDowngrades(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	mine := w.client(t).RWLock(name)
	read, _ := w.rwTheirs(t, name)
	hold := mustTake(ctx, t, mine.Write(), lock.WithLease(longLease))
	mineToo := mustTake(hold.Context(ctx), t, mine.Read())
	got := begin(func() (bool, error) { return read.TryLockWait(ctx, patience) })
	w.awaitRW(ctx, t, name, 1)
	w.settles(ctx, t, name)
	released := time.Now()
	require.NoError(t, hold.Unlock(ctx))
	requireWoken(t, released, javaHas(t, got))
	require.NoError(t, mineToo.Err())
	_, other := w.rwTheirs(t, name)
	requireTruth(ctx, t, false, other.TryLock)
	require.NoError(t, read.Unlock(ctx))
	requireTruth(ctx, t, false, other.TryLock)
	require.NoError(t, mineToo.Unlock(ctx))
	requireTruth(ctx, t, true, other.TryLock)
	require.NoError(t, other.Unlock(ctx))
}

// javaDowngrades: it tells nobody, and a Go reader that looks gets in.
func javaDowngrades(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	mine := w.client(t).RWLock(name)
	read, write := w.rwTheirs(t, name)
	require.NoError(t, write.Lock(ctx))
	require.NoError(t, read.Lock(ctx))
	goIsRefused(ctx, t, mine.Read())
	readers, err := mine.Readers(ctx)
	require.NoError(t, err)
	require.Len(t, readers, 1, "the writer reads, too")
	require.NoError(t, write.Unlock(ctx))
	hold := mustTake(ctx, t, mine.Read())
	goIsRefused(ctx, t, mine.Write())
	require.NoError(t, read.Unlock(ctx))
	require.NoError(t, hold.Err())
	requireTruth(ctx, t, true, read.IsLocked)
	require.NoError(t, hold.Unlock(ctx))
	requireTruth(ctx, t, false, read.IsLocked)
}

// longReaderBesideJava: Java's renewal sets the name's time to live to its own watchdog timeout. The Java process
// dies, and still nobody writes while the Go reader is trusted.
func longReaderBesideJava(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	java := peer.Start(t, w.jvm)
	c := w.client(t)
	hold := mustTake(ctx, t, c.RWLock(name).Read(), lock.WithLease(120*time.Second))
	require.LessOrEqual(t, time.Until(hold.Deadline()), watchdog, "a step of the watchdog timeout")
	require.NoError(t, java.LockOf("readlock", redistest.Name(t), name).Lock(ctx))
	time.Sleep(watchdog) // it has renewed the name
	java.Close()
	until := time.Now().Add(3 * watchdog)
	other := w.client(t).RWLock(name)
	for time.Now().Before(until) {
		if held, err := other.Write().TryLock(ctx); err == nil {
			require.Error(t, hold.Err(), "a writer is in beside a reader that is trusted")
			require.NoError(t, held.Unlock(ctx))
		}
		time.Sleep(10 * time.Millisecond)
	}
	require.NoError(t, hold.Err())
	require.NoError(t, hold.Unlock(ctx))
	next := mustTake(ctx, t, other.Write(), lock.WithLease(longLease)) // Java's dead reader is dropped
	require.NoError(t, next.Unlock(ctx))
}

// rwLeavesNothing is about all that it writes.
func rwLeavesNothing(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	c := w.client(t)
	l := c.RWLock(name)
	read, write := w.rwTheirs(t, name)
	for range 3 {
		require.NoError(t, mustTake(ctx, t, l.Read()).Unlock(ctx))
		require.NoError(t, mustTake(ctx, t, l.Write()).Unlock(ctx))
		require.NoError(t, read.Lock(ctx))
		require.NoError(t, read.Unlock(ctx))
		require.NoError(t, write.Lock(ctx))
		require.NoError(t, write.Unlock(ctx))
	}
	eventually(ctx, t, "nothing is left of "+name, func() bool {
		for _, key := range w.keys(ctx, t, name) {
			if !strings.Contains(key, "redisson_unlock_latch") { // Redisson drops its own a moment later
				return false
			}
		}
		return true
	})
}

// rwExclusion: threads and goroutines of both sides add to a counter in Redis, under the write side.
func rwExclusion(t *testing.T, w *world) {
	ctx, name, counter := within(t), redistest.Name(t), redistest.Name(t)
	lasts := redistest.Span(t, 1500*time.Millisecond, 20*time.Second)
	_, write := w.rwTheirs(t, name)
	theirs := begin(func() (peer.Contended, error) { return write.Contend(ctx, counter, 3, lasts, 0) })
	until := time.Now().Add(lasts)
	var mu sync.Mutex
	var mine int64
	var all sync.WaitGroup
	for range 2 {
		l := w.client(t, rueidisson.WithWatchdogTimeout(30*time.Second)).RWLock(name)
		for range 3 {
			all.Go(func() {
				for time.Now().Before(until) {
					if n := addOneWriting(ctx, t, w, l, counter); n > 0 {
						mu.Lock()
						mine += n
						mu.Unlock()
					}
				}
			})
		}
	}
	all.Wait()
	java := <-theirs
	require.NoError(t, java.err)
	sum, err := w.redis.Do(ctx, w.redis.B().Get().Key(counter).Build()).AsInt64()
	require.NoError(t, err)
	for _, key := range []string{counter, counter + inside} {
		require.NoError(t, w.redis.Do(ctx, w.redis.B().Del().Key(key).Build()).Error())
	}
	t.Logf("%d of Go, %d of Java", mine, java.value.Total)
	require.Equal(t, mine+java.value.Total, sum, "an update was lost")
	require.Positive(t, mine)
	require.Positive(t, java.value.Total)
}

// addOneWriting reads the counter and writes it back under the write side.
func addOneWriting(ctx context.Context, t *testing.T, w *world, l *rwlock.Lock, counter string) int64 {
	err := lock.Do(ctx, l.Write(), func(ctx context.Context) error {
		n, err := w.redis.Do(ctx, w.redis.B().Get().Key(counter).Build()).AsInt64()
		if err != nil {
			n = 0 // not there yet
		}
		return w.redis.Do(ctx, w.redis.B().Set().Key(counter).Value(strconv.FormatInt(n+1, 10)).Build()).Error()
	})
	if err != nil {
		t.Error(err)
		return 0
	}
	return 1
}
