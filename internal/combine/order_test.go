package combine

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// each runs test with either kind of context, and with one flight at a time.
func each(t *testing.T, test func(t *testing.T, ctx context.Context, w *world)) {
	t.Helper()
	t.Parallel()
	for _, manner := range []string{"staying", "leaving"} {
		t.Run(manner, func(t *testing.T) {
			inWorld(t, 1, func(t *testing.T, w *world) {
				ctx := context.Background()
				if manner == "leaving" {
					var cancel context.CancelFunc
					ctx, cancel = context.WithCancel(ctx)
					defer cancel()
				}
				test(t, ctx, w)
			})
		})
	}
}

func TestTheFirstNeverWaits(t *testing.T) {
	each(t, func(t *testing.T, ctx context.Context, w *world) {
		for i := range 3 {
			o := w.do(ctx, 7)
			assert.Equal(t, 1, w.open())
			w.pass(w.trip)
			assert.Equal(t, answered(7, time.Duration(i+1)*w.trip), o)
			assert.Zero(t, w.open(), "nothing is kept of a key that idles")
		}
		assert.Equal(t, [][]int{{7}, {7}, {7}}, w.sent)
	})
}

func TestCallsDuringAFlightGoTogetherInArrivalOrder(t *testing.T) {
	each(t, func(t *testing.T, ctx context.Context, w *world) {
		calls := w.all(ctx, 1, 4, 2, 3)
		w.pass(w.trip)
		assert.Equal(t, answered(1, w.trip), calls[0], "the first does not wait for the others")
		calls = append(calls, w.all(ctx, 9, 8)...)
		w.pass(2 * w.trip)
		assert.Equal(t, [][]int{{1}, {4, 2, 3}, {9, 8}}, w.sent)
		for i, ask := range []int{4, 2, 3} {
			assert.Equal(t, answered(ask, 2*w.trip), calls[1+i])
		}
		for i, ask := range []int{9, 8} {
			assert.Equal(t, answered(ask, 3*w.trip), calls[4+i])
		}
		assert.Equal(t, 1, w.most)
		assert.Empty(t, w.left)
		assert.Zero(t, w.open())
	})
}

func TestKeysDoNotWaitForEachOther(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		for i := range 200 {
			go w.Do(t.Context(), fmt.Sprint(i), i)
		}
		synctest.Wait()
		assert.Equal(t, 200, w.open())
		w.pass(w.trip)
		assert.Len(t, w.sent, 200)
		assert.Equal(t, 200, w.most)
		assert.Zero(t, w.open())
	})
}

func TestALineTakesACallAgainAfterACrowd(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		for round := range 5 {
			w.all(context.Background(), 1, 2, 3)
			w.pass(2 * w.trip)
			assert.Equal(t, [][]int{{1}, {2, 3}}, w.sent[2*round:])
			assert.Zero(t, w.open())
		}
	})
}

func TestAnErrorReachesEveryCallerOfItsBatchAlone(t *testing.T) {
	each(t, func(t *testing.T, ctx context.Context, w *world) {
		w.fail = func(batch []int) error {
			if len(batch) == 2 {
				return errSend
			}
			return nil
		}
		calls := w.all(ctx, 1, 2, 3)
		w.pass(w.trip)
		calls = append(calls, w.all(ctx, 4, 5, 6)...)
		w.pass(2 * w.trip)
		require.Equal(t, [][]int{{1}, {2, 3}, {4, 5, 6}}, w.sent)
		for i, o := range calls {
			if i == 1 || i == 2 {
				assert.Equal(t, &outcome{ended: true, err: errSend, at: 2 * w.trip}, o)
				continue
			}
			assert.NoError(t, o.err)
			assert.Equal(t, 10*(i+1), o.answer)
		}
	})
}

func TestAnErrorOfALoneCall(t *testing.T) {
	each(t, func(t *testing.T, ctx context.Context, w *world) {
		w.fail = func([]int) error { return errSend }
		o := w.do(ctx, 1)
		w.pass(w.trip)
		assert.Equal(t, &outcome{ended: true, err: errSend, at: w.trip}, o)
		assert.Zero(t, w.open())
	})
}

func TestCutIsHonouredAndTheRestGoesNext(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		cut  int
		want [][]int
	}{
		"two":                     {2, [][]int{{1}, {2, 3}, {4, 5}, {6}}},
		"as many as wait":         {5, [][]int{{1}, {2, 3, 4, 5, 6}}},
		"more than wait is all":   {99, [][]int{{1}, {2, 3, 4, 5, 6}}},
		"less than one is one":    {0, [][]int{{1}, {2}, {3}, {4}, {5}, {6}}},
		"a negative count is one": {-3, [][]int{{1}, {2}, {3}, {4}, {5}, {6}}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(Config[string, int, int]{Cut: func([]*Call[int, int]) int { return c.cut }})
				calls := w.all(context.Background(), 1, 2, 3, 4, 5, 6)
				w.pass(6 * w.trip)
				assert.Equal(t, c.want, w.sent)
				for i, o := range calls {
					assert.Equal(t, 10*(i+1), o.answer)
				}
				assert.Zero(t, w.open())
			})
		})
	}
}

func TestCutSeesWhoWaitsWithoutThoseWhoLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen [][]int
		w := newWorld(Config[string, int, int]{Cut: func(waiting []*Call[int, int]) int {
			var asks []int
			for _, c := range waiting {
				asks = append(asks, c.Ask)
			}
			seen = append(seen, asks)
			return 2
		}})
		ctxs, cancels := cancellable(5)
		w.do(context.Background(), 9)
		for i, ctx := range ctxs {
			w.do(ctx, i)
		}
		cancels[0](nil)
		cancels[2](nil)
		w.pass(3 * w.trip)
		assert.Equal(t, [][]int{{1, 3, 4}, {4}}, seen)
		assert.Equal(t, [][]int{{9}, {1, 3}, {4}}, w.sent)
	})
}

func TestPostJoinsTheNextBatchAndNobodyIsToldByLeft(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		assert.True(t, w.Post("key", 1), "alone")
		synctest.Wait()
		o := w.do(context.Background(), 2)
		assert.True(t, w.Post("key", 3))
		p := w.do(t.Context(), 4)
		w.pass(2 * w.trip)
		assert.Equal(t, [][]int{{1}, {2, 3, 4}}, w.sent)
		assert.Equal(t, answered(2, 2*w.trip), o)
		assert.Equal(t, answered(4, 2*w.trip), p)
		assert.Empty(t, w.left)
		assert.Zero(t, w.open())
	})
}
