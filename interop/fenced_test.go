//go:build interop

package interop

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/lock"
)

var fencedProofs = []proof{
	{row: "fenced_lock/tokens/both", test: tokensInterleave},
	{row: "fenced_lock/mutual_exclusion/go-java", test: goFencesJavaOut},
	{row: "fenced_lock/mutual_exclusion/java-go", test: javaFencesGoOut},
	{row: "fenced_lock/wake-up/go-java", test: goWakesFencedJava},
	{row: "fenced_lock/wake-up/java-go", test: fencedJavaWakesGo},
	{row: "fenced_lock/block_of_a_chain/go-java", test: javaGoesOnBehindABlock},
	{row: "fenced_lock/joined_hold/java-go", test: goJoinsFencedJava},
	{row: "fenced_lock/contest/both", test: fencedContest, alone: true},
}

// fencedThread is a fenced lock as a Java thread of its own uses it.
func (w *world) fencedThread(t *testing.T, name string) peer.FencedLock {
	return w.java.FencedLock(redistest.Name(t), name)
}

// goToken takes the lock in Go and gives it back.
func goToken(ctx context.Context, t *testing.T, l *lock.Fenced) int64 {
	t.Helper()
	h, err := l.Lock(ctx)
	require.NoError(t, err)
	token, ok := h.Fence()
	require.True(t, ok)
	require.NoError(t, h.Unlock(ctx))
	return token.Number()
}

// javaToken takes the lock in Java and gives it back.
func javaToken(ctx context.Context, t *testing.T, l peer.FencedLock) int64 {
	t.Helper()
	number, err := l.LockAndGetToken(ctx)
	require.NoError(t, err)
	require.NoError(t, l.Unlock(ctx))
	return number
}

// forget takes the counter away, which stays for ever.
func (w *world) forget(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	w.del(ctx, t, "redisson_lock_token:{"+name+"}")
	require.Empty(t, w.keys(ctx, t, name), "no other key is left behind")
}

func tokensInterleave(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	mine, theirs := w.client(t).FencedLock(name), w.fencedThread(t, name)
	last := javaToken(ctx, t, theirs)
	require.EqualValues(t, 1, last, "Redisson begins with 1")
	for range 5 {
		next := goToken(ctx, t, mine)
		require.Greater(t, next, last)
		require.Greater(t, next, time.Now().Add(-time.Hour).UnixMicro())
		last = javaToken(ctx, t, theirs)
		require.Equal(t, next+1, last, "Redisson goes on from there")
		got, err := theirs.Token(ctx)
		require.NoError(t, err)
		require.Equal(t, last, got)
	}
	w.forget(ctx, t, name)
}

func goFencesJavaOut(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	mine, theirs := w.client(t).FencedLock(name), w.fencedThread(t, name)
	h, err := mine.Lock(ctx)
	require.NoError(t, err)
	token, _ := h.Fence()
	requireTruth(ctx, t, false, theirs.TryLock)
	requireTruth(ctx, t, true, theirs.IsLocked)
	number, err := theirs.Token(ctx)
	require.NoError(t, err)
	require.Equal(t, token.Number(), number, "Java sees Go's token")
	require.NoError(t, h.Unlock(ctx))
	require.Greater(t, javaToken(ctx, t, theirs), token.Number())
	w.forget(ctx, t, name)
}

func javaFencesGoOut(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	mine, theirs := w.client(t).FencedLock(name), w.fencedThread(t, name)
	number, err := theirs.LockAndGetToken(ctx)
	require.NoError(t, err)
	_, err = mine.TryLock(ctx)
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	again, err := theirs.LockAndGetToken(ctx) // Java's re-entry takes a new token
	require.NoError(t, err)
	require.Equal(t, number+1, again)
	require.NoError(t, theirs.Unlock(ctx))
	_, err = mine.TryLock(ctx)
	require.ErrorIs(t, err, lock.ErrNotAcquired, "one level stays")
	require.NoError(t, theirs.Unlock(ctx))
	require.Greater(t, goToken(ctx, t, mine), again)
	w.forget(ctx, t, name)
}

func goWakesFencedJava(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	theirs := w.fencedThread(t, name)
	h, err := w.client(t).FencedLock(name).Lock(ctx, lock.WithLease(longLease))
	require.NoError(t, err)
	token, _ := h.Fence()
	got := begin(func() (int64, error) { return theirs.LockAndGetToken(ctx) })
	w.awaitListener(ctx, t, name)
	require.NoError(t, h.Unlock(ctx))
	o := <-got
	require.NoError(t, o.err)
	require.Greater(t, o.value, token.Number())
	require.NoError(t, theirs.Unlock(ctx))
	w.forget(ctx, t, name)
}

func fencedJavaWakesGo(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	mine, theirs := w.client(t).FencedLock(name), w.fencedThread(t, name)
	number, err := theirs.LockAndGetToken(ctx)
	require.NoError(t, err)
	got := begin(func() (*lock.Hold, error) { return mine.Lock(ctx) })
	w.awaitListener(ctx, t, name)
	require.NoError(t, theirs.Unlock(ctx))
	h, _ := goHas(t, got)
	token, ok := h.Fence()
	require.True(t, ok)
	require.Greater(t, token.Number(), number)
	require.NoError(t, h.Unlock(ctx))
	w.awaitSilence(ctx, t, name)
	w.forget(ctx, t, name)
}

// javaGoesOnBehindABlock has goroutines hand the lock on, each with a token of the
// process' own block: what Java gets then is above all of them.
func javaGoesOnBehindABlock(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	mine, theirs := w.client(t).FencedLock(name), w.fencedThread(t, name)
	numbers := make(chan int64, 100)
	require.NoError(t, together(20, func(int) error {
		for range 5 {
			h, err := mine.Lock(ctx)
			if err != nil {
				return err
			}
			token, _ := h.Fence()
			numbers <- token.Number() // in the order of the holds
			if err := h.Unlock(ctx); err != nil {
				return err
			}
		}
		return nil
	}))
	close(numbers)
	last := int64(0)
	for number := range numbers {
		require.Greater(t, number, last)
		last = number
	}
	require.Greater(t, javaToken(ctx, t, theirs), last)
	w.awaitSilence(ctx, t, name)
	w.forget(ctx, t, name)
}

func goJoinsFencedJava(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	mine, theirs := w.client(t).FencedLock(name), w.fencedThread(t, name)
	_, err := theirs.LockAndGetToken(ctx)
	require.NoError(t, err)
	holder, err := mine.Holder(ctx)
	require.NoError(t, err)
	owner, err := lock.ParseToken(holder.Owner)
	require.NoError(t, err)
	h, err := mine.Join(ctx, owner)
	require.NoError(t, err)
	_, ok := h.Fence()
	require.False(t, ok, "the token is the thread's")
	require.NoError(t, theirs.Unlock(ctx))
	requireTruth(ctx, t, true, theirs.IsLocked)
	require.NoError(t, h.Unlock(ctx))
	requireTruth(ctx, t, false, theirs.IsLocked)
	w.forget(ctx, t, name)
}

// fencedContest has threads of two JVMs, and goroutines of two clients of which one hands the lock on, contend:
// each holder's token is above those of all holders before.
func fencedContest(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	var book tokenBook
	end := time.Now().Add(redistest.Span(t, 2*time.Second, 20*time.Second))
	var parties []func() error
	for _, java := range []*peer.Peer{w.java, w.second} {
		for range 3 {
			theirs := java.FencedLock(redistest.Name(t), name)
			parties = append(parties, func() error {
				number, err := theirs.LockAndGetToken(ctx)
				return errors.Join(err, book.enter("Java", number), theirs.Unlock(ctx))
			})
		}
	}
	for _, mine := range []*lock.Fenced{w.client(t).FencedLock(name), w.client(t, rueidisson.WithHandover(0, 0)).FencedLock(name)} {
		for range 4 {
			parties = append(parties, func() error {
				h, err := mine.Lock(ctx)
				if err != nil {
					return err
				}
				token, _ := h.Fence()
				return errors.Join(book.enter("Go", token.Number()), h.Unlock(ctx))
			})
		}
	}
	require.NoError(t, together(len(parties), func(i int) error {
		for time.Now().Before(end) {
			if err := parties[i](); err != nil {
				return err
			}
		}
		return nil
	}))
	t.Logf("holds: %v", book.holds)
	require.Positive(t, book.holds["Java"])
	require.Positive(t, book.holds["Go"])
	w.awaitSilence(ctx, t, name)
	w.forget(ctx, t, name)
}

// tokenBook is what the lock guards: who enters has a token above all before.
type tokenBook struct {
	mu      sync.Mutex
	highest int64
	holds   map[string]int
}

func (b *tokenBook) enter(side string, number int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if number <= b.highest {
		return fmt.Errorf("%s has token %d behind %d", side, number, b.highest)
	}
	if b.holds == nil {
		b.holds = map[string]int{}
	}
	b.highest = number
	b.holds[side]++
	return nil
}
