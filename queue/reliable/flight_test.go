package reliable

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestMaxInFlightBoundsAllConsumersTogether, and whoever waits is told when there is room.
func TestMaxInFlightBoundsAllConsumersTogether(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		n := redistest.Count(t, 60, 1000)
		const bound = 3
		r = r.with(WithMaxInFlight(bound))
		r.isEmpty() // so that it is known to those who are not given it
		var now, most, done atomic.Int64
		h := func(context.Context, *Message[string]) error {
			is := now.Add(1)
			for old := most.Load(); is > old && !most.CompareAndSwap(old, is); old = most.Load() {
			}
			time.Sleep(time.Millisecond)
			now.Add(-1)
			done.Add(1)
			return nil
		}
		stops := []func() error{r.serves(h), r.other().serves(h), r.other().serves(h, WithPrefetch(5))}
		_, err := r.AddAll(t.Context(), make([]string, n))
		require.NoError(t, err)
		redistest.Eventually(t, func() bool { return r.counter("acked") == int64(n) }, soon, time.Millisecond)
		for _, stop := range stops {
			require.NoError(t, stop())
		}
		require.LessOrEqual(t, most.Load(), int64(bound))
		require.EqualValues(t, n, done.Load())
		r.leaves()
	})
}

// TestMaxInFlightWakesAWaiterWhenThereIsRoom: after an ack, and after a lease that ran out.
func TestMaxInFlightWakesAWaiterWhenThereIsRoom(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		redistest.Within(t, mostWait/2, func() time.Duration {
			r = r.with(WithMaxInFlight(1))
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			defer all.Wait()
			defer cancel()
			r.adds("a")
			r.adds("b")
			m := r.gets("a")
			r.isEmpty()
			got := make(chan string, 10)
			r.other(WithMaxInFlight(1)).waits(ctx, &all, got)
			r.awaitIdle(1)
			require.Empty(t, got)
			began := time.Now()
			require.NoError(t, m.Ack(t.Context()))
			require.Equal(t, "b", redistest.Done(t, got))
			return time.Since(began)
		})
	})
}

// TestMaxInFlightIsFreeAgainWhenALeaseRanOut.
func TestMaxInFlightIsFreeAgainWhenALeaseRanOut(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r = r.with(WithMaxInFlight(1))
		r.adds("a")
		r.adds("b")
		m := r.gets("a")
		r.isEmpty()
		r.do("ZADD", r.part("lease"), "1", m.d.member)
		require.NoError(t, r.other().gets("a").Ack(t.Context()))
		r.acks("b")
		require.Error(t, m.Ack(t.Context()))
		r.leaves()
	})
}
