package semaphore

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

var soon = redistest.Soon

// rig is a semaphore, and a look at its key.
type rig struct {
	*Semaphore
	t   testing.TB
	raw rueidis.Client
	e   *locking.Engine
}

func newRig(t testing.TB, change ...func(*core.Config)) *rig {
	t.Helper()
	return rigOn(t, redistest.Shared(t).Client(t), redistest.Name(t), change...)
}

func rigOn(t testing.TB, raw rueidis.Client, name string, change ...func(*core.Config)) *rig {
	t.Helper()
	e := enginetest.On(t, raw, change...)
	return &rig{New(e, name), t, raw, e}
}

// beside is another client on the same semaphore.
func (r *rig) beside(change ...func(*core.Config)) *rig {
	r.t.Helper()
	return rigOn(r.t, r.raw, r.of.key, change...)
}

func (r *rig) set(n int64) *rig {
	r.t.Helper()
	require.NoError(r.t, r.SetPermits(context.Background(), n))
	return r
}

func (r *rig) take(n int64) {
	r.t.Helper()
	require.NoError(r.t, r.TryAcquire(context.Background(), n))
}

func (r *rig) refused(n int64) {
	r.t.Helper()
	require.ErrorIs(r.t, r.TryAcquire(context.Background(), n), ErrNotAcquired)
}

func (r *rig) give(n int64) { r.t.Helper(); require.NoError(r.t, r.Release(context.Background(), n)) }

// free is what stands in Redis, negative too.
func (r *rig) free() int64 {
	r.t.Helper()
	n, err := r.raw.Do(context.Background(), r.raw.B().Get().Key(r.of.key).Build()).AsInt64()
	require.NoError(r.t, err)
	return n
}

func (r *rig) awaitFree(n int64) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return r.free() == n }, soon, 5*time.Millisecond, "never %d free, but %d", n, r.free())
}

func (r *rig) do(args ...string) rueidis.RedisMessage {
	r.t.Helper()
	return redistest.Do(r.t, r.raw, args...)
}

// acquiring is an Acquire on a goroutine of its own.
func (r *rig) acquiring(ctx context.Context, n int64) <-chan error {
	done := make(chan error, 1)
	go func() { done <- r.Acquire(ctx, n) }() // ends with ctx, or when the client closes
	return done
}

// waiting blocks until so many wait in this process.
func (r *rig) waiting(n int) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		p := r.h.places.Get(r.of.key)
		defer r.h.places.Put(r.of.key, p)
		p.Mu.Lock()
		defer p.Mu.Unlock()
		there := p.Queue.Waiting()
		if p.Head != nil {
			there++
		}
		return there == n && (n == 0 || p.Looked)
	}, soon, time.Millisecond)
}

func got(t testing.TB, done <-chan error) { t.Helper(); require.NoError(t, redistest.Done(t, done)) }
