package locking

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// say publishes on the lock's channel.
func (s *fakeServer) say(payload string) {
	s.mu.Lock()
	handlers := s.handlers
	s.mu.Unlock()
	for _, h := range handlers {
		h.Message(s.e.Channel(s.Channel()), s.Channel(), payload)
	}
}

func TestOnlyTheMessagesOfAReleaseWakeAWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.occupy(0)
		waiting := s.acquire(t.Context(), Ask{})
		synctest.Wait()
		before := len(s.triesSince(0))
		for _, payload := range []string{"", "2", "00", "hello"} {
			s.say(payload)
			synctest.Wait()
			require.Len(t, s.triesSince(0), before, "%q", payload)
		}
		for i, payload := range []string{"0", "1"} {
			s.say(payload)
			synctest.Wait()
			require.Len(t, s.triesSince(0), before+1+i, "%q", payload)
		}
		s.vacate()
		require.NoError(t, (<-waiting).held.Release(t.Context()))
	})
}

// afterAcquired is an observer that acts between the moment at which an
// acquire has its hold and the one at which it returns.
type afterAcquired struct {
	*renewals
	act func()
}

func (o *afterAcquired) Acquired(context.Context, string, string, bool) {
	if act := o.act; act != nil {
		o.act = nil
		act()
	}
}
func (o *afterAcquired) WaitStarted(context.Context, string, string)                     {}
func (o *afterAcquired) WaitEnded(context.Context, string, string, time.Duration, error) {}

// The lease ends when the acquire is about to return: the next head listens
// already, and must not be made deaf.
func TestAHeadWhoseLeaseEndsAtOnceLeavesTheNextOneItsSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		observer := &afterAcquired{renewals: &renewals{news: make(chan struct{}, 1)}}
		s := newFake(t, func(c *core.Config) { c.Observer = observer })
		s.occupy(0)
		first := s.acquire(t.Context(), Ask{})
		synctest.Wait() // it listens
		next := s.acquire(t.Context(), Ask{})
		synctest.Wait() // it stands in the queue
		listens := make(chan struct{})
		observer.act = func() {
			s.occupy(0)
			s.e.EachLease(func(l *watchdog.Lease) { l.Lose(errUnused) })
			<-listens // until the next one is head, and has subscribed
		}
		s.vacate()
		synctest.Wait()
		close(listens)
		require.NoError(t, (<-first).err)
		time.Sleep(time.Second) // well within the cap of a sleep
		s.vacate()
		o := <-next
		require.NoError(t, o.err)
		require.Equal(t, time.Second, o.at, "it heard the release")
		require.NoError(t, o.held.Release(t.Context()))
	})
}

func TestAFreshLockBearsAnOutageAsOneThatHasWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.set(func() { s.down = io.ErrUnexpectedEOF })
		fresh := s.acquire(t.Context(), Ask{})
		time.Sleep(20 * time.Second)
		s.set(func() { s.down = nil })
		o := <-fresh
		require.NoError(t, o.err)
		require.Less(t, o.at, 21*time.Second)
		require.NoError(t, o.held.Release(t.Context()))

		s.set(func() { s.down = io.ErrUnexpectedEOF })
		from := time.Since(s.started)
		o = <-s.acquire(t.Context(), Ask{})
		require.ErrorIs(t, o.err, io.ErrUnexpectedEOF)
		require.InDelta(t, s.e.WatchdogTimeout, o.at-from, float64(2*time.Second), "then it is the caller's business")
	})
}

func TestATryTellsOfAnOutageAtOnceOrWhenItsWaitIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.set(func() { s.down = io.ErrUnexpectedEOF })
		o := <-s.acquire(t.Context(), Ask{Bounded: true})
		require.ErrorIs(t, o.err, io.ErrUnexpectedEOF)
		require.Zero(t, o.at)
		o = <-s.acquire(t.Context(), Ask{Bounded: true, Wait: 5 * time.Second})
		require.ErrorIs(t, o.err, io.ErrUnexpectedEOF, "not: it is busy")
		require.NotErrorIs(t, o.err, core.ErrNotAcquired)
		require.Equal(t, 5*time.Second, o.at)
	})
}

func TestAWaitThatEndsInAnOutageSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.set(func() { s.down = io.ErrUnexpectedEOF })
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		o := <-s.acquire(ctx, Ask{})
		require.ErrorIs(t, o.err, context.DeadlineExceeded)
		require.ErrorIs(t, o.err, io.ErrUnexpectedEOF)
		require.Equal(t, 5*time.Second, o.at)
	})
}
