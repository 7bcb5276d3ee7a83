package combine

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
)

func TestAClosedOwnerRefusesWhatNeedsAGoroutine(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.closed.Store(true)
		ctxs, cancels := cancellable(1)
		assert.Equal(t, &outcome{ended: true, err: errClosed}, w.do(ctxs[0], 1))
		assert.False(t, w.Post("key", 2))
		w.pass(w.trip)
		assert.Empty(t, w.sent)
		assert.Empty(t, w.left)
		assert.Zero(t, w.open())
		cancels[0](nil)
	})
}

func TestWhoWaitsBehindTheLastFlightGetsClosed(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		ctxs, cancels := cancellable(2)
		flying := w.do(context.Background(), 1)
		calls := []*outcome{w.do(context.Background(), 2), w.do(ctxs[0], 3)}
		w.do(ctxs[1], 4)
		cancels[1](nil)
		synctest.Wait()
		w.closed.Store(true)
		w.pass(w.trip)
		assert.Equal(t, answered(1, w.trip), flying)
		for _, o := range calls {
			assert.Equal(t, &outcome{ended: true, err: errClosed, at: w.trip}, o)
		}
		assert.Equal(t, [][]int{{1}}, w.sent)
		assert.Empty(t, w.left)
		assert.Zero(t, w.open())
		cancels[0](nil)
	})
}

func TestWhatWasPostedIsSentThoughTheOwnerCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(Config[string, int, int]{Cut: func([]*Call[int, int]) int { return 2 }})
		w.do(context.Background(), 1)
		assert.True(t, w.Post("key", 2))
		refused := w.do(context.Background(), 3)
		assert.True(t, w.Post("key", 4))
		assert.True(t, w.Post("key", 5))
		w.closed.Store(true)
		w.pass(3 * w.trip)
		assert.Equal(t, [][]int{{1}, {2, 4}, {5}}, w.sent)
		assert.Equal(t, &outcome{ended: true, err: errClosed, at: w.trip}, refused)
		assert.Zero(t, w.open())
	})
}

func TestPostsBehindARefusedFlightGoWithTheOneUnderWay(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		assert.True(t, w.Post("key", 1))
		synctest.Wait()
		assert.True(t, w.Post("key", 2))
		w.closed.Store(true)
		w.pass(gap)
		assert.Equal(t, [][]int{{1}}, w.sent, "the alarm's flight was refused")
		w.pass(gap)
		assert.False(t, w.Post("key", 3), "its own flight was refused")
		w.pass(2 * w.trip)
		assert.Equal(t, [][]int{{1}, {2}}, w.sent)
		assert.Zero(t, w.open())
	})
}

func TestWithoutAGoroutineTheTimerMustDo(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		w.do(context.Background(), 1)
		w.pass(w.trip)
		w.do(context.Background(), 2)
		w.closed.Store(true)
		waiting := w.do(context.Background(), 3)
		w.pass(gap)
		assert.Equal(t, &outcome{ended: true, err: errClosed, at: w.trip + gap}, waiting)
		w.pass(w.trip)
		assert.Zero(t, w.open())
	})
}

// Callers that do not mind any error keep their line busy for ever; the owner's
// Close must not wait for them.
func TestALineThatNeverIdlesEndsWithItsOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(Config[string, int, int]{Cut: func([]*Call[int, int]) int { return 1 }})
		ctx, cancel := context.WithCancel(context.Background())
		ends := make([]error, 3) // two always wait
		for i := range ends {
			go func() {
				for ends[i] == nil {
					_, ends[i] = w.Do(ctx, "key", i)
				}
			}()
		}
		w.pass(10 * mostRounds * w.trip)
		assert.InDelta(t, 10, w.spawned.Load(), 1, "a goroutine is kept for many flights")
		w.closed.Store(true)
		w.pass(2 * mostRounds * w.trip)
		for _, err := range ends {
			assert.Equal(t, errClosed, err)
		}
		assert.Zero(t, w.open())
		cancel()
	})
}

func TestAPanicOfACallersOwnFlightIsTheCallers(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.fail = func(batch []int) error {
			if batch[0] == 1 {
				panic("in Send")
			}
			return nil
		}
		recovered := make(chan any, 1)
		go func() {
			defer func() { recovered <- recover() }()
			w.Do(context.Background(), "key", 1)
		}()
		synctest.Wait()
		waiting := w.do(context.Background(), 2)
		w.pass(2 * w.trip)
		assert.Equal(t, "in Send", <-recovered)
		assert.Equal(t, answered(2, 2*w.trip), waiting)
		assert.Zero(t, w.open())
	})
}

// A goroutine that ends takes the same way as a panic, which here would end the
// test as it would end the program.
func TestAnAbortedFlightDoesNotHoldUpItsLine(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.fail = func(batch []int) error {
			if len(batch) == 3 {
				runtime.Goexit()
			}
			return nil
		}
		ctxs, cancels := cancellable(1)
		calls := w.all(context.Background(), 1, 2, 3)
		w.do(ctxs[0], 4)
		w.pass(w.trip * 3 / 2)
		cancels[0](nil)
		next := w.do(context.Background(), 5)
		w.pass(3 * w.trip)
		assert.Equal(t, [][]int{{1}, {2, 3, 4}, {5}}, w.sent)
		for _, o := range calls[1:] {
			assert.Equal(t, &outcome{ended: true, err: ErrAborted, at: 2 * w.trip}, o)
		}
		assert.Equal(t, answered(5, 3*w.trip), next)
		assert.Empty(t, w.left)
		assert.Zero(t, w.open())
	})
}

func TestAnAbortInLeftDoesNotHoldUpTheLine(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.cfg.Left = func(string, int, int) { runtime.Goexit() }
		ctxs, cancels := cancellable(1)
		w.do(ctxs[0], 1)
		next := w.do(context.Background(), 2)
		cancels[0](nil)
		w.pass(2 * w.trip)
		assert.Equal(t, answered(2, 2*w.trip), next)
		assert.Zero(t, w.open())
	})
}

func TestAnIdleLineKeepsNoRoomForACrowd(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		l := newLine(w.Table)
		l.shard, l.flying = w.shard("key"), 1
		crowd := func() {
			for range mostKept + 1 {
				l.add(&Call[int, int]{})
			}
		}
		crowd()
		flight, batch, _ := l.board()
		crowd()
		batch, _ = l.land(flight, batch)
		_, more := l.land(flight, batch)
		assert.False(t, more)
		assert.LessOrEqual(t, cap(l.queue), mostKept)
		assert.LessOrEqual(t, cap(l.spare), mostKept)
	})
}

func TestARefusedLineHasNoAlarm(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		w.trip = gap / 2
		w.all(context.Background(), 1, 2)
		l := w.shard("key").lines["key"]
		assert.True(t, l.alarm.set)
		w.closed.Store(true)
		w.pass(w.trip)
		assert.False(t, l.alarm.set)
		assert.Zero(t, w.open())
	})
}
