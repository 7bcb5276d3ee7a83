package locking

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
)

var shares = Ask{Shared: true}

// readers are n goroutines that hold the lock together.
func (s *fakeServer) readers(t *testing.T, n int) (all []*taken) {
	t.Helper()
	for range n {
		o := <-s.acquire(t.Context(), shares)
		require.NoError(t, o.err)
		all = append(all, o.held)
	}
	return all
}

func TestSeveralShareOneAcquisition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		readers := s.readers(t, 3)
		require.Len(t, s.triesSince(0), 1)
		for i, r := range readers {
			require.Same(t, readers[0].Held, r.Held)
			require.NoError(t, r.Release(t.Context()))
			require.ErrorIs(t, r.Grow(t.Context(), time.Hour, r.seat), core.ErrReleased)
			releases, _ := s.said()
			require.Equal(t, i/2, releases, "with the last one")
		}
		s.mustBeFree(t)
		require.Zero(t, s.e.locals.Len())
		require.NotSame(t, readers[0].Held, s.readers(t, 1)[0].Held)
	})
}

func TestThoseWhoWaitNextToEachOtherShareToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		writer := s.take(t)
		var waiting []<-chan outcome
		for _, ask := range []Ask{shares, shares, {}, shares} {
			waiting = append(waiting, s.acquire(t.Context(), ask))
			synctest.Wait()
		}
		require.NoError(t, writer.Release(t.Context()), "a hold for one goes to no reader: another takes its place")
		first, second := <-waiting[0], <-waiting[1]
		require.Same(t, first.held.Held, second.held.Held)
		require.Equal(t, 1, s.downgrades)
		require.Len(t, s.triesSince(0), 1)
		synctest.Wait()
		require.Empty(t, waiting[2])
		late := s.acquire(t.Context(), shares)
		synctest.Wait()
		require.Empty(t, late, "no newcomer overtakes the one that waits")
		require.NoError(t, first.held.Release(t.Context()))
		require.NoError(t, second.held.Release(t.Context()))
		next := <-waiting[2]
		require.NoError(t, next.held.Release(t.Context()))
		require.NoError(t, (<-waiting[3]).held.Release(t.Context()))
		require.NoError(t, (<-late).held.Release(t.Context()))
		s.mustBeFree(t)
		require.Zero(t, s.e.locals.Len())
	})
}

func TestASharedHoldTakesNewcomersForTheTimeOfAHandover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t, func(c *core.Config) { c.HandoverTime = 10 * time.Millisecond })
		first := s.readers(t, 1)[0]
		time.Sleep(10 * time.Millisecond)
		next := s.readers(t, 2)
		require.NotSame(t, first.Held, next[0].Held, "another acquisition beside the first")
		require.Same(t, next[0].Held, next[1].Held)
		require.Len(t, s.triesSince(0), 2)
		require.NoError(t, first.Release(t.Context()))
		require.NoError(t, next[0].Release(t.Context()))
		require.NoError(t, next[1].Release(t.Context()))
		s.mustBeFree(t)
		require.Zero(t, s.e.locals.Len())
	})
}

func TestAFixedLeaseIsNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		fixed := <-s.acquire(t.Context(), Ask{Shared: true, Lease: time.Minute})
		next := <-s.acquire(t.Context(), shares)
		again := <-s.acquire(t.Context(), Ask{Shared: true, Lease: time.Minute})
		last := <-s.acquire(t.Context(), shares)
		require.Same(t, next.held.Held, last.held.Held, "one with a fixed lease does not end what others share")
		require.Len(t, s.triesSince(0), 3)
		for _, o := range []outcome{fixed, next, again, last} {
			require.NoError(t, o.held.Release(t.Context()))
		}
		s.mustBeFree(t)
		require.Zero(t, s.e.locals.Len())
	})
}

func TestALossEndsAllSeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		readers := s.readers(t, 3)
		writer := s.acquire(t.Context(), Ask{})
		synctest.Wait()
		readers[0].Lease.Lose(errUnused)
		s.set(func() { s.free(readers[0].Owner()) })
		for _, r := range readers {
			require.ErrorIs(t, r.seat.ended(), errUnused)
		}
		o := <-writer
		require.NoError(t, o.err)
		for _, r := range readers {
			require.ErrorIs(t, r.Release(t.Context()), core.ErrLost)
			require.ErrorIs(t, r.Err(), core.ErrLost)
		}
		require.NoError(t, o.held.Err())
		require.NoError(t, o.held.Release(t.Context()))
		time.Sleep(time.Minute) // the cleanup tasks of the lost ones
		s.mustBeFree(t)
		require.Zero(t, s.e.locals.Len())
	})
}

func TestCloseTellsAllSeatsAndWaitsForThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		readers := s.readers(t, 3)
		closed := make(chan error, 1)
		go func() { closed <- Close(t.Context(), s.e) }() // ends with the last reader
		synctest.Wait()
		for _, r := range readers {
			require.ErrorIs(t, r.seat.ended(), core.ErrClosed)
			require.Empty(t, closed)
			require.NoError(t, r.Release(t.Context()))
			synctest.Wait()
		}
		require.NoError(t, <-closed)
		s.mustBeFree(t)
	})
}

func (s *seated) ended() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause
}

func TestASeatOnlyEndsItsOwnPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		first := s.take(t)
		next := s.acquire(t.Context(), Ask{})
		synctest.Wait()
		require.NoError(t, first.Release(t.Context()))
		o := <-next
		require.Same(t, first.Held, o.held.Held)
		require.ErrorIs(t, first.Release(t.Context()), core.ErrReleased, "it is another's")
		require.NoError(t, o.held.Err())
		require.NoError(t, o.held.Release(t.Context()))
	})
}

func TestATrySaysWhetherItAsksAgainAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.occupy(0)
		_, err := s.e.Acquire(t.Context(), s, Ask{Bounded: true}, new(seated))
		require.ErrorIs(t, err, core.ErrNotAcquired)
		require.Equal(t, []Try{{Lease: s.e.WatchdogTimeout}}, s.asks())
		waiting := s.acquire(t.Context(), Ask{Lease: time.Minute})
		synctest.Wait()
		require.Equal(t, []Try{{Lease: time.Minute, Queue: true}, {Lease: time.Minute, Queue: true, Again: true}}, s.asks()[1:])
		s.vacate()
		require.NoError(t, (<-waiting).held.Release(t.Context()))
	})
}

// asks is what was asked so far, without the owners.
func (s *fakeServer) asks() (all []Try) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.asked {
		a.Owner = ""
		all = append(all, a)
	}
	return all
}

// Readers and writers come and go, some of them at once: no writer ever has the
// lock beside anybody, and nothing is left.
func TestSeatsRaceWithLeaving(t *testing.T) {
	t.Parallel()
	s := newFake(t, func(c *core.Config) { c.HandoverTime = time.Millisecond })
	var inside, turns atomic.Int32
	var all sync.WaitGroup
	for g := range 12 {
		all.Go(func() {
			ask, weight := Ask{Shared: true, Bounded: g%4 == 2}, int32(1)
			switch g % 4 {
			case 0:
				ask, weight = Ask{}, 1000
			case 1:
				ask.Lease = time.Minute
			}
			for i := range 300 {
				ctx, cancel := context.WithCancel(context.Background())
				if (g+i)%3 == 0 {
					go cancel() // at any moment
				}
				seat := new(seated)
				held, err := s.e.Acquire(ctx, s.side(ask), ask, seat)
				cancel()
				if err != nil {
					continue
				}
				if now := inside.Add(weight); now > 1000 || now > 999 && weight == 1 {
					t.Errorf("%d are inside", now)
				}
				turns.Add(1)
				inside.Add(-weight)
				if err := held.Release(context.Background(), seat); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.Eventually(t, func() bool { return s.e.locals.Len() == 0 }, patience, time.Millisecond)
	require.NoError(t, Close(t.Context(), s.e))
	require.Positive(t, turns.Load())
	s.mustBeFree(t)
}
