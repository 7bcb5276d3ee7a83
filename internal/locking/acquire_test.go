package locking

import (
	"context"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
)

func (s *fakeServer) triesSince(n int) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tries[n:])
}

func TestAWaiterTriesSubscribesTriesAgainAndSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.occupy(time.Hour)
		waiting := s.acquire(t.Context(), Ask{})
		synctest.Wait()
		require.Len(t, s.triesSince(0), 2)
		time.Sleep(4 * time.Second)
		require.Len(t, s.triesSince(0), 2, "nothing until a message")
		s.vacate()
		o := <-waiting
		require.NoError(t, o.err)
		require.Equal(t, 4*time.Second, o.at, "in the same instant")
		require.NoError(t, o.held.Release(t.Context()))
	})
}

func TestAWaiterSleepsUntilTheLeaseOfTheHolderEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.occupy(1700 * time.Millisecond)
		o := <-s.acquire(t.Context(), Ask{})
		require.NoError(t, o.err)
		require.Equal(t, 1701*time.Millisecond, o.at)
		require.Len(t, s.triesSince(0), 3)
		require.NoError(t, o.held.Release(t.Context()))
	})
}

func TestEverySleepIsCapped(t *testing.T) {
	for title, lease := range map[string]time.Duration{"a long lease": 24 * time.Hour, "no lease at all": 0} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFake(t)
				s.occupy(lease)
				waiting := s.acquire(t.Context(), Ask{})
				time.Sleep(time.Minute)
				tries := s.triesSince(1)
				for i := range tries[1:] {
					nap := tries[i+1] - tries[i]
					require.LessOrEqual(t, nap, send.LongestSleep)
					require.GreaterOrEqual(t, nap, send.LongestSleep*9/10, "jittered, but not polling")
				}
				s.set(func() { s.holder = "" }) // no message
				o := <-waiting
				require.NoError(t, o.err)
				require.LessOrEqual(t, o.at, time.Minute+send.LongestSleep)
				require.NoError(t, o.held.Release(t.Context()))
			})
		})
	}
}

func TestWaitersTakeTurnsInTheOrderOfTheirArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		held := s.take(t)
		var waiting []<-chan outcome
		for range 20 {
			waiting = append(waiting, s.acquire(t.Context(), Ask{}))
			synctest.Wait() // it stands in the queue
		}
		for _, w := range waiting {
			require.NoError(t, held.Release(t.Context()))
			o := <-w
			require.NoError(t, o.err)
			held = o.held
		}
		require.NoError(t, held.Release(t.Context()))
		require.Len(t, s.triesSince(0), 1)
		releases, _ := s.said()
		require.Equal(t, 1, releases)
		s.mustBeFree(t)
	})
}

func TestAnAnswerWithinTheGraceIsWaitedForAndItsLockGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.set(func() { s.replies = 30 * time.Millisecond })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		o := <-s.acquire(ctx, Ask{})
		require.ErrorIs(t, o.err, context.DeadlineExceeded)
		require.Equal(t, 30*time.Millisecond, o.at, "with the answer")
		time.Sleep(time.Second)
		releases, givebacks := s.said()
		require.Equal(t, 1, releases)
		require.Zero(t, givebacks, "in order behind the acquire: nothing is unknown")
		s.mustBeFree(t)
	})
}

func TestWhatACancelledWaiterWonGoesToTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.set(func() { s.replies = 30 * time.Millisecond })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		first := s.acquire(ctx, Ask{})
		synctest.Wait()
		next := s.acquire(t.Context(), Ask{})
		require.ErrorIs(t, (<-first).err, context.DeadlineExceeded)
		o := <-next
		require.NoError(t, o.err)
		require.Equal(t, 30*time.Millisecond, o.at)
		require.Len(t, s.triesSince(0), 1)
		releases, _ := s.said()
		require.Zero(t, releases)
		require.NoError(t, o.held.Release(t.Context()))
		s.mustBeFree(t)
	})
}

func TestASilentServerIsNotWaitedForBeyondTheGrace(t *testing.T) {
	for title, fall := range map[string]func(*fakeServer){
		"late requests": func(s *fakeServer) { s.requests = 10 * time.Second },
		"late replies":  func(s *fakeServer) { s.replies = 10 * time.Second },
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFake(t)
				s.set(func() { fall(s) })
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				defer cancel()
				o := <-s.acquire(ctx, Ask{})
				require.ErrorIs(t, o.err, context.DeadlineExceeded)
				require.Equal(t, 10*time.Millisecond+send.Grace, o.at)
				time.Sleep(time.Minute)
				_, givebacks := s.said()
				require.NotZero(t, givebacks)
				s.mustBeFree(t)
			})
		})
	}
}

func TestAnOwnerIsGivenBackUntilTheServerAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.set(func() { s.replies = time.Second })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		waiting := s.acquire(ctx, Ask{})
		synctest.Wait()
		s.set(func() { s.replies, s.down = 0, io.ErrUnexpectedEOF })
		require.Error(t, (<-waiting).err)
		time.Sleep(5 * time.Second)
		s.set(func() { s.down = nil })
		time.Sleep(10 * time.Second) // twice the longest pause of a cleanup task
		s.mustBeFree(t)
		_, said := s.said()
		require.Greater(t, said, 4)
		time.Sleep(time.Minute)
		_, again := s.said()
		require.Equal(t, said, again, "answered: nothing is left to say")
	})
}

func TestAWaitOutlastsAnOutageForAWatchdogTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.occupy(time.Second)
		waiting := s.acquire(t.Context(), Ask{})
		synctest.Wait()
		s.set(func() { s.down = io.ErrUnexpectedEOF })
		time.Sleep(20 * time.Second)
		s.set(func() { s.down = nil })
		o := <-waiting
		require.NoError(t, o.err)
		require.Less(t, o.at, 21*time.Second)
		require.NoError(t, o.held.Release(t.Context()))

		s.occupy(time.Second)
		waiting = s.acquire(t.Context(), Ask{})
		synctest.Wait()
		from := time.Since(s.started)
		s.set(func() { s.down = io.ErrUnexpectedEOF })
		o = <-waiting
		require.ErrorIs(t, o.err, io.ErrUnexpectedEOF)
		require.InDelta(t, s.e.WatchdogTimeout, o.at-from, float64(2*time.Second), "then it is the caller's business")
	})
}

func TestAWaitOutlastsASubscriptionThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.occupy(time.Hour)
		s.set(func() { s.deaf = io.ErrUnexpectedEOF })
		waiting := s.acquire(t.Context(), Ask{})
		time.Sleep(3 * time.Second)
		s.set(func() { s.deaf = nil })
		time.Sleep(2 * time.Second)
		s.vacate()
		o := <-waiting
		require.NoError(t, o.err)
		require.Equal(t, 5*time.Second, o.at, "it listened in the end")
		require.NoError(t, o.held.Release(t.Context()))
	})
}

// Whoever released stands back for one of those who listened, more than came
// before.
func TestAReleaserStandsBackForTheOthers(t *testing.T) {
	const each = 300 * time.Microsecond
	for _, of := range []struct {
		title     string
		listeners int
		want      time.Duration
	}{
		{"nobody listens", 0, 0},
		{"one other", 1, each},
		{"three others of whom none has come yet", 3, each},
		{"ghosts", 1000, each},
	} {
		t.Run(of.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFake(t)
				s.set(func() { s.listeners = of.listeners })
				require.NoError(t, s.take(t).Release(t.Context()))
				released := time.Since(s.started)
				require.NoError(t, s.take(t).Release(t.Context()))
				require.Equal(t, of.want, s.triesSince(1)[0]-released)
				time.Sleep(2 * time.Second)
				late := time.Since(s.started)
				require.NoError(t, s.take(t).Release(t.Context()))
				require.Equal(t, late, s.triesSince(2)[0], "those who have not come by now will not")
			})
		})
	}
}

func TestTheBoundsOfAChain(t *testing.T) {
	for _, of := range []struct {
		title  string
		change func(*core.Config)
		pause  time.Duration // within each hold
		chain  int           // holds per acquisition
	}{
		{"by number", func(c *core.Config) { c.Handovers = 4 }, 0, 5},
		{"by time", func(c *core.Config) { c.HandoverTime = 10 * time.Millisecond }, 4 * time.Millisecond, 3},
		{"off", func(c *core.Config) { c.Handovers, c.HandoverTime = 0, 0 }, 0, 1},
	} {
		t.Run(of.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFake(t, of.change)
				const holds = 30
				waiting := []<-chan outcome{s.acquire(t.Context(), Ask{})}
				synctest.Wait()
				for range holds - 1 {
					waiting = append(waiting, s.acquire(t.Context(), Ask{}))
					synctest.Wait() // also the last: one that comes later finds the chain at its end
				}
				for _, w := range waiting {
					o := <-w
					require.NoError(t, o.err)
					time.Sleep(of.pause)
					require.NoError(t, o.held.Release(t.Context()))
				}
				releases, _ := s.said()
				require.Equal(t, (holds+of.chain-1)/of.chain, releases)
				s.mustBeFree(t)
			})
		})
	}
}

func TestAHoldThatEndsOnItsWayMakesTheNextOneHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		held := s.take(t)
		next := s.acquire(t.Context(), Ask{})
		synctest.Wait()
		last, ok := held.detach(held.seat)
		require.True(t, last && ok)
		held.Lease.Lose(errUnused) // after it was let go of, before the next one could attach
		require.True(t, held.local.queue.HandKind("lock", held.Held))
		s.set(func() { s.free(held.Owner()) })
		o := <-next
		require.NoError(t, o.err)
		require.NotSame(t, held.Held, o.held.Held)
		s.e.locals.Put(held.Key().Name, held.local)
		require.NoError(t, o.held.Release(t.Context()))
	})
}

func TestNothingIsRememberedOfAKeyThatNobodyUses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.occupy(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		for range 10 {
			waiting := s.acquire(ctx, Ask{})
			require.ErrorIs(t, (<-waiting).err, context.DeadlineExceeded)
		}
		require.Zero(t, s.e.locals.Len())
	})
}

func TestCloseWakesHeadsAndQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.occupy(time.Hour)
		head := s.acquire(t.Context(), Ask{})
		synctest.Wait()
		queued := s.acquire(t.Context(), Ask{Bounded: true, Wait: time.Hour})
		synctest.Wait()
		require.NoError(t, Close(t.Context(), s.e))
		require.ErrorIs(t, (<-head).err, core.ErrClosed)
		require.ErrorIs(t, (<-queued).err, core.ErrClosed)
		require.ErrorIs(t, (<-s.acquire(t.Context(), Ask{})).err, core.ErrClosed)
	})
}

// Close may look between the two steps by which a holder gives its hold up.
func TestCloseNamesNoHoldThatIsBeingGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		o := <-s.acquire(t.Context(), Ask{})
		require.NoError(t, o.err)
		require.True(t, o.held.Lease.Finish(core.ErrReleased)) // the watchdog has it still
		require.NoError(t, Close(t.Context(), s.e))
	})
}
