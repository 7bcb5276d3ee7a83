package reliable

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestReleaseWithADelayComesLaterAndIsNoAttempt: what is behind it goes first, but for its group.
func TestReleaseWithADelayComesLaterAndIsNoAttempt(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r = r.with(WithMaxAttempts(2))
		id := r.adds("a", WithGroup("g"), WithExpiry(time.Hour))
		r.adds("b", WithGroup("g"))
		for range 3 { // more often than it has attempts
			began := time.Now()
			m := r.gets("a")
			require.Equal(t, 1, m.Attempt)
			require.NoError(t, m.Release(t.Context(), WithDelay(time.Hour)))
			info, err := r.Find(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, Delayed, info.State)
			require.Zero(t, info.Attempts)
			require.WithinDuration(t, began.Add(time.Hour), info.When, time.Minute)
			require.ErrorIs(t, r.Remove(t.Context(), id), ErrTaken)
			r.do("ZADD", r.part("due"), "1", decimal(id))
		}
		m := r.gets("a")
		r.adds("c")
		require.NoError(t, m.Release(t.Context(), WithDelay(50*time.Millisecond)))
		r.acks("c", "a", "b")
		r.leaves()
	})
}

// TestSnoozeGivesBackForAWhile, however often, and the observer hears of a release.
func TestSnoozeGivesBackForAWhile(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		outcomes := &settledNotes{}
		r.e.Messages = outcomes
		var came atomic.Int64
		stop := r.serves(func(_ context.Context, m *Message[string]) error {
			if m.Attempt != 1 {
				return Discard(fmt.Errorf("attempt %d", m.Attempt))
			}
			if came.Add(1) <= 3 {
				return fmt.Errorf("not yet: %w", Snooze(20*time.Millisecond))
			}
			return nil
		}, WithMaxAttempts(1))
		began := time.Now()
		r.adds("a")
		redistest.Eventually(t, func() bool { return r.counter("acked") == 1 }, soon, time.Millisecond)
		require.GreaterOrEqual(t, time.Since(began), 60*time.Millisecond)
		require.NoError(t, stop())
		require.Equal(t, []string{"released", "released", "released", "acked"}, outcomes.told())
		require.Zero(t, r.counter("retried"))
		r.leaves()
	})
}
