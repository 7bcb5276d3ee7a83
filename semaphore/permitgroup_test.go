package semaphore

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// acquiringN is an AcquireN on a goroutine of its own.
func (r *permitRig) acquiringN(ctx context.Context, n int) <-chan error {
	done := make(chan error, 1)
	go func() { // ends with ctx, or when the client closes
		all, err := r.AcquireN(ctx, n)
		if err == nil {
			r.T.Cleanup(func() { _ = r.ReleaseN(context.Background(), all...) })
		}
		done <- err
	}()
	return done
}

// TestPermitSemaphoreAcquireNOfAllByTwoProcesses: one by one they would deadlock.
func TestPermitSemaphoreAcquireNOfAllByTwoProcesses(t *testing.T) {
	t.Parallel()
	r := newPermitRig(t).set(2)
	var all sync.WaitGroup
	for _, one := range []*permitRig{r, r.beside()} {
		for range 2 {
			all.Go(func() {
				for range redistest.Count(t, 25, 500) {
					held, err := one.AcquireN(t.Context(), 2)
					if err == nil {
						err = errors.Join(held[0].Err(), held[1].Err(), one.ReleaseN(t.Context(), held...))
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	all.Wait()
	r.stands(2, 0)
}

// TestPermitSemaphoreAcquireNIsNotOvertakenInItsProcess, and who was behind it is
// served at once when it gives up: no look has refused that.
func TestPermitSemaphoreAcquireNIsNotOvertakenInItsProcess(t *testing.T) {
	t.Parallel()
	r := newPermitRig(t, enginetest.NoLooks).set(3)
	p := r.take(WithLease(time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	large := r.acquiringN(ctx, 3)
	r.waiting(1)
	small := r.acquiring(t.Context(), WithLease(time.Hour))
	r.waiting(2)
	r.refused()
	redistest.Waits(t, small)
	r.stands(2, 1)
	cancel()
	require.ErrorIs(t, redistest.Done(t, large), context.Canceled)
	q := gotPermit(t, small)
	again := r.acquiringN(t.Context(), 3)
	r.waiting(1)
	r.give(p)
	redistest.Waits(t, again)
	r.give(q)
	require.NoError(t, redistest.Done(t, again))
	r.stands(0, 3)
}

// TestPermitSemaphoreAcquireNTakesInOrderOfOneCall: whoever wants few does not overtake
// in the call that asks for all.
func TestPermitSemaphoreAcquireNTakesInOrderOfOneCall(t *testing.T) {
	t.Parallel()
	r := newPermitRig(t, enginetest.NoLooks).set(3)
	other := r.beside()
	held, err := other.AcquireN(t.Context(), 3, WithLease(time.Hour))
	require.NoError(t, err)
	first := r.acquiring(t.Context(), WithLease(time.Hour))
	r.waiting(1)
	large := r.acquiringN(t.Context(), 2)
	r.waiting(2)
	small := r.acquiring(t.Context(), WithLease(time.Hour))
	r.waiting(3)
	require.NoError(t, other.ReleaseN(t.Context(), held[:2]...))
	gotPermit(t, first)
	redistest.Waits(t, large)
	redistest.Waits(t, small)
	r.stands(1, 2)
	other.give(held[2])
	require.NoError(t, redistest.Done(t, large))
	redistest.Waits(t, small)
}

func TestPermitSemaphoreAcquireNWhoseReplyIsLostCountsOnce(t *testing.T) {
	t.Parallel()
	for name, silent := range map[string]bool{"cut": false, "silent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, proxy := faultyPermits(t, enginetest.ShortSends)
			r.set(5)
			how := []redistest.DropOption(nil)
			if silent {
				how = append(how, redistest.Silent())
			}
			lost := proxy.DropReply(r.sent(exchangeScript), 1, how...)
			all, err := r.AcquireN(t.Context(), 3)
			require.NoError(t, err)
			lost.Await(t)
			r.stands(2, 3)
			proxy.Restore()
			lost = proxy.DropReply(r.sent(exchangeScript), 1, how...)
			require.NoError(t, r.ReleaseN(t.Context(), all...))
			lost.Await(t)
			r.stands(5, 0)
			proxy.Restore()
		})
	}
}

func TestPermitSemaphoreAcquireNThatIsCancelledLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newPermitRig(t).set(4)
	other := r.beside()
	for range redistest.Count(t, 60, 2000) {
		ctx, cancel := context.WithCancel(t.Context())
		done := r.acquiringN(ctx, 3)
		p, err := other.TryAcquireN(t.Context(), 2)
		cancel()
		<-done
		if err == nil {
			require.NoError(t, other.ReleaseN(t.Context(), p...))
		}
		if r.free() < 3 {
			require.Eventually(t, func() bool {
				for id := range r.list() { // acquired before the cancel
					_ = r.ReleaseID(t.Context(), id)
				}
				return r.free() == 4
			}, soon, time.Millisecond)
		}
	}
	r.awaitStands(4, 0)
}

// TestPermitLabelsGoWithTheirPermits: those of a process that died with the next call
// that takes them in, and those of permits that Redisson gave back by chance.
func TestPermitLabelsGoWithTheirPermits(t *testing.T) {
	t.Parallel()
	r := newPermitRig(t).set(2)
	r.take(WithLabel("dies"), WithLease(time.Hour))
	p := r.take(WithLabel("lives"), WithLease(time.Hour))
	for id := range r.list() {
		if id != p.ID() {
			r.Ask("ZADD", r.of.leases, "1", raw(id))
		}
	}
	q := r.take(WithLabel("next"), WithLease(time.Hour))
	require.EqualValues(t, 2, r.labels())
	r.Ask("ZREM", r.of.leases, q.want.id)
	r.Ask("INCRBY", r.of.key, "1")
	require.EqualValues(t, 2, r.labels(), "as Redisson leaves it")
	redistest.Eventually(t, func() bool {
		next := r.take(WithLabel("again"))
		r.give(next)
		return r.labels() == 1
	}, soon, time.Millisecond, "it never goes")
	require.Equal(t, "lives", r.list()[p.ID()].Label)
	ttl := r.Ask("PTTL", r.of.labels)
	n, err := ttl.AsInt64()
	require.NoError(t, err)
	require.EqualValues(t, -1, n)
}

// TestPermitLabelsLiveAsLongAsTheSemaphore.
func TestPermitLabelsLiveAsLongAsTheSemaphore(t *testing.T) {
	t.Parallel()
	r := newPermitRig(t)
	_, err := r.TrySetPermits(t.Context(), 1, WithTTL(time.Hour))
	require.NoError(t, err)
	r.take(WithLabel("me"))
	ttl := r.Ask("PTTL", r.of.labels)
	n, err := ttl.AsInt64()
	require.NoError(t, err)
	require.Positive(t, n)
	require.LessOrEqual(t, n, time.Hour.Milliseconds())
}

// TestPermitThatIsAdoptedIsRenewed, and outlives the lease that it was acquired with.
func TestPermitThatIsAdoptedIsRenewed(t *testing.T) {
	t.Parallel()
	timeout := redistest.Scaled(6 * time.Second)
	r := newPermitRig(t).set(1)
	adopts := r.beside(func(c *core.Config) { c.WatchdogTimeout = timeout })
	p := r.take(WithLease(timeout))
	q, err := adopts.Adopt(t.Context(), p.ID())
	require.NoError(t, err)
	<-p.Lost()
	began := time.Now()
	redistest.Eventually(t, func() bool { return time.Since(began) > timeout }, soon, 10*time.Millisecond)
	require.NoError(t, q.Err())
	r.stands(0, 1)
	require.ErrorIs(t, p.Release(t.Context()), ErrLost)
	adopts.awaitStands(1, 0)
	redistest.Done(t, q.Lost())
	require.ErrorIs(t, q.Err(), ErrLost, "the first release ends it for all")
}
