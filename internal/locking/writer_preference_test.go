package locking

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/send"
)

// A process that was told of a waiter knows of the next one only when it asks.
func TestSharedHoldsAreBriefForAWhileAfterSomebodyWaited(t *testing.T) {
	for title, refused := range map[string]bool{"refused": true, "let in": false} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFake(t)
				if refused {
					s.occupy(0)
				}
				s.set(func() { s.hint, s.claimed = 1, refused })
				stays := s.acquire(t.Context(), shares)
				synctest.Wait()
				s.set(func() { s.hint, s.claimed = 0, false })
				s.vacate() // which tells of it
				first := (<-stays).held
				next := func(brief bool) {
					a := s.readers(t, 1)[0]
					time.Sleep(briefly)
					b := s.readers(t, 1)[0]
					require.Equal(t, brief, a.Held != b.Held)
					require.NoError(t, a.Release(t.Context()))
					require.NoError(t, b.Release(t.Context()))
				}
				time.Sleep(briefly)
				next(true)
				time.Sleep(briefFor)
				require.NoError(t, s.readers(t, 1)[0].Release(t.Context()))
				next(false)
				require.NoError(t, first.Release(t.Context()))
			})
		})
	}
}

// behindWriters is a writer that asks, one behind it, and a reader behind both, while
// another process has the lock.
func (s *fakeServer) behindWriters(ctx context.Context, t *testing.T) (asks, second, reader <-chan outcome) {
	s.occupy(0)
	asks = s.acquire(ctx, Ask{})
	synctest.Wait()
	second = s.acquire(t.Context(), Ask{})
	synctest.Wait()
	reader = s.acquire(t.Context(), shares)
	synctest.Wait()
	s.set(func() { s.turn = true })
	return asks, second, reader
}

func TestThoseWhoShareGoFirstIfItIsTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		asks, second, reader := s.behindWriters(t.Context(), t)
		s.vacate()
		r := <-reader
		require.NoError(t, r.err)
		synctest.Wait()
		require.Empty(t, asks)
		s.set(func() { s.turn = false })
		require.NoError(t, r.held.Release(t.Context()))
		for _, w := range []<-chan outcome{asks, second} {
			o := <-w
			require.NoError(t, o.err)
			require.NoError(t, o.held.Release(t.Context()))
		}
		s.mustBeFree(t)
		require.Zero(t, s.e.locals.Len())
	})
}

func TestOneWhoLeftWhileOthersGoFirstLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		ctx, cancel := context.WithCancel(t.Context())
		asks, second, reader := s.behindWriters(ctx, t)
		s.vacate()
		r := <-reader
		require.NoError(t, r.err)
		cancel()
		require.ErrorIs(t, (<-asks).err, context.Canceled)
		s.set(func() { s.turn = false })
		require.NoError(t, r.held.Release(t.Context()))
		o := <-second
		require.NoError(t, o.err)
		require.NoError(t, o.held.Release(t.Context()))
		s.mustBeFree(t)
		require.Zero(t, s.e.locals.Len())
	})
}

// TestSharersGoPastOneThatIsNotServed has one wait for the lock alone, and others of its
// process behind it, while sharers of another process have it without end.
func TestSharersGoPastOneThatIsNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.set(func() { s.read("another") })
		time.Sleep(time.Second) // a wait that begins with the clock has no beginning
		alone := s.acquire(t.Context(), Ask{})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 3*s.e.WatchdogTimeout)
		defer cancel()
		first, second := s.acquire(ctx, shares), s.acquire(ctx, shares)
		time.Sleep(s.e.WatchdogTimeout - time.Second)
		require.Empty(t, first)
		require.Empty(t, second)
		a, b := <-first, <-second
		require.NoError(t, a.err)
		require.NoError(t, b.err)
		require.Less(t, a.at, s.e.WatchdogTimeout+3*send.LongestSleep+time.Second)
		require.Same(t, a.held.Held, b.held.Held)
		s.set(func() { require.True(t, s.asked[len(s.asked)-1].Stood, "it says that it goes past others") })
		require.Empty(t, alone)
		third := s.acquire(t.Context(), shares)
		time.Sleep(time.Second)
		require.Empty(t, third, "one that comes later stands behind it again")
		require.NoError(t, a.held.Release(t.Context()))
		require.NoError(t, b.held.Release(t.Context()))
		s.set(func() { s.free("another") })
		for _, next := range []<-chan outcome{alone, third} {
			o := <-next
			require.NoError(t, o.err)
			require.NoError(t, o.held.Release(t.Context()))
		}
		s.mustBeFree(t)
		require.Zero(t, s.e.locals.Len())
	})
}

// TestSharersStandBackForAWatchdogTimeoutOfTheirOwn has one that wants the lock alone
// leave, then another one, and one who shares behind that. One of their process shares
// the lock without end.
func TestSharersStandBackForAWatchdogTimeoutOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		first, patience := s.readers(t, 1)[0], s.e.WatchdogTimeout
		ctx, leave := context.WithCancel(t.Context())
		left := s.acquire(ctx, Ask{})
		time.Sleep(patience / 20)
		leave()
		require.ErrorIs(t, (<-left).err, context.Canceled)
		time.Sleep(patience / 20)
		alone := s.acquire(t.Context(), Ask{})
		time.Sleep(patience / 10)
		began := time.Since(s.started)
		o := <-s.acquire(t.Context(), shares)
		require.NoError(t, o.err)
		require.GreaterOrEqual(t, o.at-began, patience)
		require.Less(t, o.at-began, patience+time.Second)
		require.Empty(t, alone)
		require.NoError(t, o.held.Release(t.Context()))
		require.NoError(t, first.Release(t.Context()))
		require.NoError(t, (<-alone).held.Release(t.Context()))
		s.mustBeFree(t)
		require.Zero(t, s.e.locals.Len())
	})
}

// TestSharersGoPastTheNextOneThatIsNotServed has the one that asks leave shortly before
// those who share behind it have stood back for long enough. The next one asks then.
func TestSharersGoPastTheNextOneThatIsNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.set(func() { s.read("another") })
		time.Sleep(time.Second) // a wait that begins with the clock has no beginning
		ctx, leave := context.WithCancel(t.Context())
		asks := s.acquire(ctx, Ask{})
		synctest.Wait()
		next := s.acquire(t.Context(), Ask{})
		synctest.Wait()
		began, patience := time.Since(s.started), s.e.WatchdogTimeout
		reader := s.acquire(t.Context(), shares)
		time.Sleep(patience * 9 / 10)
		leave()
		require.ErrorIs(t, (<-asks).err, context.Canceled)
		o := <-reader
		require.NoError(t, o.err)
		require.GreaterOrEqual(t, o.at-began, patience)
		require.Less(t, o.at-began, patience+3*send.LongestSleep)
		require.Empty(t, next)
		require.NoError(t, o.held.Release(t.Context()))
		s.set(func() { s.free("another") })
		require.NoError(t, (<-next).held.Release(t.Context()))
		s.mustBeFree(t)
		require.Zero(t, s.e.locals.Len())
	})
}
