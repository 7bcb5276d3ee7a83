package reliable

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestWhoAwaitsIsToldOfTheEnd of a message, whatever that is.
func TestWhoAwaitsIsToldOfTheEnd(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		redistest.Within(t, mostWait/2, func() time.Duration { // what
			longest := time.Duration(0)
			ends := map[string]struct {
				opts []AddOption
				end  func(id int64) error
				err  error
			}{
				"buried":    {nil, func(int64) error { return r.gets("buried").Nack(t.Context(), nil) }, ErrBuried},
				"cancelled": {nil, func(id int64) error { return r.Cancel(t.Context(), id) }, ErrNotFound},
				"removed":   {nil, func(id int64) error { return r.Remove(t.Context(), id) }, ErrNotFound},
				"expired": {[]AddOption{WithExpiry(time.Millisecond)}, func(int64) error {
					_, err := r.Poll(t.Context())
					if !errors.Is(err, ErrEmpty) {
						return err
					}
					return nil
				}, ErrNotFound},
			}
			last := r.with(WithMaxAttempts(1))
			r.Queue = last.Queue
			waiter := r.other()
			for what, e := range ends {
				id := r.adds(what, e.opts...)
				got := make(chan error, 1)
				go func() { _, err := waiter.Await(t.Context(), id); got <- err }()
				redistest.Eventually(t, func() bool {
					l := waiter.h.ears.Get(waiter.of.key)
					defer waiter.h.ears.Put(waiter.of.key, l)
					l.mu.Lock()
					defer l.mu.Unlock()
					return l.sub != nil && l.waiting[id] != nil
				}, soon, time.Millisecond)
				time.Sleep(100 * time.Millisecond)
				began := time.Now()
				require.NoError(t, e.end(id), what)
				require.ErrorIs(t, redistest.Done(t, got), e.err, what)
				longest = max(longest, time.Since(began))
			}
			return longest
		})
	})
}

// TestResultEndsAtItsOwnTime, though others are kept longer and come after it.
func TestResultEndsAtItsOwnTime(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		answers := func(v string, ttl time.Duration) (id int64) {
			id = r.adds(v)
			require.NoError(t, r.gets(v).AckWith(t.Context(), []byte(v), ttl))
			return id
		}
		long := answers("long", 5*time.Hour)
		short := answers("short", 2*time.Minute)
		answers("later", 10*time.Hour)
		for id, ttl := range map[int64]time.Duration{long: 5 * time.Hour, short: 2 * time.Minute} {
			left, err := asInt(r.do("PTTL", keys.ReliableResult(r.of.key, decimal(id))))
			require.NoError(t, err)
			require.InDelta(t, ttl.Milliseconds(), left, float64(time.Minute.Milliseconds()))
		}
		brief := answers("brief", time.Millisecond)
		redistest.Eventually(t, func() bool {
			_, err := r.Result(t.Context(), brief)
			return errors.Is(err, ErrNotFound)
		}, soon, time.Millisecond)
		text, err := r.Await(t.Context(), long)
		require.NoError(t, err)
		require.Equal(t, "long", string(text))
	})
}
