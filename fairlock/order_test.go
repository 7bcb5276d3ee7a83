package fairlock_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/fairlock"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// awaitQueue waits until that many stand in the queue.
func awaitQueue(t testing.TB, l *fairlock.Lock, n int) []fairlock.Waiter {
	t.Helper()
	var queue []fairlock.Waiter
	require.Eventually(t, func() bool {
		var err error
		queue, err = l.Queue(context.Background())
		return err == nil && len(queue) == n
	}, redistest.Soon, time.Millisecond, "%d in the queue", n)
	return queue
}

// Waiters of several processes, queued one after another, get the lock in that
// order, and so do those of one process.
func TestTheOrderIsThatOfTheQueue(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	var clients []*rueidisson.Client
	for range 3 {
		clients = append(clients, locktest.Open(t, server.Addr()))
	}
	hold, err := clients[0].FairLock(name).Lock(t.Context())
	require.NoError(t, err)
	const waiters = 30
	var mu sync.Mutex
	var got []int
	var wg sync.WaitGroup
	for i := range waiters {
		wg.Go(func() {
			h, err := clients[i/2%3].FairLock(name).Lock(context.Background())
			if !assert.NoError(t, err) {
				return
			}
			mu.Lock()
			got = append(got, i)
			mu.Unlock()
			assert.NoError(t, h.Unlock(context.Background()))
		})
		awaitQueue(t, clients[0].FairLock(name), i+1)
	}
	require.NoError(t, hold.Unlock(t.Context()))
	wg.Wait()
	for i, w := range got {
		require.Equal(t, i, w, "%v", got)
	}
	require.Len(t, got, waiters)
}

// Waiters that leave at any moment, before their turn and with it, leave
// nothing behind and keep the lock from nobody.
func TestWaitersThatLeaveAtAnyMomentLeaveNothing(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	var wg sync.WaitGroup
	inside := make(chan struct{}, 1)
	var clients []*rueidisson.Client
	for range 3 {
		c := locktest.Open(t, server.Addr())
		clients = append(clients, c)
		for range 8 {
			wg.Go(func() {
				for range redistest.Count(t, 40, 1000) {
					ctx, cancel := context.WithTimeout(context.Background(), rand.N(8*time.Millisecond))
					hold, err := c.FairLock(name).Lock(ctx)
					if err == nil {
						select {
						case inside <- struct{}{}:
							<-inside
						default:
							assert.Fail(t, "two inside")
						}
						assert.NoError(t, hold.Unlock(context.Background()))
					} else {
						assert.ErrorIs(t, err, context.DeadlineExceeded)
					}
					cancel()
				}
			})
		}
	}
	wg.Wait()
	require.Eventually(t, func() bool { // what was left alone is given back behind its caller
		hold, err := clients[0].FairLock(name).TryLock(context.Background())
		return err == nil && hold.Unlock(context.Background()) == nil
	}, 10*time.Second, 10*time.Millisecond) // before the lease ends by itself
	require.Empty(t, awaitQueue(t, clients[0].FairLock(name), 0))
}

type result struct {
	hold *lock.Hold
	err  error
}

// lockLater locks on a goroutine of its own, which ends with ctx at the latest.
func lockLater(ctx context.Context, l *fairlock.Lock, opts ...lock.LockOption) <-chan result {
	got := make(chan result, 1)
	go func() {
		hold, err := l.Lock(ctx, opts...)
		got <- result{hold, err}
	}()
	return got
}
