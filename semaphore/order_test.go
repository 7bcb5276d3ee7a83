package semaphore

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// ordered is another client on the same semaphore, in the order of the fleet.
func (r *rig) ordered(change ...func(*core.Config)) *rig {
	r.T.Helper()
	e := enginetest.On(r.T, r.Raw, append(change, enginetest.NoLooks)...)
	return &rig{New(e, r.of.key, WithFleetOrder()), enginetest.Rig{T: r.T, Raw: r.Raw, E: e}}
}

func (r *permitRig) ordered() *permitRig {
	r.T.Helper()
	e := enginetest.On(r.T, r.Raw)
	return &permitRig{NewPermits(e, r.of.key, WithFleetOrder()), enginetest.Rig{T: r.T, Raw: r.Raw, E: e}}
}

// queued blocks until so many are queued over all processes, behind the first.
func queued(t *testing.T, do func(args ...string) int64, name string, n int64) {
	t.Helper()
	key := keys.SemaphoreOrder(name)
	redistest.Eventually(t, func() bool { return do("EXISTS", key) == 1 && do("LLEN", keys.FairQueue(key)) == n }, soon, time.Millisecond)
}

func (r *rig) number(args ...string) int64 {
	r.T.Helper()
	msg := r.Ask(args...)
	n, err := msg.AsInt64()
	require.NoError(r.T, err)
	return n
}

func (r *permitRig) number(args ...string) int64 {
	r.T.Helper()
	msg := r.Ask(args...)
	n, err := msg.AsInt64()
	require.NoError(r.T, err)
	return n
}

// TestSemaphoreWithFleetOrderServesProcessesInTheirOrder: a large request is first, and
// nobody takes the few permits that come free meanwhile.
func TestSemaphoreWithFleetOrderServesProcessesInTheirOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t).set(3)
	r.take(3)
	a, b, c := r.ordered(), r.ordered(), r.ordered()
	large := a.acquiring(t.Context(), 3)
	queued(t, r.number, r.of.key, 0)
	small := b.acquiring(t.Context(), 1)
	queued(t, r.number, r.of.key, 1)
	last := a.acquiring(t.Context(), 2)
	queued(t, r.number, r.of.key, 2)
	for range 2 {
		r.give(1)
		c.refused(1)
		redistest.Waits(t, small)
	}
	require.EqualValues(t, 2, r.free())
	r.give(1)
	got(t, large)
	redistest.Waits(t, small)
	require.Zero(t, r.free())
	r.give(1)
	got(t, small)
	r.give(1)
	redistest.Waits(t, last)
	r.give(1)
	got(t, last)
	redistest.Eventually(t, func() bool { return r.number("EXISTS", keys.SemaphoreOrder(r.of.key)) == 0 }, soon, time.Millisecond)
	r.give(1)
	c.take(1)
}

// TestPermitSemaphoreWithFleetOrderServesProcessesInTheirOrder.
func TestPermitSemaphoreWithFleetOrderServesProcessesInTheirOrder(t *testing.T) {
	t.Parallel()
	r := newPermitRig(t).set(2)
	p, q := r.take(), r.take()
	a, b, c := r.ordered(), r.ordered(), r.ordered()
	large := a.acquiringN(t.Context(), 2)
	queued(t, r.number, r.of.key, 0)
	small := b.acquiring(t.Context())
	queued(t, r.number, r.of.key, 1)
	r.give(p)
	c.refused()
	redistest.Waits(t, small)
	r.stands(1, 1)
	r.give(q)
	require.NoError(t, redistest.Done(t, large))
	redistest.Waits(t, small)
}

// TestSemaphoreWithFleetOrderWaiterThatLeavesIsPassedOver: the first, and one behind it.
func TestSemaphoreWithFleetOrderWaiterThatLeavesIsPassedOver(t *testing.T) {
	t.Parallel()
	r := newRig(t).set(1)
	a, b, c := r.ordered(), r.ordered(), r.ordered()
	ctx, leave := context.WithCancel(t.Context())
	large := a.acquiring(ctx, 2)
	queued(t, r.number, r.of.key, 0)
	second := b.acquiring(ctx, 2)
	queued(t, r.number, r.of.key, 1)
	require.ErrorIs(t, c.TryAcquire(t.Context(), 1, WithWait(redistest.Scaled(2*time.Second))), ErrNotAcquired)
	queued(t, r.number, r.of.key, 1)
	third := c.acquiring(t.Context(), 1)
	queued(t, r.number, r.of.key, 2)
	leave()
	require.ErrorIs(t, redistest.Done(t, large), context.Canceled)
	require.ErrorIs(t, redistest.Done(t, second), context.Canceled)
	got(t, third)
	require.Zero(t, r.free())
}

// TestSemaphoreWithFleetOrderWaiterThatLosesItsTurnQueuesAgain, behind the one that was next,
// and is served in the end.
func TestSemaphoreWithFleetOrderWaiterThatLosesItsTurnQueuesAgain(t *testing.T) {
	t.Parallel()
	short := func(c *core.Config) { c.WatchdogTimeout = redistest.Scaled(3 * time.Second) }
	r := newRig(t).set(2)
	r.take(2)
	a, b, c := r.ordered(short), r.ordered(short), r.ordered(short)
	large := a.acquiring(t.Context(), 2)
	queued(t, r.number, r.of.key, 0)
	first := r.holder()
	small := b.acquiring(t.Context(), 1)
	queued(t, r.number, r.of.key, 1)
	r.Ask("DEL", keys.SemaphoreOrder(r.of.key))
	redistest.Eventually(t, func() bool { now := r.holder(); return now != "" && now != first }, soon, time.Millisecond)
	queued(t, r.number, r.of.key, 1)
	r.give(1)
	got(t, small)
	queued(t, r.number, r.of.key, 0)
	r.give(1)
	c.refused(1)
	redistest.Waits(t, large)
	r.give(1)
	got(t, large)
	require.Zero(t, r.free())
}

// holder is the owner that is the first of the queue, "" if none is.
func (r *rig) holder() string {
	r.T.Helper()
	msg := r.Ask("HKEYS", keys.SemaphoreOrder(r.of.key))
	owners, err := msg.AsStrSlice()
	require.NoError(r.T, err)
	if len(owners) == 0 {
		return ""
	}
	return owners[0]
}

// TestSemaphoreWithFleetOrderKeepsWhatIsGrantedWhenTheTurnIsLost: both happen at once, and
// the permits are the caller's.
func TestSemaphoreWithFleetOrderKeepsWhatIsGrantedWhenTheTurnIsLost(t *testing.T) {
	t.Parallel()
	r := newRig(t).set(1)
	r.take(1)
	ctx, leave := context.WithCancelCause(t.Context())
	p := r.h.places.Get(r.of.key)
	defer r.h.places.Put(r.of.key, p)
	w := &waiter{h: r.h, of: r.of, p: p, n: 1, turn: handover.NewWaiter[struct{}](true)}
	p.Mu.Lock()
	require.True(t, p.enter(w.turn))
	require.True(t, p.Serve(w.turn, struct{}{}))
	p.Mu.Unlock()
	leave(errPassedOver)
	require.NoError(t, p.Lead(ctx, w, false))
	require.Zero(t, r.free())
}

// TestSemaphoreWithFleetOrderTakesWhatIsFreeAtOnce, also behind a queue of which every
// process has died, and leaves nothing.
func TestSemaphoreWithFleetOrderTakesWhatIsFreeAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t).set(3)
	a := r.ordered()
	a.take(1)
	require.NoError(t, a.Acquire(t.Context(), 1))
	require.NoError(t, a.TryAcquire(t.Context(), 1, WithWait(soon)))
	require.Zero(t, r.free())
	a.refused(1)
	require.ErrorIs(t, a.TryAcquire(t.Context(), 1, WithWait(redistest.Scaled(2*time.Second))), ErrNotAcquired)
	_, err := r.Delete(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, a.TryAcquire(t.Context(), 1), ErrNotSet)
	require.ErrorIs(t, a.Acquire(t.Context(), 0), ErrInvalidArgument)
	require.ErrorIs(t, New(a.E, r.of.key, nil).Acquire(t.Context(), 1), ErrInvalidArgument)
	r.set(1)
	key := keys.SemaphoreOrder(r.of.key)
	r.Ask("RPUSH", keys.FairQueue(key), "285475da-9152-4c83-822a-67ee2f116a79:1234567890123456789")
	redistest.Eventually(t, func() bool { return a.TryAcquire(t.Context(), 1) == nil }, soon, 10*time.Millisecond)
	redistest.Eventually(t, func() bool { return r.number("EXISTS", key, keys.FairQueue(key)) == 0 }, soon, time.Millisecond)
}

// TestSemaphoreWithFleetOrderLostRepliesTakeOnce: to the look at the queue, and to a take.
func TestSemaphoreWithFleetOrderLostRepliesTakeOnce(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]*scripts.Script{"order": orderScript, "take": takeScript} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain, proxy := faulty(t)
			r := &rig{New(plain.E, plain.of.key, WithFleetOrder()), enginetest.Rig{T: t, Raw: plain.Raw, E: plain.E}}
			r.set(3)
			lost := proxy.DropReply(redistest.MatchScript(script.Body()), 1)
			require.NoError(t, r.Acquire(t.Context(), 2))
			lost.Await(t)
			require.EqualValues(t, 1, r.free())
		})
	}
}

// TestSemaphoreWithFleetOrderWaiterThatIsCutOffIsPassedOver, when the lease of its place ends.
func TestSemaphoreWithFleetOrderWaiterThatIsCutOffIsPassedOver(t *testing.T) {
	t.Parallel()
	plain, proxy := faulty(t, enginetest.NoLooks, func(c *core.Config) { c.WatchdogTimeout = redistest.Scaled(3 * time.Second) })
	dies := &rig{New(plain.E, plain.of.key, WithFleetOrder()), enginetest.Rig{T: t, Raw: plain.Raw, E: plain.E}}
	r := rigOn(t, plain.Raw, plain.of.key).set(1)
	ctx, leave := context.WithCancel(t.Context())
	large := dies.acquiring(ctx, 2)
	queued(t, r.number, r.of.key, 0)
	next := r.ordered().acquiring(t.Context(), 1)
	queued(t, r.number, r.of.key, 1)
	proxy.BlackHole()
	got(t, next)
	leave()
	proxy.Restore()
	require.Error(t, redistest.Done(t, large))
}

// TestSemaphoreWithFleetOrderKeepsTheSum: three processes, large requests and small ones,
// of which some are given up.
func TestSemaphoreWithFleetOrderKeepsTheSum(t *testing.T) {
	t.Parallel()
	r := newRig(t).set(3)
	var all sync.WaitGroup
	for range 3 {
		one := r.ordered()
		for size := range int64(3) {
			all.Go(func() {
				for k := range redistest.Count(t, 8, 200) {
					err := one.Acquire(t.Context(), size+1)
					if k%3 == 0 {
						ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
						if one.Acquire(ctx, size+1) == nil {
							one.give(size + 1)
						}
						cancel()
					}
					if err == nil {
						err = one.Release(t.Context(), size+1)
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
	r.awaitFree(3)
	redistest.Eventually(t, func() bool { return r.number("EXISTS", keys.SemaphoreOrder(r.of.key)) == 0 }, soon, time.Millisecond)
}
