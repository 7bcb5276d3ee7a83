package topic

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestDurableSubscriberIsToldOfMessagesThatWereDropped, since it was slow, or away: what
// it gets and what it is told that it has missed is all that was published.
func TestDurableSubscriberIsToldOfMessagesThatWereDropped(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		const published, kept = 1000, 20
		r := reliableOn(t, raw, redistest.Name(t), WithMaxLength(kept))
		t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(r.of.missed).Build()) })
		s, away := r.durable("slow"), r.durable("away")
		away.Close()
		r.publishes(2, "0")
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		slow := int64(0)
		for v, err := range s.Messages(ctx) {
			var lagged *LaggedError
			switch {
			case errors.As(err, &lagged):
				require.ErrorIs(t, err, core.ErrNotice)
				slow += lagged.Missed
			default:
				require.NoError(t, err, "after %d", slow)
				if slow++; v == "0" {
					r.publishes(2, numbers(1, published)...) // one after the other
				}
			}
			if slow == published {
				break
			}
		}
		require.EqualValues(t, published, slow)
		back, got := r.durable("away"), int64(0)
		for _, err := range back.Messages(ctx) {
			var lagged *LaggedError
			if errors.As(err, &lagged) {
				got += lagged.Missed
			} else {
				require.NoError(t, err)
				got++
			}
			if got == published {
				break
			}
		}
		require.EqualValues(t, published, got)
	})
}

// TestDurableMessagesThatAreDroppedWhileTheirLoopHangsAreCountedOrHandled: those that
// were given back meanwhile are nowhere, and those that were not are with the loop.
func TestDurableMessagesThatAreDroppedWhileTheirLoopHangsAreCountedOrHandled(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		const published, kept = 200, 20
		lease := time.Second
		r := reliableBy(t, raw, engineOn(t, raw, func(c *core.Config) { c.WatchdogTimeout = lease }), redistest.Name(t), WithMaxLength(kept))
		t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(r.of.missed).Build()) })
		by := reliableOn(t, raw, r.of.key, WithMaxLength(kept)) // one that is not in a hurry
		s := r.durable("slow")
		by.publishes(1, "0")
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		accounted := int64(0)
		for v, err := range s.Messages(ctx) {
			var lagged *LaggedError
			if errors.As(err, &lagged) {
				accounted += lagged.Missed
			} else {
				require.NoError(t, err, "after %d", accounted)
				accounted++
			}
			if v == "0" {
				by.publishes(1, numbers(1, kept)...)
				time.Sleep(3 * lease) // the loop hangs until what came for it was given back
				by.publishes(1, numbers(kept, published)...)
			}
			if accounted == published {
				break
			}
		}
		require.EqualValues(t, published, accounted)
	})
}

// TestDurableMessagesThatWereMissedAreToldToTheNext, where a subscription has ended before it was told.
func TestDurableMessagesThatWereMissedAreToldToTheNext(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		const published, kept = 100, 20
		r := reliableOn(t, raw, redistest.Name(t), WithMaxLength(kept))
		t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(r.of.missed).Build()) })
		s := r.durable("billing")
		s.Close()
		redistest.Eventually(t, func() bool { return r.r.listeners(feedKey{r.of.key, "billing"}) == 0 }, soon, time.Millisecond)
		r.publishes(1, numbers(0, published)...)
		ending := func(r *reliableRig) { // without a loop
			s := r.durable("billing")
			redistest.Eventually(t, func() bool {
				s.ear.mu.Lock()
				defer s.ear.mu.Unlock()
				return s.ear.missed == published-kept
			}, soon, time.Millisecond)
			s.Close()
		}
		ending(r)
		ending(r) // of the same client
		other := reliableOn(t, raw, r.of.key, WithMaxLength(kept))
		ending(other)
		require.NoError(t, locking.Close(t.Context(), other.e))
		got := int64(0)
		for _, h := range r.durable("billing").next(t, 1+kept) {
			var lagged *LaggedError
			if errors.As(h.err, &lagged) {
				got += lagged.Missed
				continue
			}
			require.NoError(t, h.err)
			got++
		}
		require.EqualValues(t, published, got)
	})
}
