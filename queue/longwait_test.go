package queue

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestTakeOfALongElementThatIsOfferedMeanwhile: the handle has taken such before, so that there is time for it.
func TestTakeOfALongElementThatIsOfferedMeanwhile(t *testing.T) {
	t.Parallel()
	const size = 10 << 20
	server := redistest.Shared(t, redistest.Version("8.0"))
	var rate atomic.Int64
	takes, offers := engineOn(t, server.Client(t, redistest.Rated(&rate)), shortSends), engineOn(t, server.Client(t))
	redistest.Within(t, 2*time.Second, func() time.Duration { // of a process that stands still meanwhile an answer may be too late
		ctx, cancel := context.WithTimeout(t.Context(), redistest.Soon)
		defer cancel()
		q := New[string](takes, redistest.Name(t), WithCodec(codec.Text))
		other := New[string](offers, q.Name(), WithCodec(codec.Text))
		rate.Store(0)
		offered(t, other, strings.Repeat("x", size))
		if _, err := q.Take(ctx); err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			return time.Hour // the element is lost
		}
		rate.Store(5 << 18) // 8 s, and a command blocks for 5 s and has one more
		got := make(chan error, 1)
		go func() {
			v, err := q.Take(ctx)
			assert.True(t, err != nil || len(v) == size, "it has %d bytes", len(v))
			got <- err
		}()
		untilWaiting(t, q, poller.Head)
		time.Sleep(100 * time.Millisecond) // it blocks
		offered(t, other, strings.Repeat("x", size))
		if err := <-got; err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			return time.Hour // the element is lost
		}
		return 0
	})
}

// TestBoundedTakeOfALongElementThatIsOfferedMeanwhile, which is announced by an answer as long.
func TestBoundedTakeOfALongElementThatIsOfferedMeanwhile(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	server := redistest.Shared(t, redistest.Version("8.0"))
	var rate atomic.Int64
	q := NewBounded[string](engineOn(t, server.Client(t, redistest.Rated(&rate)), shortSends), redistest.Name(t), WithCodec(codec.Text))
	other := NewBounded[string](engineOn(t, server.Client(t)), q.Name(), WithCodec(codec.Text))
	_, err := other.TrySetCapacity(t.Context(), 10)
	require.NoError(t, err)
	rate.Store(9 << 17) // 7 s, and a command blocks for 5 s and has one more
	q.q.seen.longest.Store(size)
	redistest.Within(t, 2*time.Second, func() time.Duration { // of a process that stands still meanwhile the answer may be too late
		ctx, cancel := context.WithTimeout(t.Context(), redistest.Soon)
		defer cancel()
		got := make(chan error, 1)
		go func() { _, err := q.Take(ctx); got <- err }()
		redistest.Eventually(t, func() bool { return q.q.h.poller.InLine(announced, q.q.Key) == 1 }, soon, time.Millisecond)
		_, err = other.Offer(t.Context(), strings.Repeat("x", size))
		require.NoError(t, err)
		if err := <-got; err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			return time.Hour // the element is lost
		}
		return 0
	})
}
