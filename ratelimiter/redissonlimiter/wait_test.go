package redissonlimiter_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

func TestWaitTakesWhatIsThere(t *testing.T) {
	rigOnEveryServer(t, func(t *testing.T, r *rig) {
		r.set(atMost(5, time.Hour))
		require.NoError(t, r.Wait(t.Context()))
		require.NoError(t, r.WaitN(t.Context(), 4))
		r.available(0)
	})
}

func TestWaitLastsUntilThePermitsCome(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const interval = 120 * time.Millisecond
	r.set(atMost(4, interval))
	began := r.serverMillis()
	r.allowed(4)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { require.NoError(t, r.Wait(context.Background())) })
	}
	all.Wait()
	require.GreaterOrEqual(t, r.serverMillis()-began, 2*interval.Milliseconds())
	require.LessOrEqual(t, len(r.entries(r.logKey())), 4, "the last interval's")
}

func TestWaitRefusesAtOnceWhatComesTooLate(t *testing.T) {
	t.Parallel()
	r, p := watchedRig(t)
	r.set(atMost(5, time.Hour))
	r.allowed(5)
	before := r.state()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p.ResetLog()
	err := r.Wait(ctx)
	require.ErrorIs(t, err, ratelimiter.ErrExceedsDeadline)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, r.name)
	require.NoError(t, ctx.Err(), "it has not waited for that")
	require.Equal(t, 1, p.Count(redistest.AnyScript()))
	require.Equal(t, before, r.state())
}

// waitingRig is a wait that has been refused once and sleeps.
func waitingRig(t *testing.T, r *rig, p *redistest.Proxy, ctx context.Context) <-chan error {
	t.Helper()
	p.ResetLog()
	done := make(chan error, 1)
	go func() { done <- r.Wait(ctx) }()
	p.AwaitCount(t, r.script("log_take"), 1)
	return done
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r, p := watchedRig(t)
	r.set(atMost(5, time.Hour))
	r.allowed(5)
	before := r.state()
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := waitingRig(t, r, p, ctx)
	cancel(gone)
	err := <-done
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, gone)
	require.Equal(t, before, r.state())
}

func TestWaitEndsWithTheClient(t *testing.T) {
	t.Parallel()
	r, p := watchedRig(t)
	r.set(atMost(5, time.Hour))
	r.allowed(5)
	done := waitingRig(t, r, p, context.Background())
	require.NoError(t, locking.Close(context.Background(), r.e))
	require.ErrorIs(t, <-done, ratelimiter.ErrClosed)
}

// A release is not announced; who waits asks again within 5 s.
func TestWaitSeesWhatWasReleased(t *testing.T) {
	t.Parallel()
	r, p := watchedRig(t)
	r.set(atMost(5, time.Hour))
	r.allowed(5)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
	defer cancel()
	done := waitingRig(t, r, p, ctx)
	require.NoError(t, r.Release(t.Context(), 1))
	require.NoError(t, <-done)
	r.available(0)
}

func TestWaitSeesThatTheLimiterIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.set(atMost(1, 300*time.Millisecond))
	r.allowed(1)
	done := make(chan error, 1)
	go func() {
		var err error
		for err == nil { // the first may still be granted
			err = r.Wait(context.Background())
		}
		done <- err
	}()
	_, err := r.Delete(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, <-done, ratelimiter.ErrNoRate)
}
