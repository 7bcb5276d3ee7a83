package combine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

const gap = leastGap

// The first exchange of a table has not told yet how long a round trip is, so
// that the least gap counts.

func TestAFurtherFlightLeavesAGapAfterTheLast(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		calls := w.all(context.Background(), 1)
		l := w.shard("key").lines["key"]
		w.pass(50 * time.Microsecond)
		calls = append(calls, w.all(context.Background(), 2)...)
		w.pass(50 * time.Microsecond)
		calls = append(calls, w.all(context.Background(), 3)...)
		w.pass(w.trip + gap)
		assert.Equal(t, [][]int{{1}, {2, 3}}, w.sent)
		assert.Equal(t, []time.Duration{0, gap}, w.leaves)
		assert.Equal(t, answered(2, gap+w.trip), calls[1])
		assert.Equal(t, answered(3, gap+w.trip), calls[2])
		assert.Zero(t, w.open())
		assert.True(t, l.alarm.quiet(), "the line can be used again")
	})
}

func TestACallThatComesAfterTheGapLeavesAtOnce(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		w.do(context.Background(), 1)
		w.pass(gap - 1)
		w.do(context.Background(), 2)
		w.pass(1)
		assert.Equal(t, []time.Duration{0, gap}, w.leaves, "by the alarm")
		w.pass(gap + 7)
		w.do(context.Background(), 3)
		assert.Equal(t, []time.Duration{0, gap, 2*gap + 7}, w.leaves, "by itself")
		w.pass(2 * w.trip)
		assert.Len(t, w.sent, 3)
	})
}

func TestThereAreNeverMoreThanSoManyFlights(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		w.trip = 10 * time.Millisecond
		for ask := range 40 {
			w.do(context.Background(), ask)
			w.pass(100 * time.Microsecond)
		}
		assert.Equal(t, []time.Duration{0, gap, 2 * gap}, w.leaves[:3])
		assert.Len(t, w.leaves, 3, "the others wait for a landing")
		w.pass(3 * w.trip)
		assert.Equal(t, 3, w.most)
		assert.Equal(t, w.trip, w.leaves[3], "the first landing")
		assert.Zero(t, w.open())
	})
}

func TestACrowdLeavesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(Config[string, int, int]{Flights: 3, Crowd: 4})
		w.do(context.Background(), 1)
		w.pass(1)
		w.all(context.Background(), 2, 3, 4)
		w.pass(1)
		assert.Equal(t, []time.Duration{0}, w.leaves, "three are none")
		w.do(context.Background(), 5)
		w.pass(1)
		assert.Equal(t, []time.Duration{0, 2}, w.leaves)
		w.all(context.Background(), 6, 7, 8, 9, 10, 11, 12, 13)
		w.pass(1)
		assert.Equal(t, []time.Duration{0, 2, 3}, w.leaves, "there are no more flights than three")
		w.pass(2 * w.trip)
		assert.Equal(t, [][]int{{1}, {2, 3, 4, 5}}, w.sent[:2])
		assert.Equal(t, 3, w.most)
		assert.Zero(t, w.open())
	})
}

// Those who wait for a flight that has not taken off are no reason for another.
func TestACrowdIsOneFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(Config[string, int, int]{Flights: 4, Crowd: 4})
		w.do(context.Background(), 0)
		w.pass(1)
		l := w.shard("key").lines["key"]
		w.shard("key").mu.Lock()
		launched := 0
		for ask := range 11 {
			if l.push(w.call(ask, posted)) {
				launched++
			}
		}
		w.shard("key").mu.Unlock()
		assert.Equal(t, 2, launched, "the second has seven behind the four of the first")
		for range launched {
			l.launch(nil)
		}
		w.pass(3 * w.trip)
		assert.Zero(t, w.open())
	})
}

func TestOneFlightAtATimeNeverSetsTheAlarm(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.all(context.Background(), 1, 2)
		w.pass(w.trip - 1)
		assert.Len(t, w.sent, 1)
		w.pass(1 + w.trip)
		assert.Equal(t, []time.Duration{0, w.trip}, w.leaves)
	})
}

func TestALandingComesBeforeTheAlarm(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		w.trip = 60 * time.Microsecond
		for range 3 {
			w.all(context.Background(), 1, 2, 3)
			w.pass(10 * w.trip)
		}
		trip := w.trip
		assert.Equal(t, []time.Duration{0, trip, 10 * trip, 11 * trip, 20 * trip, 21 * trip}, w.leaves)
		assert.Equal(t, 1, w.most)
	})
}

func TestTheGapGrowsWithTheRoundTrip(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		w.trip = 40 * time.Millisecond
		w.do(context.Background(), 1)
		w.pass(w.trip)
		w.all(context.Background(), 2, 3)
		w.pass(2 * w.trip)
		assert.Equal(t, []time.Duration{0, w.trip, w.trip + w.trip/4}, w.leaves)
	})
}

func TestTheRoundTripIsSmoothed(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		assert.Equal(t, gap, w.gap())
		w.measure(8 * time.Millisecond)
		assert.Equal(t, 2*time.Millisecond, w.gap())
		w.measure(16 * time.Millisecond)
		assert.Equal(t, 2250*time.Microsecond, w.gap())
		for range 100 {
			w.measure(50 * time.Microsecond)
		}
		assert.Equal(t, gap, w.gap())
	})
}

// With a round trip of a millisecond the runtime's timers would be too coarse: a
// goroutine sleeps instead, and is gone when nobody waits.
func TestAnExactAlarm(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		w.do(context.Background(), 1)
		w.pass(w.trip)
		start := w.now()
		w.all(context.Background(), 2, 3)
		assert.EqualValues(t, 1, w.spawned.Load(), "the sleeper")
		l := w.shard("key").lines["key"]
		w.pass(2 * w.trip)
		assert.Equal(t, [][]int{{1}, {2}, {3}}, w.sent)
		assert.Equal(t, start+gap, w.leaves[2])
		assert.EqualValues(t, 1, w.spawned.Load(), "it flies itself")
		assert.True(t, l.alarm.quiet())
		assert.Zero(t, w.open())
	})
}

func TestAnExactAlarmWhoseCallerLeft(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		w.do(context.Background(), 1)
		w.pass(w.trip)
		ctxs, cancels := cancellable(2)
		w.do(context.Background(), 2)
		w.do(ctxs[0], 3)
		cancels[0](nil)
		w.pass(gap)
		assert.Len(t, w.sent, 2)
		w.do(ctxs[1], 4) // the gap is over
		assert.Equal(t, [][]int{{1}, {2}, {4}}, w.sent)
		w.pass(2 * w.trip)
		assert.Zero(t, w.open())
	})
}

// The sleeper may still sleep for one who left when another comes.
func TestAnExactAlarmThatIsSetAgain(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		w.do(context.Background(), 1)
		w.pass(w.trip)
		start := w.now()
		ctxs, cancels := cancellable(1)
		w.do(context.Background(), 2)
		w.do(ctxs[0], 3)
		cancels[0](nil)
		synctest.Wait()
		w.do(context.Background(), 4)
		assert.EqualValues(t, 1, w.spawned.Load(), "one sleeper is enough")
		w.pass(2 * w.trip)
		assert.Equal(t, [][]int{{1}, {2}, {4}}, w.sent)
		assert.Equal(t, start+gap, w.leaves[2])
	})
}

func TestTheAlarmEndsWithTheLastWhoWaits(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		ctxs, cancels := cancellable(2)
		w.do(context.Background(), 1)
		for i, ctx := range ctxs {
			w.do(ctx, i+2)
		}
		l := w.shard("key").lines["key"]
		assert.True(t, l.alarm.timed)
		cancels[0](nil)
		synctest.Wait()
		assert.True(t, l.alarm.timed, "another waits")
		cancels[1](nil)
		synctest.Wait()
		assert.Equal(t, alarm{due: gap, timer: l.alarm.timer}, l.alarm)
		assert.False(t, l.alarm.timer.Stop(), "it has been stopped")
		w.pass(2 * w.trip)
		assert.Equal(t, [][]int{{1}}, w.sent)
		assert.Zero(t, w.open())
	})
}

// A timer that was stopped too late calls all the same.
func TestAStrayCallOfTheTimerDoesNothing(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		w.do(context.Background(), 1)
		l := w.shard("key").lines["key"]
		l.rung()
		assert.Equal(t, 1, l.flying, "nobody waits")
		w.do(context.Background(), 2)
		l.rung()
		synctest.Wait()
		assert.Len(t, w.sent, 1, "it is not due yet")
		w.pass(w.trip * 2)
		spawned := w.spawned.Load()
		l.rung()
		synctest.Wait()
		assert.Equal(t, [][]int{{1}, {2}}, w.sent)
		assert.Equal(t, spawned, w.spawned.Load(), "the line is closed")
	})
}

func TestALineThatAStrayCallMayReachIsNotUsedAgain(t *testing.T) {
	for what, a := range map[string]alarm{"timer": {stray: true}, "sleeper": {watched: true}} {
		assert.False(t, a.quiet(), what)
	}
	assert.True(t, (&alarm{}).quiet())

	inWorld(t, 4, func(t *testing.T, w *world) {
		w.do(context.Background(), 1)
		w.pass(w.trip)
		w.trip = gap / 2
		ctxs, cancels := cancellable(1)
		w.do(context.Background(), 2)
		w.do(ctxs[0], 3)
		cancels[0](nil)
		l := w.shard("key").lines["key"]
		w.pass(w.trip)
		assert.Zero(t, w.open())
		assert.True(t, l.alarm.watched, "the sleeper sleeps still")
		w.do(context.Background(), 4)
		assert.NotSame(t, l, w.shard("key").lines["key"])
		w.pass(gap)
		assert.False(t, l.alarm.watched)
	})
}

func TestTheGapCountsFromTheLastDepartureAfterALanding(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		w.trip = 200 * time.Microsecond
		w.all(context.Background(), 1, 2)
		w.pass(w.trip + w.trip/2)
		w.do(context.Background(), 3)
		w.pass(2 * w.trip)
		assert.Equal(t, []time.Duration{0, w.trip, 2 * w.trip}, w.leaves)
	})
}

func TestTheRestOfACutLeavesByTheAlarm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(Config[string, int, int]{Flights: 4, Cut: func([]*Call[int, int]) int { return 2 }})
		w.all(context.Background(), 1, 2, 3, 4, 5, 6)
		w.pass(2 * w.trip)
		assert.Equal(t, [][]int{{1}, {2, 3}, {4, 5}, {6}}, w.sent)
		assert.Equal(t, []time.Duration{0, gap, 2 * gap, 3 * gap}, w.leaves)
		assert.Zero(t, w.open())
	})
}

// A landing is no reason to leave early while others are under way.
func TestALandingKeepsTheGapToo(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		w.trip = 500 * time.Microsecond
		w.do(context.Background(), 1) // lands at 500
		w.pass(400 * time.Microsecond)
		w.do(context.Background(), 2) // leaves at 400
		w.pass(50 * time.Microsecond)
		w.do(context.Background(), 3) // waits
		w.pass(4 * w.trip)
		assert.Equal(t, []time.Duration{0, 400 * time.Microsecond, 650 * time.Microsecond}, w.leaves)
	})
}
