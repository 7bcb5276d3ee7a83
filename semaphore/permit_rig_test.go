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

// permitRig is a semaphore whose permits have leases, and a look at its keys.
type permitRig struct {
	*PermitSemaphore
	t   testing.TB
	raw rueidis.Client
	e   *locking.Engine
}

func newPermitRig(t testing.TB, change ...func(*core.Config)) *permitRig {
	t.Helper()
	return permitRigOn(t, redistest.Shared(t).Client(t), redistest.Name(t), change...)
}

func permitRigOn(t testing.TB, raw rueidis.Client, name string, change ...func(*core.Config)) *permitRig {
	t.Helper()
	e := enginetest.On(t, raw, change...)
	return &permitRig{NewPermits(e, name), t, raw, e}
}

// beside is another client on the same semaphore.
func (r *permitRig) beside(change ...func(*core.Config)) *permitRig {
	r.t.Helper()
	return permitRigOn(r.t, r.raw, r.of.key, change...)
}

func (r *permitRig) set(n int64) *permitRig {
	r.t.Helper()
	require.NoError(r.t, r.SetPermits(context.Background(), n))
	return r
}

// take takes a permit, which it gives back when the test ends.
func (r *permitRig) take(opts ...TryPermitOption) *Permit {
	r.t.Helper()
	p, err := r.TryAcquire(context.Background(), opts...)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = p.Release(context.Background()) })
	return p
}

func (r *permitRig) refused(opts ...TryPermitOption) {
	r.t.Helper()
	_, err := r.TryAcquire(context.Background(), opts...)
	require.ErrorIs(r.t, err, ErrNotAcquired)
}

func (r *permitRig) give(p *Permit) {
	r.t.Helper()
	require.NoError(r.t, p.Release(context.Background()))
}

// free is what stands in Redis, negative too.
func (r *permitRig) free() int64 {
	r.t.Helper()
	n, err := r.raw.Do(context.Background(), r.raw.B().Get().Key(r.of.key).Build()).AsInt64()
	require.NoError(r.t, err)
	return n
}

// held is how many ids stand in Redis.
func (r *permitRig) held() int64 {
	r.t.Helper()
	n, err := r.raw.Do(context.Background(), r.raw.B().Zcard().Key(r.of.leases).Build()).AsInt64()
	require.NoError(r.t, err)
	return n
}

// labels is how many labels stand in Redis.
func (r *permitRig) labels() int64 {
	r.t.Helper()
	n, err := r.raw.Do(context.Background(), r.raw.B().Hlen().Key(r.of.labels).Build()).AsInt64()
	require.NoError(r.t, err)
	return n
}

// stands checks what stands in Redis.
func (r *permitRig) stands(free, held int64) {
	r.t.Helper()
	require.Equal(r.t, []int64{free, held}, []int64{r.free(), r.held()}, "free and held")
}

func (r *permitRig) awaitStands(free, held int64) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return r.free() == free && r.held() == held }, soon, 5*time.Millisecond,
		"never %d free and %d held", free, held)
}

func (r *permitRig) do(args ...string) rueidis.RedisMessage {
	r.t.Helper()
	return redistest.Do(r.t, r.raw, args...)
}

// list is Permits, by their ids.
func (r *permitRig) list() map[string]PermitInfo {
	r.t.Helper()
	all := make(map[string]PermitInfo)
	for one, err := range r.Permits(context.Background()) {
		require.NoError(r.t, err)
		require.NotContains(r.t, all, one.ID)
		all[one.ID] = one
	}
	return all
}

// acquired is what came of an Acquire.
type acquired struct {
	*Permit
	err error
}

// acquiring is an Acquire on a goroutine of its own.
func (r *permitRig) acquiring(ctx context.Context, opts ...PermitOption) <-chan acquired {
	done := make(chan acquired, 1)
	go func() { // ends with ctx, or when the client closes
		p, err := r.Acquire(ctx, opts...)
		if err == nil {
			r.t.Cleanup(func() { _ = p.Release(context.Background()) })
		}
		done <- acquired{p, err}
	}()
	return done
}

// waiting blocks until so many wait in this process.
func (r *permitRig) waiting(n int) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		room := r.i.places.Get(r.of.key)
		defer r.i.places.Put(r.of.key, room)
		room.Mu.Lock()
		defer room.Mu.Unlock()
		there := room.Queue.Waiting()
		if room.Head != nil {
			there++
		}
		return there == n && (n == 0 || room.Looked)
	}, soon, time.Millisecond)
}

func gotPermit(t testing.TB, done <-chan acquired) *Permit {
	t.Helper()
	a := redistest.Done(t, done)
	require.NoError(t, a.err)
	return a.Permit
}
