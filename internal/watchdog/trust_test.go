package watchdog

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestMargin(t *testing.T) {
	t.Parallel()
	for lease, want := range map[time.Duration]time.Duration{
		10 * time.Millisecond:  2 * time.Millisecond,
		40 * time.Millisecond:  2 * time.Millisecond,
		100 * time.Millisecond: 5 * time.Millisecond,
		30 * time.Second:       1500 * time.Millisecond,
	} {
		assert.Equal(t, want, Margin(lease), "of %v", lease)
	}
}

func TestAnInstantIsReachedOnEitherClock(t *testing.T) {
	t.Parallel()
	at := Instant{Mono: 10, Wall: 1000}
	assert.False(t, at.Reached(Instant{Mono: 9, Wall: 999}))
	assert.True(t, at.Reached(Instant{Mono: 10, Wall: 999}), "monotonic")
	assert.True(t, at.Reached(Instant{Mono: 9, Wall: 1000}), "wall")
	assert.Equal(t, Instant{Mono: 15, Wall: 1005}, at.Add(5))
}

func TestTheMachinesClockCountsBothTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		now := NewClock(time.Now())
		time.Sleep(time.Minute)
		assert.Equal(t, Instant{Mono: time.Minute, Wall: time.Duration(start.UnixNano()) + time.Minute}, now())
	})
}

func TestALeaseEndsExactlyWhenItsTrustRunsOut(t *testing.T) {
	t.Parallel()
	for _, length := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, 30 * time.Second, 10 * time.Minute} {
		t.Run(length.String(), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				started := w.clock.now()
				time.Sleep(5 * time.Millisecond) // the round trip: it does not count
				h := new(held)
				h.Lease = newLease(started, length, 0, func(cause error) {
					h.ends = append(h.ends, end{cause, w.clock.now().Mono})
				})
				w.dog.Add(h.Lease)
				until := started.Mono + length - Margin(length)
				w.till(until - 1)
				live(t, h)
				assert.EqualValues(t, 1, h.Left(w.clock.now()))
				assert.True(t, h.Trusted(w.clock.now()))
				w.till(until)
				endedAt(t, h, until, ErrRanOut)
				assert.Zero(t, h.Left(w.clock.now()))
				assert.False(t, h.Trusted(w.clock.now()))
				assert.Zero(t, w.dog.Len())
			})
		})
	}
}

func TestALeaseThatWasWonTooLateEndsAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		h := w.make(10*time.Millisecond, 3*time.Millisecond)
		time.Sleep(time.Second)
		w.dog.Add(h.Lease)
		synctest.Wait()
		endedAt(t, h, time.Second, ErrRanOut)
		assert.Empty(t, w.take(), "a lease that has ended is not renewed")
	})
}

func TestNothingAnsweredEndsALeaseWhateverTheRenewerDoes(t *testing.T) {
	t.Parallel()
	var stale Instant
	for what, reply := range map[string]func(w *world) func(Attempt, Instant){
		"says nothing":           func(w *world) func(Attempt, Instant) { return nil },
		"gives up at once":       func(w *world) func(Attempt, Instant) { return w.failing(0) },
		"gives up after a while": func(w *world) func(Attempt, Instant) { return w.failing(2 * time.Second) },
		"gives up too late":      func(w *world) func(Attempt, Instant) { return w.failing(time.Minute) },
		"gives up twice": func(w *world) func(Attempt, Instant) {
			return func(a Attempt, _ Instant) { w.dog.Missed(a); w.dog.Missed(a) }
		},
		"answers for the first request again": func(w *world) func(Attempt, Instant) {
			return func(a Attempt, _ Instant) {
				time.Sleep(time.Second)
				w.dog.Renewed(a, stale)
			}
		},
		"answers after the end": func(w *world) func(Attempt, Instant) { return w.fine(20 * time.Second) },
	} {
		t.Run(what, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.answering(reply(w))
				h := w.keep(length, every)
				w.till(28500*time.Millisecond - 1)
				live(t, h)
				w.till(5 * time.Minute)
				endedAt(t, h, 28500*time.Millisecond, ErrRanOut)
				assert.Zero(t, w.dog.Len())
			})
		})
	}
}

func TestEachAnswerIsTrustedFromItsOwnStart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.answering(w.fine(2 * time.Second))
		h := w.keep(30*time.Second, 10*time.Second)
		w.till(12 * time.Second) // asked at 10 s, answered now
		assert.Equal(t, 26500*time.Millisecond, h.Left(w.clock.now()))
		w.answering(nil)
		w.till(38500*time.Millisecond - 1)
		live(t, h)
		w.till(38500 * time.Millisecond)
		endedAt(t, h, 38500*time.Millisecond, ErrRanOut)
	})
}

func TestGoneEndsALeaseAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.answering(func(a Attempt, _ Instant) {
			time.Sleep(time.Second)
			w.dog.Gone(a)
			w.dog.Renewed(a, w.clock.now())
		})
		h, other := w.keep(30*time.Second, 10*time.Second), w.keep(time.Hour, 0)
		w.till(11 * time.Second)
		assert.Equal(t, 1, w.dog.Len())
		w.till(time.Minute)
		endedAt(t, h, 11*time.Second, ErrGone)
		live(t, other)
		assert.Len(t, w.take(), 1, "and it is not renewed any more")
		assert.Equal(t, 1, w.dog.Len())
	})
}

func TestALeaseEndsOnceWithItsFirstCause(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		first, second := errors.New("first"), errors.New("second")
		h := w.keep(30*time.Second, 10*time.Second)
		w.till(time.Second)
		h.Lose(first)
		h.Lose(second)
		assert.False(t, h.Finish(second))
		w.till(time.Hour)
		endedAt(t, h, time.Second, first)
		assert.Empty(t, w.take())
	})
}

func TestFinishTellsNobody(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		released := errors.New("released")
		h := w.keep(30*time.Second, 10*time.Second)
		assert.True(t, h.Finish(released))
		assert.False(t, h.Finish(released))
		w.till(time.Second)
		assert.Zero(t, h.Left(w.clock.now()))
		assert.True(t, h.Trusted(w.clock.now()), "its time has not run out, though it has ended")
		w.till(time.Hour)
		cause, ended := h.Ended()
		assert.True(t, ended)
		assert.Equal(t, released, cause)
		assert.Empty(t, h.told())
	})
}

func TestCheckEndsALeaseBeforeAnyTimerCould(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		mine := errors.New("mine")
		h := w.keep(30*time.Second, 10*time.Second)
		cause, ended := h.Check(w.clock.now(), mine)
		assert.False(t, ended)
		assert.NoError(t, cause)
		w.clock.stop(28500*time.Millisecond - 1)
		_, ended = h.Check(w.clock.now(), mine)
		assert.False(t, ended, "still trusted for a nanosecond")
		w.clock.stop(1)
		assert.Zero(t, h.Left(w.clock.now()))
		cause, ended = h.Check(w.clock.now(), mine)
		assert.True(t, ended)
		assert.Equal(t, mine, cause)
		endedAt(t, h, 28500*time.Millisecond, mine)
		cause, _ = h.Check(w.clock.now(), errors.New("another"))
		assert.Equal(t, mine, cause)
	})
}

// A lease whose end Check has found leaves the heap when its time comes, and
// an answer does not bring it back.
func TestAnAnswerDoesNotReviveALeaseThatCheckHasEnded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.answering(w.fine(time.Second))
		h := w.keep(30*time.Second, 10*time.Second)
		w.till(10 * time.Second)
		w.clock.stop(time.Minute)
		_, ended := h.Check(w.clock.now(), ErrRanOut)
		assert.True(t, ended)
		w.till(time.Hour)
		endedAt(t, h, 70*time.Second, ErrRanOut)
		assert.Zero(t, w.dog.Len())
	})
}

func TestASuspendedMachineLosesItsLeasesWithinATick(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.answering(w.fine(time.Millisecond))
		h, fixed, long := w.keep(30*time.Second, 10*time.Second), w.keep(time.Minute, 0), w.keep(time.Hour, 20*time.Minute)
		w.till(time.Second)
		w.clock.suspend(2 * time.Minute)
		w.till(time.Second + Tick)
		for _, lost := range []*held{h, fixed} {
			if assert.Len(t, lost.told(), 1) {
				assert.Equal(t, ErrRanOut, lost.told()[0].cause)
				assert.LessOrEqual(t, lost.told()[0].at, time.Second+Tick)
			}
		}
		live(t, long)
		assert.Equal(t, 1, w.dog.Len())
	})
}

func TestASuspendedMachineIsSeenByCheckAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		h := w.keep(30*time.Second, 10*time.Second)
		w.till(time.Second)
		w.clock.suspend(27500*time.Millisecond - 1)
		_, ended := h.Check(w.clock.now(), ErrRanOut)
		assert.False(t, ended)
		assert.EqualValues(t, 1, h.Left(w.clock.now()))
		w.clock.suspend(1)
		_, ended = h.Check(w.clock.now(), ErrRanOut)
		assert.True(t, ended)
	})
}

// A machine that slept for less than the lease wakes with a lease that ends
// sooner than its monotonic clock says. Its end must not be noticed later than
// a tick behind the wall clock: the server's clock has gone on too.
func TestALeaseThatASuspensionShortenedEndsInTime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		h := w.keep(30*time.Second, 10*time.Second) // nobody answers its renewals
		fixed := w.keep(30*time.Second, 0)
		w.till(time.Second)
		w.clock.suspend(25 * time.Second) // of 28.5 s of trust 2.5 s are left
		w.till(3500*time.Millisecond + Tick)
		for _, lost := range []*held{h, fixed} {
			if assert.Len(t, lost.told(), 1, "the server gives the lock away at 5s") {
				assert.LessOrEqual(t, lost.told()[0].at, 3500*time.Millisecond+Tick)
			}
		}
	})
}

// What such a machine can still save it has to: the renewal that was due after
// a third of the lease is overdue by the wall clock.
func TestALeaseThatASuspensionShortenedIsRenewedAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.answering(w.fine(time.Millisecond))
		h := w.keep(30*time.Second, 10*time.Second)
		w.till(time.Second)
		w.clock.suspend(25 * time.Second)
		w.till(time.Minute)
		live(t, h)
		if sent := starts(w.take()); assert.NotEmpty(t, sent) {
			assert.LessOrEqual(t, sent[0], time.Second+Tick)
		}
	})
}

// A wall clock that is set back must not lengthen anything.
func TestAWallClockThatIsSetBackGivesNoTrust(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		h := w.keep(30*time.Second, 0)
		w.till(time.Second)
		w.clock.suspend(-time.Hour)
		assert.Equal(t, 27500*time.Millisecond, h.Left(w.clock.now()))
		w.till(28500 * time.Millisecond)
		endedAt(t, h, 28500*time.Millisecond, ErrRanOut)
	})
}
