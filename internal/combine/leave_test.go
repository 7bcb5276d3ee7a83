package combine

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var errCause = errors.New("the user went home")

// assertLeft checks that a call ended with its context, and when.
func assertLeft(t *testing.T, o *outcome, at time.Duration) {
	t.Helper()
	require.True(t, o.ended)
	assert.ErrorIs(t, o.err, context.Canceled)
	assert.ErrorIs(t, o.err, errCause)
	assert.Zero(t, o.answer)
	assert.Equal(t, at, o.at)
}

func TestACallerThatLeavesTheQueueIsNeverSent(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		ctxs, cancels := cancellable(4)
		var calls []*outcome
		for i, ctx := range ctxs {
			calls = append(calls, w.do(ctx, i+1))
		}
		w.pass(w.trip / 2)
		cancels[2](errCause)
		synctest.Wait()
		assertLeft(t, calls[2], w.trip/2)
		w.pass(2 * w.trip)
		assert.Equal(t, [][]int{{1}, {2, 4}}, w.sent)
		assert.Equal(t, answered(2, 2*w.trip), calls[1])
		assert.Equal(t, answered(4, 2*w.trip), calls[3])
		assert.Empty(t, w.left, "it was granted nothing")
	})
}

func TestAQueueThatEverybodyLeftIsNotSent(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		first := w.do(context.Background(), 1)
		ctxs, cancels := cancellable(3)
		for _, ctx := range ctxs {
			w.do(ctx, 2)
		}
		for _, cancel := range cancels {
			cancel(nil)
		}
		synctest.Wait()
		late := w.do(context.Background(), 3)
		w.pass(2 * w.trip)
		assert.Equal(t, [][]int{{1}, {3}}, w.sent)
		assert.Equal(t, answered(1, w.trip), first)
		assert.Equal(t, answered(3, 2*w.trip), late)
		assert.Zero(t, w.open())
	})
}

func TestACallThatLeftBeforeItsFlightBeganIsNotSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(Config[string, int, int]{})
		ctxs, cancels := cancellable(1)
		began := make(chan struct{})
		w.cfg.Spawn = func(f func()) bool {
			go func() {
				<-began
				f()
			}()
			return true
		}
		o := w.do(ctxs[0], 1)
		cancels[0](errCause)
		synctest.Wait()
		assertLeft(t, o, 0)
		assert.Equal(t, 1, w.open())
		close(began)
		w.pass(w.trip)
		assert.Empty(t, w.sent)
		assert.Zero(t, w.open())
	})
}

func TestACallerThatLeavesAFlightHarmsNobodyAndIsTold(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		ctxs, cancels := cancellable(4)
		first := w.do(context.Background(), 9)
		var calls []*outcome
		for i, ctx := range ctxs {
			calls = append(calls, w.do(ctx, i))
		}
		w.pass(w.trip * 3 / 2)
		cancels[1](errCause)
		cancels[3](errCause)
		synctest.Wait()
		assertLeft(t, calls[1], w.trip*3/2)
		assertLeft(t, calls[3], w.trip*3/2)
		assert.Empty(t, w.left, "the exchange has not succeeded yet")
		w.pass(w.trip)
		assert.Equal(t, [][]int{{9}, {0, 1, 2, 3}}, w.sent)
		assert.Equal(t, [][2]int{{1, 10}, {3, 30}}, w.left)
		assert.Equal(t, answered(9, w.trip), first)
		assert.Equal(t, answered(0, 2*w.trip), calls[0])
		assert.Equal(t, answered(2, 2*w.trip), calls[2])
	})
}

func TestALoneCallerThatLeavesIsToldOfOnce(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		ctxs, cancels := cancellable(1)
		o := w.do(ctxs[0], 5)
		cancels[0](errCause)
		synctest.Wait()
		assertLeft(t, o, 0)
		w.pass(3 * w.trip)
		assert.Equal(t, [][2]int{{5, 50}}, w.left)
		assert.Zero(t, w.open())
	})
}

func TestNobodyIsToldOfAFlightThatFailed(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.fail = func([]int) error { return errSend }
		ctxs, cancels := cancellable(1)
		w.do(ctxs[0], 5)
		stayed := w.do(context.Background(), 6)
		cancels[0](errCause)
		w.pass(2 * w.trip)
		assert.Empty(t, w.left)
		assert.Equal(t, errSend, stayed.err)
	})
}

func TestWithoutLeftNothingIsGivenBack(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.cfg.Left = nil
		ctxs, cancels := cancellable(1)
		w.do(ctxs[0], 5)
		cancels[0](nil)
		w.pass(w.trip)
		assert.Zero(t, w.open())
	})
}

func TestWhatLeftPostsGoesNext(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		posted := false
		w.cfg.Left = func(key string, ask, answer int) {
			posted = w.Post(key, -answer)
		}
		ctxs, cancels := cancellable(1)
		w.do(ctxs[0], 5)
		other := w.do(context.Background(), 6)
		cancels[0](nil)
		w.pass(2 * w.trip)
		assert.True(t, posted)
		assert.Equal(t, [][]int{{5}, {6, -50}}, w.sent)
		assert.Equal(t, answered(6, 2*w.trip), other)
		assert.Zero(t, w.open())
	})
}

func TestADeadlineEndsTheWaitForAStuckExchange(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.trip = time.Minute
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		flying, waiting := w.do(ctx, 1), w.do(ctx, 2)
		w.pass(time.Second)
		for _, o := range []*outcome{flying, waiting} {
			assert.Equal(t, &outcome{ended: true, err: context.DeadlineExceeded, at: time.Second}, o)
		}
		w.pass(time.Minute)
		assert.Equal(t, [][]int{{1}}, w.sent)
		assert.Equal(t, [][2]int{{1, 10}}, w.left)
	})
}

func TestAContextThatHasEndedSendsNothing(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errCause)
		assertLeft(t, w.do(ctx, 1), 0)
		w.pass(w.trip)
		assert.Empty(t, w.sent)
		assert.Zero(t, w.spawned.Load())
	})
}

func TestAnAnswerThatCameFirstIsTheAnswer(t *testing.T) {
	t.Parallel()
	c := &Call[int, int]{manner: leaving, done: make(chan struct{}, 1)}
	assert.True(t, c.settle(nil))
	assert.False(t, c.leave())
	<-c.done

	c.fate.Store(open)
	assert.True(t, c.leave())
	assert.False(t, c.settle(nil))
	assert.Empty(t, c.done, "nobody would take it, and the call is used again")
}

func TestHowAContextEnded(t *testing.T) {
	t.Parallel()
	ctxs, cancels := cancellable(3)
	cancels[0](nil)
	assert.Equal(t, context.Canceled, contextError(ctxs[0]))
	cancels[1](errCause)
	assert.EqualError(t, contextError(ctxs[1]), "context canceled: the user went home")
	wraps := errors.Join(context.Canceled, errCause)
	cancels[2](wraps)
	assert.Equal(t, wraps, contextError(ctxs[2]), "said once")
}

// Many leave, from any place, and some come: the order of the others stands.
func TestTheOrderSurvivesManyWhoLeave(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.do(context.Background(), 0)
		random := rand.New(rand.NewPCG(1, 2))
		var want []int
		cancels := map[int]context.CancelCauseFunc{}
		for ask := 1; ask <= 300; ask++ {
			ctx, cancel := context.WithCancelCause(context.Background())
			w.do(ctx, ask)
			cancels[ask] = cancel
			want = append(want, ask)
			for len(want) > 0 && random.IntN(10) < 4 {
				at := random.IntN(len(want))
				cancels[want[at]](nil)
				synctest.Wait()
				want = append(want[:at], want[at+1:]...)
			}
		}
		w.pass(2 * w.trip)
		require.Greater(t, len(want), 20)
		assert.Equal(t, [][]int{{0}, want}, w.sent)
		for _, cancel := range cancels {
			cancel(nil)
		}
	})
}

// TestGoneNamesTheErrorOfACallUnderWay, and not of one that was not sent.
func TestGoneNamesTheErrorOfACallUnderWay(t *testing.T) {
	t.Parallel()
	errGone, began, open := errors.New("gone"), make(chan struct{}), make(chan struct{})
	table := New(Config[string, int, int]{
		Send:  func(string, int, []*Call[int, int]) error { began <- struct{}{}; <-open; return nil },
		Gone:  func(why error) error { return errors.Join(errGone, why) },
		Spawn: func(f func()) bool { go f(); return true }, // ends with open
	})
	under, leave := context.WithCancel(t.Context())
	waits, give := context.WithCancel(t.Context())
	sent, queued := make(chan error, 1), make(chan error, 1)
	go func() { _, err := table.Do(under, "k", 1); sent <- err }() // ends with its context
	<-began
	go func() { _, err := table.Do(waits, "k", 2); queued <- err }() // ends with its context
	for n := 0; n == 0; n, _ = table.Look("k") {
		runtime.Gosched()
	}
	give()
	err := <-queued
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, errGone)
	leave()
	err = <-sent
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, errGone)
	close(open)
}
