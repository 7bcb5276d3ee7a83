package queue

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestQueueMovesBetweenAnyTwoEnds, at once and when an element comes.
func TestQueueMovesBetweenAnyTwoEnds(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		a := texts(t, raw)
		b := New[string](a.q.h.e, named(t, raw), WithCodec(codec.Text))
		for _, c := range []struct {
			from, at End
			moved    string
			a, b     []string
		}{
			{Head, Head, "1", []string{"2", "3"}, []string{"1", "x", "y"}},
			{Head, Tail, "1", []string{"2", "3"}, []string{"x", "y", "1"}},
			{Tail, Head, "3", []string{"1", "2"}, []string{"3", "x", "y"}},
			{Tail, Tail, "3", []string{"1", "2"}, []string{"x", "y", "3"}},
		} {
			for _, move := range []func(context.Context, End, *Queue[string], End) (string, error){a.Move, a.TakeMove} {
				offered(t, a, "1", "2", "3")
				offered(t, b, "x", "y")
				v, err := move(within(t), c.from, b, c.at)
				require.NoError(t, err)
				require.Equal(t, c.moved, v)
				require.Equal(t, c.a, contents(t, raw, a.Name()))
				require.Equal(t, c.b, contents(t, raw, b.Name()))
				_, err = a.Drain(t.Context())
				require.NoError(t, err)
				_, err = b.Drain(t.Context())
				require.NoError(t, err)
			}
		}
		_, err := a.Move(t.Context(), Head, b, Tail)
		require.ErrorIs(t, err, ErrEmpty)
		_, err = a.Move(t.Context(), 7, b, Tail)
		require.ErrorIs(t, err, ErrInvalidArgument)
		_, err = a.TakeMove(t.Context(), Head, nil, Tail)
		require.ErrorIs(t, err, ErrInvalidArgument)
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() { _, err := a.TakeMove(ctx, Head, b, Tail); gone <- err }()
		redistest.Eventually(t, func() bool { return a.q.h.poller.Waiting(announced, a.q.Key) }, soon, time.Millisecond)
		cancel()
		require.ErrorIs(t, redistest.Done(t, gone), context.Canceled)

		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				_, err := a.TakeMove(within(t), Tail, b, Head)
				assert.NoError(t, err)
			})
		}
		redistest.Eventually(t, func() bool { return a.q.h.poller.InLine(announced, a.q.Key) == 3 }, soon, time.Millisecond)
		for _, v := range []string{"1", "2", "3"} {
			offered(t, a, v)
		}
		all.Wait()
		require.Empty(t, contents(t, raw, a.Name()))
		require.ElementsMatch(t, []string{"1", "2", "3"}, contents(t, raw, b.Name()))
	})
}

// TestQueueTakesSeveralAndLooksForOne.
func TestQueueTakesSeveralAndLooksForOne(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := texts(t, raw)
		offered(t, q, "1", "2", "3", "4", "5")
		yes, err := q.Contains(t.Context(), "3")
		require.NoError(t, err)
		require.True(t, yes)
		yes, err = q.Contains(t.Context(), "6")
		require.NoError(t, err)
		require.False(t, yes)
		some, err := q.PollLastN(t.Context(), 2)
		require.NoError(t, err)
		require.Equal(t, []string{"5", "4"}, some)
		some, err = q.TakeN(within(t), 2)
		require.NoError(t, err)
		require.Equal(t, []string{"1", "2"}, some)
		some, err = q.TakeN(within(t), 10)
		require.NoError(t, err)
		require.Equal(t, []string{"3"}, some)
		_, err = q.PollLastN(t.Context(), 2)
		require.ErrorIs(t, err, ErrEmpty)
		_, err = q.TakeN(t.Context(), 0)
		require.ErrorIs(t, err, ErrInvalidArgument)
		come := make(chan []string)
		go func() {
			some, err := q.TakeN(within(t), 3)
			assert.NoError(t, err)
			come <- some
		}()
		untilWaiting(t, q, head.kind)
		offered(t, q, "6", "7")
		require.Equal(t, "6", redistest.Done(t, come)[0])

		b := boundedOn(t, q.q.h.e, 3)
		n, err := b.OfferFirst(t.Context(), "a", "b")
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		_, err = b.TryOfferFirst(t.Context(), "c")
		require.NoError(t, err)
		_, err = b.TryOfferFirst(t.Context(), "d")
		require.ErrorIs(t, err, ErrFull)
		requireFree(t, b, 0)
		some, err = b.Drain(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"c", "b", "a"}, some)
		requireFree(t, b, 3)
	})
}

// TestTakeAnyAsksOnceForAllQueues, and puts back what comes for nobody.
func TestTakeAnyAsksOnceForAllQueues(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, proxy := through(t, server)
	e := engineOn(t, client)
	var qs []*Queue[string]
	for i := range 50 {
		qs = append(qs, New[string](e, decimal(int64(i)), WithCodec(codec.Text)))
	}
	offered(t, qs[30], "a")
	offered(t, qs[40], "b")
	server.ResetStats()
	v, from, err := TakeAny(within(t), qs...)
	require.NoError(t, err)
	require.Equal(t, "a", v)
	require.Same(t, qs[30], from)
	require.EqualValues(t, 1, server.CommandCalls(t, "lmpop", "lpop"))
	late := proxy.HoldRequest(redistest.Command("LMPOP"))
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() { _, _, err := TakeAny(ctx, qs...); gone <- err }()
	late.Await(t)
	cancel()
	require.ErrorIs(t, redistest.Done(t, gone), context.Canceled)
	late.Release()
	redistest.Eventually(t, func() bool {
		n, err := qs[40].Len(t.Context())
		return err == nil && n == 1
	}, soon, time.Millisecond)
}
