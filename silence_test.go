package rueidisson_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// TestWaitThatEndsDuringItsFirstExchangeSaysThatTheServerIsSilent has waits end when one send was not answered, and the
// exchange is still under way.
func TestWaitThatEndsDuringItsFirstExchangeSaysThatTheServerIsSilent(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	c := waiterClient(t, proxy.Addr()) // a send has three seconds, an exchange six
	name := redistest.Name(t)
	_, err := c.Semaphore(name+"s").TrySetPermits(t.Context(), 1)
	require.NoError(t, err)
	_, err = c.PermitSemaphore(name+"p").TrySetPermits(t.Context(), 1)
	require.NoError(t, err)
	_, err = c.Latch(name+"c").TrySetCount(t.Context(), 1)
	require.NoError(t, err)
	for range 64 { // each connection is made
		_, err := c.Lock(name).Locked(t.Context())
		require.NoError(t, err)
	}
	proxy.BlackHole()
	defer proxy.Restore()
	ctx, cancel := context.WithTimeout(t.Context(), 4800*time.Millisecond)
	defer cancel()
	var waits sync.WaitGroup
	for of, wait := range map[string]func() error{
		"lock": func() error { _, err := c.Lock(name + "l").Lock(ctx); return err },
		"lock with a wait": func() error {
			_, err := c.Lock(name+"w").TryLock(t.Context(), lock.WithWait(4800*time.Millisecond))
			return err
		},
		"fair lock": func() error { _, err := c.FairLock(name + "f").Lock(ctx); return err },
		"read lock": func() error { _, err := c.RWLock(name + "r").Read().Lock(ctx); return err },
		"semaphore": func() error { return c.Semaphore(name+"s").Acquire(ctx, 1) },
		"permits":   func() error { _, err := c.PermitSemaphore(name + "p").Acquire(ctx); return err },
		"latch":     func() error { return c.Latch(name + "c").Await(ctx) },
	} {
		waits.Go(func() {
			err := wait()
			assert.ErrorIs(t, err, rueidisson.ErrUnreached, of)
			assert.ErrorIs(t, err, context.DeadlineExceeded, of)
		})
	}
	waits.Wait()
}
