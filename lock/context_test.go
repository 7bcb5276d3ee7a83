package lock_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// ballast is a value in a context that says when it has been collected.
type ballast struct{ _ [64]byte }

type ballastKey struct{}

// loaded is a context with a value of its own, and counts it in gone when
// nothing holds on to it any more.
func loaded(parent context.Context, gone *atomic.Int64) context.Context {
	b := new(ballast)
	runtime.AddCleanup(b, func(n *atomic.Int64) { n.Add(1) }, gone)
	return context.WithValue(parent, ballastKey{}, b)
}

func TestAContextThatNobodyUsesDoesNotStayWithItsHold(t *testing.T) {
	t.Parallel()
	const many = 1000
	for title, parent := range map[string]func(gone *atomic.Int64) (context.Context, context.CancelFunc){
		"of a parent that cannot end": func(gone *atomic.Int64) (context.Context, context.CancelFunc) {
			return loaded(context.Background(), gone), func() {}
		},
		"of a parent that cannot be cancelled any more": func(gone *atomic.Int64) (context.Context, context.CancelFunc) {
			return context.WithoutCancel(loaded(t.Context(), gone)), func() {}
		},
		"of a parent that has ended": func(gone *atomic.Int64) (context.Context, context.CancelFunc) {
			return context.WithCancel(loaded(context.Background(), gone))
		},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			hold := acquire(t, locktest.Open(t, redistest.Shared(t).Addr()).Lock(redistest.Name(t)))
			var gone atomic.Int64
			for range many {
				ctx, end := parent(&gone)
				require.NoError(t, hold.Context(ctx).Err())
				end()
			}
			require.Eventually(t, func() bool {
				runtime.GC()
				return gone.Load() == many
			}, redistest.Soon, 10*time.Millisecond, "they stayed")
			require.NoError(t, hold.Unlock(t.Context()))
		})
	}
}

func TestContextsOfParentsThatCannotEndHaveTheirOwnValuesAndOneEnd(t *testing.T) {
	t.Parallel()
	type key struct{}
	l := locktest.Open(t, redistest.Shared(t).Addr()).Lock(redistest.Name(t))
	hold := acquire(t, l)
	one := hold.Context(context.WithValue(context.Background(), key{}, "one"))
	two := hold.Context(context.WithValue(context.Background(), key{}, "two"))
	derived, cancel := context.WithTimeout(two, time.Hour)
	defer cancel()
	require.Equal(t, "one", one.Value(key{}))
	require.Equal(t, "two", derived.Value(key{}))
	inner := acquireUnder(derived, t, l)
	require.NoError(t, inner.Unlock(t.Context()))

	require.NoError(t, hold.Unlock(t.Context()))
	for _, ctx := range []context.Context{one, two, derived} {
		locktest.Ended(t, "the unlock", ctx.Done())
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		require.ErrorIs(t, context.Cause(ctx), lock.ErrReleased)
	}
}

// acquireUnder re-enters.
func acquireUnder(ctx context.Context, t testing.TB, l *lock.Lock) *lock.Hold {
	t.Helper()
	hold, err := l.TryLock(ctx)
	require.NoError(t, err)
	return hold
}

// masked hides that its parent ends, as programs do to detach work.
type masked struct{ context.Context }

func (masked) Done() <-chan struct{} { return nil }
func (masked) Err() error            { return nil }

func TestAHoldsContextEndsWithTheHoldAloneWhenItsParentHidesItsEnd(t *testing.T) {
	t.Parallel()
	hold := acquire(t, locktest.Open(t, redistest.Shared(t).Addr()).Lock(redistest.Name(t)))
	parent, cancel := context.WithCancelCause(context.Background())
	ctx := hold.Context(masked{parent})
	derived, stop := context.WithCancel(ctx)
	defer stop()
	cancel(errors.New("not for us"))
	require.NoError(t, ctx.Err())
	require.NoError(t, derived.Err())
	require.NoError(t, hold.Unlock(t.Context()))
	locktest.Ended(t, "the unlock", derived.Done())
	require.ErrorIs(t, context.Cause(ctx), lock.ErrReleased)
	require.ErrorIs(t, context.Cause(derived), lock.ErrReleased)
}

func TestAContextOfAHoldThatHasEndedHasEnded(t *testing.T) {
	t.Parallel()
	hold := acquire(t, locktest.Open(t, redistest.Shared(t).Addr()).Lock(redistest.Name(t)))
	require.NoError(t, hold.Unlock(t.Context()))
	for title, parent := range map[string]context.Context{"endless": context.Background(), "mortal": t.Context()} {
		ctx := hold.Context(parent)
		require.ErrorIs(t, context.Cause(ctx), lock.ErrReleased, title)
		locktest.Ended(t, title, ctx.Done())
	}
}

// endings is how long it takes until as many contexts of a parent as are made
// have been told that it ended, and the hold has a word to say again.
func endings(many int, child func(parent context.Context) context.Context, hold *lock.Hold) time.Duration {
	parent, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	var left atomic.Int64
	left.Store(int64(many))
	for range many {
		context.AfterFunc(child(parent), func() {
			if left.Add(-1) == 0 {
				close(done)
			}
		})
	}
	began := time.Now()
	cancel()
	<-done
	_ = hold.Err()
	return time.Since(began)
}

// The floor does the same with the context package alone. Where each context
// was searched for in a list, Err came up to 20 times as late as the floor.
func TestContextsThatEndTogetherDoNotHoldTheirHoldUp(t *testing.T) {
	t.Parallel()
	many := redistest.Count(t, 10_000, 30_000)
	hold := acquire(t, locktest.Open(t, redistest.Shared(t).Addr()).Lock(redistest.Name(t)))
	floor := endings(many, func(parent context.Context) context.Context {
		ctx, cancel := context.WithCancelCause(parent)
		context.AfterFunc(ctx, func() { cancel(nil) })
		return ctx
	}, hold)
	ours := endings(many, hold.Context, hold)
	t.Logf("%d contexts: %v, the floor %v", many, ours, floor)
	require.Less(t, ours, 6*floor)
	require.NoError(t, hold.Unlock(t.Context()))
}
