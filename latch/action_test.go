package latch

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// acting is a barrier on the same name, by another client, whose last party acts.
func (r *barrierRig) acting(action func(ctx context.Context) error, change ...func(*core.Config)) *barrierRig {
	r.T.Helper()
	b := r.beside(change...)
	b.Barrier = NewBarrier(b.E, r.of.key, r.parties, WithAction(action))
	return b
}

// TestBarrierActionRunsOnceBeforeAnybodyPasses, for each generation, and a party that comes
// meanwhile is of the next one.
func TestBarrierActionRunsOnceBeforeAnybodyPasses(t *testing.T) {
	t.Parallel()
	r := newBarrierRig(t, 2)
	runs, goOn := make(chan struct{}), make(chan struct{})
	var ran atomic.Int32
	one := r.acting(func(ctx context.Context) error {
		ran.Add(1)
		runs <- struct{}{}
		<-goOn
		return ctx.Err()
	}, enginetest.NoLooks)
	for n := range int32(3) {
		first := one.arriving(t.Context())
		one.waiting(1)
		second := one.arriving(t.Context())
		redistest.Done(t, runs)
		redistest.Waits(t, first)
		third := one.arriving(t.Context())
		one.waiting(2)
		goOn <- struct{}{}
		a, b := redistest.Done(t, first), redistest.Done(t, second)
		require.NoError(t, errors.Join(a.err, b.err))
		require.Equal(t, []int{0, 1}, []int{a.before, b.before})
		require.Equal(t, 1+2*n, ran.Load())
		fourth := one.arriving(t.Context())
		redistest.Done(t, runs)
		goOn <- struct{}{}
		a, b = redistest.Done(t, third), redistest.Done(t, fourth)
		require.NoError(t, errors.Join(a.err, b.err))
		require.Equal(t, 1, a.before+b.before)
		require.Equal(t, 2+2*n, ran.Load())
	}
}

// TestBarrierActionThatFailsBreaksItsGeneration, as one that panics does, and the next
// generation is as any.
func TestBarrierActionThatFailsBreaksItsGeneration(t *testing.T) {
	t.Parallel()
	r := newBarrierRig(t, 2)
	failed := errors.New("failed")
	ends := failed
	one := r.acting(func(context.Context) error {
		if ends == nil {
			panic("action")
		}
		return ends
	})
	first := r.arriving(t.Context())
	r.waiting(1)
	_, err := one.Await(t.Context())
	require.ErrorIs(t, err, ErrBroken)
	require.ErrorIs(t, err, failed)
	require.ErrorIs(t, redistest.Done(t, first).err, ErrBroken)
	ends = nil
	first = r.arriving(t.Context())
	r.waiting(1)
	require.PanicsWithValue(t, "action", func() { _, _ = one.Await(t.Context()) })
	require.ErrorIs(t, redistest.Done(t, first).err, ErrBroken)
	first = one.arriving(t.Context())
	one.waiting(1)
	r.together(first)
}

// TestBarrierActionOfAPartyThatGivesUpOrDies: the others find the generation broken.
func TestBarrierActionOfAPartyThatGivesUpOrDies(t *testing.T) {
	t.Parallel()
	t.Run("its context ends", func(t *testing.T) {
		t.Parallel()
		r := newBarrierRig(t, 2)
		ctx, cancel := context.WithCancel(t.Context())
		one := r.acting(func(ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() })
		first := r.arriving(t.Context())
		r.waiting(1)
		_, err := one.Await(ctx)
		require.ErrorIs(t, err, ErrBroken)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, redistest.Done(t, first).err, ErrBroken)
	})
	t.Run("another gives up", func(t *testing.T) {
		t.Parallel()
		r := newBarrierRig(t, 2)
		runs, goOn := make(chan struct{}), make(chan struct{})
		one := r.acting(func(context.Context) error { close(runs); <-goOn; return nil })
		ctx, cancel := context.WithCancel(t.Context())
		first := r.arriving(ctx)
		r.waiting(1)
		second := one.arriving(t.Context())
		redistest.Done(t, runs)
		cancel()
		require.ErrorIs(t, redistest.Done(t, first).err, ErrBroken)
		close(goOn)
		require.ErrorIs(t, redistest.Done(t, second).err, ErrBroken)
	})
	t.Run("its lease ends", func(t *testing.T) {
		t.Parallel()
		r, proxy := faultyBarrier(t, 2, func(c *core.Config) { c.WatchdogTimeout = time.Second })
		lives := barrierOn(t, r.Raw, r.of.key, 2)
		runs := make(chan struct{})
		r.Barrier = NewBarrier(r.E, r.of.key, 2, WithAction(func(ctx context.Context) error { close(runs); <-ctx.Done(); return ctx.Err() }))
		first := lives.arriving(t.Context())
		lives.waiting(1)
		second := r.arriving(t.Context())
		redistest.Done(t, runs)
		proxy.BlackHole()
		require.ErrorIs(t, redistest.Done(t, first).err, ErrBroken)
		require.ErrorIs(t, redistest.Done(t, second).err, ErrOutcomeUnknown)
		proxy.Restore()
	})
}

// TestBarrierActionWhoseReplyIsLostRunsOnce: that to the arrival of the last party, and that to its
// opening.
func TestBarrierActionWhoseReplyIsLostRunsOnce(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"arrive.lua", "pass.lua"} {
		t.Run(s, func(t *testing.T) {
			t.Parallel()
			r, proxy := faultyBarrier(t, 2)
			var ran atomic.Int32
			r.Barrier = NewBarrier(r.E, r.of.key, 2, WithAction(func(context.Context) error { ran.Add(1); return nil }))
			other := barrierOn(t, r.Raw, r.of.key, 2)
			first := other.arriving(t.Context())
			other.waiting(1)
			script := arriveScript
			if s == "pass.lua" {
				script = passScript
			}
			lost := proxy.DropReply(r.sent(script), 1)
			before, err := r.Await(t.Context())
			require.NoError(t, err)
			require.Equal(t, 1, before)
			lost.Await(t)
			require.NoError(t, redistest.Done(t, first).err)
			require.EqualValues(t, 1, ran.Load())
		})
	}
}

func TestBarrierActionThatIsNilIsRefused(t *testing.T) {
	t.Parallel()
	r := newBarrierRig(t, 1)
	for _, o := range []BarrierOption{nil, WithAction(nil)} {
		_, err := NewBarrier(r.E, r.of.key, 1, o).Await(t.Context())
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	ran := 0
	before, err := NewBarrier(r.E, r.of.key, 1, WithAction(func(context.Context) error { ran++; return nil })).Await(t.Context())
	require.NoError(t, err)
	require.Zero(t, before)
	require.Equal(t, 1, ran)
}
