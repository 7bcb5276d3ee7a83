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

// permitRig is a semaphore whose permits have leases, and a look at its keys.
type permitRig struct {
	*PermitSemaphore
	enginetest.Rig
}

func newPermitRig(t testing.TB, change ...func(*core.Config)) *permitRig {
	t.Helper()
	return permitRigOn(t, redistest.Shared(t).Client(t), redistest.Name(t), change...)
}

func permitRigOn(t testing.TB, raw rueidis.Client, name string, change ...func(*core.Config)) *permitRig {
	t.Helper()
	r := enginetest.NewRig(t, raw, change...)
	return &permitRig{NewPermits(r.E, name), r}
}

// beside is another client on the same semaphore.
func (r *permitRig) beside(change ...func(*core.Config)) *permitRig {
	r.T.Helper()
	return permitRigOn(r.T, r.Raw, r.of.key, change...)
}

func (r *permitRig) set(n int64) *permitRig {
	r.T.Helper()
	require.NoError(r.T, r.SetPermits(context.Background(), n))
	return r
}

// take takes a permit, which it gives back when the test ends.
func (r *permitRig) take(opts ...TryPermitOption) *Permit {
	r.T.Helper()
	p, err := r.TryAcquire(context.Background(), opts...)
	require.NoError(r.T, err)
	r.T.Cleanup(func() { _ = p.Release(context.Background()) })
	return p
}

func (r *permitRig) refused(opts ...TryPermitOption) {
	r.T.Helper()
	_, err := r.TryAcquire(context.Background(), opts...)
	require.ErrorIs(r.T, err, ErrNotAcquired)
}

func (r *permitRig) give(p *Permit) {
	r.T.Helper()
	require.NoError(r.T, p.Release(context.Background()))
}

// free is what stands in Redis, negative too.
func (r *permitRig) free() int64 { r.T.Helper(); return r.Number("GET", r.of.key) }

// held is how many ids stand in Redis.
func (r *permitRig) held() int64 { r.T.Helper(); return r.Number("ZCARD", r.of.leases) }

// labels is how many labels stand in Redis.
func (r *permitRig) labels() int64 { r.T.Helper(); return r.Number("HLEN", r.of.labels) }

// stands checks what stands in Redis.
func (r *permitRig) stands(free, held int64) {
	r.T.Helper()
	require.Equal(r.T, []int64{free, held}, []int64{r.free(), r.held()}, "free and held")
}

func (r *permitRig) awaitStands(free, held int64) {
	r.T.Helper()
	require.Eventually(r.T, func() bool { return r.free() == free && r.held() == held }, soon, 5*time.Millisecond,
		"never %d free and %d held", free, held)
}

// list is Permits, by their ids.
func (r *permitRig) list() map[string]PermitInfo {
	r.T.Helper()
	all := make(map[string]PermitInfo)
	for one, err := range r.Permits(context.Background()) {
		require.NoError(r.T, err)
		require.NotContains(r.T, all, one.ID)
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
			r.T.Cleanup(func() { _ = p.Release(context.Background()) })
		}
		done <- acquired{p, err}
	}()
	return done
}

// waiting blocks until so many wait in this process.
func (r *permitRig) waiting(n int) {
	r.T.Helper()
	require.Eventually(r.T, func() bool {
		w := r.i.places.Get(r.of.key)
		defer r.i.places.Put(r.of.key, w)
		return w.has(n)
	}, soon, time.Millisecond)
}

func gotPermit(t testing.TB, done <-chan acquired) *Permit {
	t.Helper()
	a := redistest.Done(t, done)
	require.NoError(t, a.err)
	return a.Permit
}
