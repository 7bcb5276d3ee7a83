package watchdog

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	length = 30 * time.Second
	every  = length / 3
)

func TestALeaseIsRenewedAtAThirdForAsLongAsItIsAnswered(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.answering(w.fine(5 * time.Millisecond))
		h := w.keep(length, every)
		w.till(time.Hour)
		live(t, h)
		sent := w.take()
		require.Len(t, sent, 360)
		for i, b := range sent {
			assert.Equal(t, time.Duration(i+1)*every, b.at)
			require.Len(t, b.attempts, 1)
			assert.Same(t, h.Lease, b.attempts[0].Lease)
			assert.Zero(t, b.attempts[0].Misses)
			assert.Equal(t, 3*time.Second, b.timeout)
		}
	})
}

// Renewals are rounded up to a grid of a tenth of the period, never more.
func TestARenewalIsNeverEarlyAndAtMostATenthLate(t *testing.T) {
	t.Parallel()
	for _, won := range []time.Duration{1, 300 * time.Millisecond, time.Second - 1, time.Second, 7777 * time.Millisecond} {
		t.Run(won.String(), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.till(won)
				w.keep(length, every)
				w.till(won + every - 1)
				assert.Empty(t, w.take())
				w.till(won + every + every/10)
				assert.Len(t, w.take(), 1)
			})
		})
	}
}

func TestAttemptsAreShortEnoughForSeveralInALease(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ length, timeout, pause time.Duration }{
		{100 * time.Millisecond, 20 * time.Millisecond, 5 * time.Millisecond},
		{3 * time.Second, 300 * time.Millisecond, 100 * time.Millisecond},
		{30 * time.Second, 3 * time.Second, time.Second},
		{10 * time.Minute, 3 * time.Second, time.Second},
	} {
		t.Run(c.length.String(), func(t *testing.T) {
			assert.Equal(t, c.timeout, attemptTimeout(c.length))
			assert.Equal(t, c.pause, retryAfter(c.length))
			inWorld(t, func(t *testing.T, w *world) {
				h := w.keep(c.length, c.length/3)
				w.till(c.length)
				assert.Len(t, h.told(), 1)
				sent := w.take()
				assert.GreaterOrEqual(t, len(sent), 3)
				assert.Equal(t, c.timeout, sent[0].timeout)
			})
		})
	}
}

func TestLeasesThatFallDueTogetherGoOutInOneBatch(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.answering(w.fine(time.Millisecond))
		const n = 100
		for range n { // over most of a tenth of the period
			time.Sleep(9 * time.Millisecond)
			w.keep(length, every)
		}
		short := w.keep(3*time.Second, 0)
		w.till(11*time.Second - 1)
		assert.Empty(t, w.take())
		w.till(11 * time.Second)
		sent := w.take()
		require.Len(t, sent, 1)
		assert.Len(t, sent[0].attempts, n)
		assert.Len(t, short.told(), 1)
	})
}

func TestLeasesWithAnotherTimeoutGoOutApart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		long, short := w.keep(length, every), w.keep(length/10, every)
		for _, h := range []*held{long, short} {
			w.dog.Hurry(h.Lease)
		}
		synctest.Wait()
		sent := w.take()
		timeouts := map[time.Duration]*Lease{}
		for _, b := range sent {
			require.Len(t, b.attempts, 1)
			timeouts[b.timeout] = b.attempts[0].Lease
		}
		assert.Equal(t, map[time.Duration]*Lease{3 * time.Second: long.Lease, 300 * time.Millisecond: short.Lease}, timeouts)
	})
}

// Ten thousand leases that were won all over a period: after their first
// renewals they stand on the grid, so a period costs ten batches, and each
// lease one attempt.
func TestTenThousandLeasesAreRenewedInFewBatches(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const n, periods = 10_000, 6
		w.answering(w.fine(2 * time.Millisecond))
		rng := rand.New(rand.NewPCG(1, 2))
		var leases []*held
		for range n {
			time.Sleep(time.Duration(rng.Int64N(int64(2 * every / n))))
			leases = append(leases, w.keep(length, every))
		}
		w.take()
		w.till(every * (2 + periods))
		began := time.Since(w.clock.base)
		w.till(began + periods*every)
		sent := w.take()
		attempts := 0
		for _, b := range sent {
			attempts += len(b.attempts)
		}
		seconds := int(time.Since(w.clock.base) / (every / 10))
		assert.LessOrEqual(t, len(sent), seconds, "one batch for each line of the grid")
		assert.LessOrEqual(t, attempts, n*(2*periods+2), "a lease is renewed once in a period")
		for _, h := range leases {
			live(t, h)
		}
		assert.Equal(t, n, w.dog.Len())
	})
}

func TestAFailedRenewalIsRepeatedInsideTheLease(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fails := 3
		w.answering(func(a Attempt, started Instant) {
			if fails > 0 {
				fails--
				w.dog.Missed(a)
				return
			}
			w.dog.Renewed(a, started)
		})
		h := w.keep(length, every)
		w.till(25 * time.Second)
		sent := w.take()
		assert.Equal(t, []time.Duration{10 * time.Second, 11 * time.Second, 12 * time.Second, 13 * time.Second, 23 * time.Second}, starts(sent))
		var misses []int
		for _, b := range sent {
			misses = append(misses, b.misses()...)
		}
		assert.Equal(t, []int{0, 1, 2, 3, 0}, misses)
		live(t, h)
	})
}

// One that is never answered counts as missed after its timeout, and the next
// one goes out at once: its timeout was pause enough.
func TestAnAttemptThatIsNeverAnsweredIsRepeatedAfterItsTimeout(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		h := w.keep(length, every)
		w.till(time.Minute)
		sent := w.take()
		s := time.Second
		assert.Equal(t, []time.Duration{10 * s, 13 * s, 16 * s, 19 * s, 22 * s, 25 * s, 28 * s}, starts(sent))
		for i, b := range sent {
			assert.Equal(t, []int{i}, b.misses())
		}
		endedAt(t, h, 28500*time.Millisecond, ErrRanOut)
	})
}

func TestTheMissesOfOneLeaseAreNotThoseOfAnother(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		bad := w.keep(length, every)
		good := w.keep(length, every)
		w.answering(func(a Attempt, started Instant) {
			if a.Lease == bad.Lease {
				w.dog.Missed(a)
			} else {
				w.dog.Renewed(a, started)
			}
		})
		w.till(2 * length)
		endedAt(t, bad, 28500*time.Millisecond, ErrRanOut)
		live(t, good)
		for _, b := range w.take() {
			for _, a := range b.attempts {
				if a.Lease == good.Lease {
					assert.Zero(t, a.Misses)
					assert.Zero(t, b.at%every, "it is not renewed more often for it")
				}
			}
		}
	})
}

// flights lets two attempts of one lease go out, the first at 10 s and the
// second at 13 s, and returns them at 14 s.
func flights(t *testing.T, w *world) (h *held, first, second Attempt) {
	t.Helper()
	h = w.keep(length, every)
	w.till(14 * time.Second)
	sent := w.take()
	require.Equal(t, []time.Duration{10 * time.Second, 13 * time.Second}, starts(sent))
	return h, sent[0].attempts[0], sent[1].attempts[0]
}

func at(d time.Duration) Instant { return Instant{}.Add(d) }

func TestALateAnswerCountsFromItsOwnStart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		h, first, _ := flights(t, w)
		w.dog.Renewed(first, at(10*time.Second))
		assert.Equal(t, 24500*time.Millisecond, h.Left(w.clock.now()), "10 s + 28.5 s")
		w.till(38500*time.Millisecond - 1)
		live(t, h)
		w.till(38500 * time.Millisecond)
		endedAt(t, h, 38500*time.Millisecond, ErrRanOut)
	})
}

func TestALateAnswerDoesNotEndTheAttemptAfterIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, first, _ := flights(t, w)
		w.dog.Renewed(first, at(10*time.Second))
		w.till(21 * time.Second)
		sent := w.take()
		require.Equal(t, []time.Duration{20 * time.Second}, starts(sent), "a period after the start that was answered")
		assert.Equal(t, []int{1}, sent[0].misses(), "the second attempt was never answered")
	})
}

func TestTheAttemptBehindALateAnswerMayStillFail(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, first, second := flights(t, w)
		w.dog.Renewed(first, at(10*time.Second))
		w.dog.Missed(second)
		w.till(16 * time.Second)
		sent := w.take()
		require.Equal(t, []time.Duration{15 * time.Second}, starts(sent), "after the pause")
		assert.Equal(t, []int{1}, sent[0].misses())
	})
}

func TestALateFailureChangesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		h, first, second := flights(t, w)
		w.dog.Missed(first)
		w.till(16*time.Second - 1)
		assert.Empty(t, w.take(), "the second attempt is still under way")
		w.dog.Renewed(second, at(13*time.Second))
		w.dog.Missed(second)
		w.till(22 * time.Second)
		assert.Empty(t, w.take(), "an answered attempt cannot fail any more")
		live(t, h)
	})
}

func TestAnswersOutOfOrderNeverTakeTrustAway(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		h, first, second := flights(t, w)
		w.dog.Renewed(second, at(13*time.Second))
		want := h.Left(w.clock.now())
		assert.Equal(t, 27500*time.Millisecond, want, "13 s + 28.5 s")
		w.dog.Renewed(first, at(10*time.Second))
		assert.Equal(t, want, h.Left(w.clock.now()))
		w.till(24 * time.Second)
		assert.Equal(t, []time.Duration{23 * time.Second}, starts(w.take()), "due from the later start")
	})
}

func TestExpiringWarnsAtHalfALeaseWithoutAnAnswer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		h := w.keep(length, every)
		warning := h.Expiring()
		w.till(length/2 - 1)
		assert.False(t, closed(warning))
		w.till(length / 2)
		assert.True(t, closed(warning))
		assert.True(t, closed(h.Expiring()), "also for one that asks only now")
		live(t, h)
	})
}

// Whoever waits for the warning is not left waiting by a loss that came first.
func TestExpiringWarnsAlsoIfThePauseWasLongerThanTheLease(t *testing.T) {
	for title, pause := range map[string]func(c *fakeClock){
		"stopped":   func(c *fakeClock) { c.stop(2 * length) },
		"suspended": func(c *fakeClock) { c.suspend(2 * length) },
	} {
		t.Run(title, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				h := w.keep(length, every)
				warning := h.Expiring()
				pause(w.clock)
				w.till(length / 2)
				assert.True(t, closed(warning))
				_, ended := h.Ended()
				assert.True(t, ended)
			})
		})
	}
}

func TestExpiringOfOneThatAsksOnlyAfterTheWarning(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		h := w.keep(length, every)
		w.till(length / 2)
		assert.True(t, closed(h.Expiring()))
	})
}

func TestExpiringIsSilentWhileRenewalsAreAnswered(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.answering(w.fine(2 * time.Second))
		h := w.keep(length, every)
		warning := h.Expiring()
		w.till(time.Hour)
		assert.False(t, closed(warning))
		assert.Equal(t, warning, h.Expiring())
	})
}

func TestExpiringIsAFreshChannelAfterARecovery(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		h := w.keep(length, every)
		first := h.Expiring()
		w.till(17 * time.Second)
		require.True(t, closed(first))
		w.answering(w.fine(0))
		w.till(19 * time.Second) // the attempt at 19 s is answered
		second := h.Expiring()
		assert.False(t, closed(second))
		w.answering(nil)
		w.till(19*time.Second + length/2 - 1)
		assert.False(t, closed(second))
		w.till(19*time.Second + length/2)
		assert.True(t, closed(second))
	})
}

func TestAFixedLeaseIsNeverRenewedAndNeverWarns(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.answering(w.fine(0))
		h := w.keep(length, 0)
		assert.False(t, h.Kept())
		assert.Equal(t, length, h.Length())
		warning := h.Expiring()
		w.dog.Hurry(h.Lease)
		w.till(time.Minute)
		assert.Empty(t, w.take())
		assert.False(t, closed(warning))
		endedAt(t, h, 28500*time.Millisecond, ErrRanOut)
	})
}

func TestAFixedLeaseCanGrow(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		h := w.keep(length, 0)
		w.till(20 * time.Second)
		w.dog.Grown(h.Lease, w.clock.now(), time.Minute)
		w.till(77*time.Second - 1)
		live(t, h)
		w.till(77 * time.Second)
		endedAt(t, h, 77*time.Second, ErrRanOut)
		assert.Empty(t, w.take())
	})
}

func TestGrownLengthensTrustAndNeverShortensIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		h := w.keep(length, every)
		w.till(time.Second)
		w.dog.Grown(h.Lease, w.clock.now(), 5*time.Second)
		assert.Equal(t, 27500*time.Millisecond, h.Left(w.clock.now()), "shorter than it is")
		w.dog.Grown(h.Lease, w.clock.now(), 10*time.Minute)
		assert.Equal(t, 570*time.Second, h.Left(w.clock.now()))
		w.till(571*time.Second - 1)
		live(t, h)
		assert.NotEmpty(t, w.take(), "it is renewed as before")
		w.till(571 * time.Second)
		endedAt(t, h, 571*time.Second, ErrRanOut)
	})
}

func TestGrownDoesNotReviveALeaseThatHasEnded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		h := w.keep(length, 0)
		w.till(time.Minute)
		w.dog.Grown(h.Lease, w.clock.now(), time.Hour)
		assert.Zero(t, h.Left(w.clock.now()))
		w.till(2 * time.Hour)
		endedAt(t, h, 28500*time.Millisecond, ErrRanOut)
	})
}

func TestHurryAsksNow(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.answering(w.fine(time.Second))
		h, other := w.keep(length, every), w.keep(length, every)
		w.till(3 * time.Second)
		w.dog.Hurry(h.Lease)
		synctest.Wait()
		sent := w.take()
		require.Equal(t, []time.Duration{3 * time.Second}, starts(sent))
		require.Len(t, sent[0].attempts, 1)
		assert.Same(t, h.Lease, sent[0].attempts[0].Lease)
		w.till(13 * time.Second)
		assert.Equal(t, []time.Duration{10 * time.Second, 13 * time.Second}, starts(w.take()), "the next is a period later")
		live(t, h)
		live(t, other)
	})
}

func TestHurryDoesNotDoubleAnAttemptThatIsUnderWay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.answering(w.fine(2 * time.Second))
		h := w.keep(length, every)
		w.till(11 * time.Second)
		w.dog.Hurry(h.Lease)
		w.till(12 * time.Second)
		assert.Len(t, w.take(), 1)
	})
}

func TestALeaseThatIsNotInCareIsLeftAlone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.answering(w.fine(0))
		h, other := w.keep(length, every), w.keep(length, every)
		w.dog.Remove(h.Lease)
		w.dog.Remove(h.Lease)
		assert.Equal(t, 1, w.dog.Len())
		w.dog.Hurry(h.Lease)
		w.dog.Grown(h.Lease, w.clock.now(), length)
		w.till(time.Minute)
		for _, b := range w.take() {
			for _, a := range b.attempts {
				assert.Same(t, other.Lease, a.Lease)
			}
		}
		assert.Empty(t, h.told(), "nobody looks at its time any more")
		_, ended := h.Check(w.clock.now(), ErrRanOut)
		assert.True(t, ended, "but it can be asked")
	})
}

func TestAnAnswerAfterRemoveChangesNothing(t *testing.T) {
	t.Parallel()
	for what, answer := range map[string]func(w *world, a Attempt){
		"renewed": func(w *world, a Attempt) { w.dog.Renewed(a, at(10*time.Second)) },
		"missed":  func(w *world, a Attempt) { w.dog.Missed(a) },
		"gone":    func(w *world, a Attempt) { w.dog.Gone(a) },
	} {
		t.Run(what, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				h, _, second := flights(t, w)
				h.Finish(nil) // released: that is when a lease is taken out of care
				w.dog.Remove(h.Lease)
				answer(w, second)
				w.till(time.Hour)
				assert.Empty(t, h.told())
				assert.Empty(t, w.take())
				assert.Zero(t, w.dog.Len())
			})
		})
	}
}

func TestEachSeesEveryLeaseInCareAndMayRemoveIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		want := map[*Lease]bool{}
		for range 10 {
			want[w.keep(length, every).Lease] = true
		}
		gone := w.keep(length, every)
		w.dog.Remove(gone.Lease)
		got := map[*Lease]bool{}
		w.dog.Each(func(l *Lease) {
			got[l] = true
			w.dog.Remove(l)
		})
		assert.Equal(t, want, got)
		assert.Zero(t, w.dog.Len())
	})
}

func TestAfterCloseNothingIsSentAndAnswersAreHarmless(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		h, _, second := flights(t, w)
		other := w.keep(length, every)
		w.dog.Close()
		w.dog.Close()
		w.dog.Renewed(second, at(13*time.Second))
		w.dog.Missed(second)
		w.dog.Hurry(other.Lease)
		late := w.keep(length, every)
		w.till(time.Hour)
		assert.Empty(t, w.take())
		assert.Equal(t, 3, w.dog.Len())
		for _, l := range []*held{h, other, late} {
			live(t, l)
			cause, ended := l.Check(w.clock.now(), ErrRanOut)
			assert.True(t, ended, "Check still compares the clocks")
			assert.Equal(t, ErrRanOut, cause)
		}
	})
}

func TestAWatchdogWithoutLeasesSleeps(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		h := w.keep(length, every)
		w.till(time.Second)
		w.dog.Remove(h.Lease)
		w.till(time.Minute)
		w.clock.looked()
		w.till(time.Hour)
		assert.Zero(t, w.clock.looked(), "it woke up")
		again := w.keep(length, every)
		w.till(time.Hour + every + every/10)
		assert.Len(t, w.take(), 1, "and wakes for the next lease")
		live(t, again)
	})
}

// TestRandomAnswers plays every kind of answer in random order, and checks
// each lease against the formula: it ends at the start of its last answered
// attempt + length - margin, or with the server's word, and never otherwise.
func TestRandomAnswers(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) { playRandomly(t, w, seed) })
		})
	}
}

// expected is what the formula says of one lease.
type expected struct {
	until time.Duration
	gone  time.Duration // 0: the server never said so
}

// script answers attempts at random, and keeps the books of what follows.
type script struct {
	mu    sync.Mutex
	rng   *rand.Rand
	books map[*Lease]*expected
}

func (s *script) roll() (kind int, trip time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rng.IntN(20), time.Duration(s.rng.Int64N(int64(5 * time.Second)))
}

func (s *script) answer(w *world, a Attempt, started Instant) {
	kind, trip := s.roll()
	time.Sleep(trip)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ended := a.Ended()
	book := s.books[a.Lease]
	switch {
	case kind < 7:
		if !ended {
			book.until = max(book.until, started.Mono+a.Length()-Margin(a.Length()))
		}
		w.dog.Renewed(a, started)
	case kind < 13:
		w.dog.Missed(a)
	case kind == 13:
		if !ended {
			book.gone = w.clock.now().Mono
		}
		w.dog.Gone(a)
	}
}

func playRandomly(t *testing.T, w *world, seed uint64) {
	s := &script{rng: rand.New(rand.NewPCG(seed, 7)), books: map[*Lease]*expected{}}
	w.answering(func(a Attempt, started Instant) { s.answer(w, a, started) })
	var all []*held
	for range 300 {
		_, pause := s.roll()
		time.Sleep(pause/50 + 1) // not together with anything else
		h := w.make(length, every)
		s.mu.Lock()
		s.books[h.Lease] = &expected{until: w.clock.now().Mono + length - Margin(length)}
		s.mu.Unlock()
		w.dog.Add(h.Lease)
		all = append(all, h)
	}
	w.till(20 * time.Minute)
	ranOut, gone := 0, 0
	for _, h := range all {
		switch book := s.books[h.Lease]; {
		case len(h.told()) == 0:
			live(t, h)
			assert.Greater(t, book.until, 20*time.Minute)
		case book.gone > 0:
			gone++
			endedAt(t, h, book.gone, ErrGone)
		default:
			ranOut++
			endedAt(t, h, book.until, ErrRanOut)
		}
	}
	assert.NotZero(t, ranOut)
	assert.NotZero(t, gone)
}
