package semaphore

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

var soon = redistest.Soon

// rig is a semaphore, and a look at its key.
type rig struct {
	*Semaphore
	enginetest.Rig
}

func newRig(t testing.TB, change ...func(*core.Config)) *rig {
	t.Helper()
	return rigOn(t, redistest.Shared(t).Client(t), redistest.Name(t), change...)
}

func rigOn(t testing.TB, raw rueidis.Client, name string, change ...func(*core.Config)) *rig {
	t.Helper()
	r := enginetest.NewRig(t, raw, change...)
	return &rig{New(r.E, name), r}
}

// beside is another client on the same semaphore.
func (r *rig) beside(change ...func(*core.Config)) *rig {
	r.T.Helper()
	return rigOn(r.T, r.Raw, r.of.key, change...)
}

func (r *rig) set(n int64) *rig {
	r.T.Helper()
	require.NoError(r.T, r.SetPermits(context.Background(), n))
	return r
}

func (r *rig) take(n int64) {
	r.T.Helper()
	require.NoError(r.T, r.TryAcquire(context.Background(), n))
}

func (r *rig) refused(n int64) {
	r.T.Helper()
	require.ErrorIs(r.T, r.TryAcquire(context.Background(), n), ErrNotAcquired)
}

func (r *rig) give(n int64) { r.T.Helper(); require.NoError(r.T, r.Release(context.Background(), n)) }

// free is what stands in Redis, negative too.
func (r *rig) free() int64 { r.T.Helper(); return r.Number("GET", r.of.key) }

func (r *rig) awaitFree(n int64) {
	r.T.Helper()
	require.Eventually(r.T, func() bool { return r.free() == n }, soon, 5*time.Millisecond, "never %d free, but %d", n, r.free())
}

// acquiring is an Acquire on a goroutine of its own.
func (r *rig) acquiring(ctx context.Context, n int64) <-chan error {
	done := make(chan error, 1)
	go func() { done <- r.Acquire(ctx, n) }() // ends with ctx, or when the client closes
	return done
}

// waiting blocks until so many wait in this process.
func (r *rig) waiting(n int) {
	r.T.Helper()
	require.Eventually(r.T, func() bool {
		w := r.h.places.Get(r.of.key)
		defer r.h.places.Put(r.of.key, w)
		return w.has(n)
	}, soon, time.Millisecond)
}

// has reports whether so many wait, and the last look was answered.
func (r *waitRoom[H]) has(n int) bool {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	there := r.Queue.Waiting()
	if r.Head != nil {
		there++
	}
	return there == n && (n == 0 || r.Looked)
}

func got(t testing.TB, done <-chan error) { t.Helper(); require.NoError(t, redistest.Done(t, done)) }
