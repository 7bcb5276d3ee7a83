package locking

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/send"
)

func TestATryOfAReaderWaitsForTheAnswerThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.set(func() { s.requests = 10 * time.Millisecond })
		first := s.acquire(t.Context(), shares)
		synctest.Wait()
		try := s.acquire(t.Context(), Ask{Shared: true, Bounded: true})
		alone := <-s.acquire(t.Context(), Ask{Bounded: true})
		require.ErrorIs(t, alone.err, core.ErrNotAcquired, "one that wants it for itself alone need not wait for that")
		a, b := <-first, <-try
		require.NoError(t, a.err)
		require.NoError(t, b.err)
		require.Same(t, a.held.Held, b.held.Held)
		require.NoError(t, a.held.Release(t.Context()))
		require.NoError(t, b.held.Release(t.Context()))
	})
}

func TestATryOfAReaderEndsWithARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.occupy(0)
		s.set(func() { s.requests = 10 * time.Millisecond })
		waiting := s.acquire(t.Context(), shares)
		synctest.Wait()
		try := s.acquire(t.Context(), Ask{Shared: true, Bounded: true})
		o := <-try
		require.ErrorIs(t, o.err, core.ErrNotAcquired)
		require.Equal(t, 10*time.Millisecond, o.at)
		again := <-s.acquire(t.Context(), Ask{Shared: true, Bounded: true})
		require.ErrorIs(t, again.err, core.ErrNotAcquired)
		require.Equal(t, 10*time.Millisecond, again.at, "at once")
		s.vacate()
		require.NoError(t, (<-waiting).held.Release(t.Context()))
		require.Zero(t, s.e.locals.Len())
	})
}

// One who waits behind a writer that has left is not kept by it.
func TestAWriterThatLeavesKeepsNoReadersBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		first := s.readers(t, 1)[0]
		ctx, cancel := context.WithCancel(t.Context())
		writer := s.acquire(ctx, Ask{})
		synctest.Wait()
		behind := s.acquire(t.Context(), shares)
		synctest.Wait()
		require.Empty(t, behind)
		cancel()
		require.Error(t, (<-writer).err)
		o := <-behind
		require.NoError(t, o.err)
		require.NoError(t, first.Release(t.Context()))
		require.NoError(t, o.held.Release(t.Context()))
		s.mustBeFree(t)
	})
}

func TestAHoldThatOthersWaitForTakesNewcomersForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.set(func() { s.hint = 1 })
		first := s.readers(t, 2)
		require.Same(t, first[0].Held, first[1].Held)
		time.Sleep(briefly)
		next := s.readers(t, 1)[0]
		require.NotSame(t, first[0].Held, next.Held)
		for _, r := range append(first, next) {
			require.NoError(t, r.Release(t.Context()))
		}
	})
}

func TestALongSharedLeaseIsHeldInSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		o := <-s.acquire(t.Context(), Ask{Shared: true, Lease: 5 * time.Minute})
		require.NoError(t, o.err)
		require.Equal(t, s.e.WatchdogTimeout, s.asks()[0].Lease)
		require.LessOrEqual(t, time.Until(o.held.Deadline()), s.e.WatchdogTimeout)
		time.Sleep(4 * time.Minute)
		require.NoError(t, o.held.Err())
		time.Sleep(time.Minute)
		require.ErrorIs(t, o.held.Err(), core.ErrLost)
		require.ErrorIs(t, o.held.seat.ended(), core.ErrLost)
	})
}

func TestAShortSharedLeaseIsAskedForAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		o := <-s.acquire(t.Context(), Ask{Shared: true, Lease: time.Second})
		require.Equal(t, time.Second, s.asks()[0].Lease)
		require.Equal(t, time.Second-lease.Margin(time.Second), time.Until(o.held.Deadline()))
		time.Sleep(time.Second)
		require.ErrorIs(t, o.held.Err(), core.ErrLost)
	})
}

func TestADowngradeKeepsTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		writer := s.take(t)
		readers := []<-chan outcome{s.acquire(t.Context(), shares)}
		synctest.Wait()
		seat := new(seated)
		held, err := writer.Downgrade(t.Context(), writer.seat, s.e.IDs.Private(), seat)
		require.NoError(t, err)
		o := <-readers[0]
		require.Same(t, held, o.held.Held)
		require.ErrorIs(t, writer.Err(), core.ErrReleased)
		require.NoError(t, held.Err())
		require.NoError(t, held.Release(t.Context(), seat))
		require.NoError(t, o.held.Release(t.Context()))
		s.mustBeFree(t)
		require.Zero(t, s.e.locals.Len())
		require.Len(t, s.triesSince(0), 1)
	})
}

func TestADowngradeThatIsRefusedLeavesTheHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		writer := s.take(t)
		s.set(func() { s.down = errUnused })
		_, err := writer.Downgrade(t.Context(), writer.seat, s.e.IDs.Private(), new(seated))
		require.ErrorIs(t, err, errUnused)
		require.NoError(t, writer.Err())
		s.set(func() { s.down = nil })
		require.NoError(t, writer.Release(t.Context()))
		s.mustBeFree(t)
	})
}

func TestADowngradeOfALostHoldIsALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		writer := s.take(t)
		s.set(func() { s.holder = "" }) // forced
		_, err := writer.Downgrade(t.Context(), writer.seat, s.e.IDs.Private(), new(seated))
		require.ErrorIs(t, err, core.ErrLost)
		require.ErrorIs(t, writer.Err(), core.ErrLost)
		require.ErrorIs(t, writer.Release(t.Context()), core.ErrLost)
		require.Zero(t, s.e.locals.Len())
	})
}

func TestADowngradedFixedLeaseEndsWhenItWouldHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		o := <-s.acquire(t.Context(), Ask{Lease: time.Minute})
		until := o.held.Deadline()
		seat := new(seated)
		held, err := o.held.Downgrade(t.Context(), o.held.seat, s.e.IDs.Private(), seat)
		require.NoError(t, err)
		time.Sleep(40 * time.Second)
		require.NoError(t, held.Err())
		time.Sleep(time.Until(until))
		require.ErrorIs(t, held.Err(), core.ErrLost)
		require.ErrorIs(t, seat.ended(), core.ErrLost)
	})
}

// TestATryBehindAnOlderSharedHoldIsRefused has two shared holds at once, of which the
// one that came last has been released.
func TestATryBehindAnOlderSharedHoldIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.set(func() { s.hint = 1 }) // so that holds are brief
		older := s.readers(t, 1)[0]
		time.Sleep(briefly)
		last := s.readers(t, 1)[0]
		require.NotSame(t, older.Held, last.Held)
		require.NoError(t, last.Release(t.Context()))
		at := <-s.acquire(t.Context(), Ask{Bounded: true})
		require.ErrorIs(t, at.err, core.ErrNotAcquired)
		require.NotErrorIs(t, at.err, send.ErrUnasked, "this process holds it")
		waits := <-s.acquire(t.Context(), Ask{Bounded: true, Wait: 100 * time.Millisecond})
		require.ErrorIs(t, waits.err, core.ErrNotAcquired)
		require.NoError(t, older.Release(t.Context()))
		s.mustBeFree(t)
		require.Zero(t, s.e.locals.Len())
	})
}
