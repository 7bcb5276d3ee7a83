package reliable

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestWhoAwaitsIsToldOfTheEnd of a message, whatever that is.
func TestWhoAwaitsIsToldOfTheEnd(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
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
			require.ErrorIs(t, <-got, e.err, what)
			require.Less(t, time.Since(began), mostWait/2, what)
		}
	})
}
