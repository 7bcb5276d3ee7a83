package redlock_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/redlock"
)

// The uptime is the difference of two whole seconds: a server that was started
// late in the one says 1 early in the next. It does not count before its time.
func TestAServerCountsNoSoonerThanItsTime(t *testing.T) {
	t.Parallel()
	const guard = 2 * time.Second
	<-time.After(time.Until(time.Now().Truncate(time.Second).Add(1700 * time.Millisecond)))
	began := time.Now()
	servers := make([]*redistest.Server, 3)
	var starting sync.WaitGroup
	for i := range servers {
		starting.Go(func() { servers[i] = redistest.Start(t) })
	}
	starting.Wait()
	var locks []lock.Locker
	for i, s := range servers {
		locks = append(locks, locktest.Open(t, s.Addr()).Lock(fmt.Sprintf("%s:%d", redistest.Name(t), i)))
	}
	red := redlock.New(locks...).With(redlock.WithRestartGuard(guard), redlock.WithMemberTimeout(soon))
	for {
		hold, err := red.TryLock(locktest.Bounded(t))
		if err != nil {
			require.ErrorIs(t, err, lock.ErrNotAcquired)
			continue
		}
		require.GreaterOrEqual(t, time.Since(began), guard, "no server is that old")
		require.NoError(t, hold.Unlock(t.Context()))
		return
	}
}

// TestRedLockSaysThatServersHaveJustStarted in the error of a wait that ends before they count, and once in the log.
func TestRedLockSaysThatServersHaveJustStarted(t *testing.T) {
	t.Parallel()
	logged := make(logLines, 100)
	var locks []lock.Locker
	for i := range 3 {
		c := locktest.Open(t, redistest.Start(t).Addr(), rueidisson.WithLogger(slog.New(slog.NewTextHandler(logged, nil))))
		locks = append(locks, c.Lock(fmt.Sprintf("%s:%d", redistest.Name(t), i)))
	}
	red := redlock.New(locks...).With(redlock.WithMemberTimeout(soon))
	ctx, cancel := context.WithCancel(locktest.Bounded(t))
	defer cancel()
	failed := make(chan error, 1)
	go func() { // ends with ctx
		_, err := red.Lock(ctx)
		failed <- err
	}()
	redistest.Eventually(t, func() bool { return len(logged) == 3 }, soon, time.Millisecond)
	cancel()
	err := redistest.Done(t, failed)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, lock.ErrNotAcquired, "nobody holds it")
	restarted := new(*redlock.RestartedError)
	require.ErrorAs(t, err, restarted)
	_, err = red.TryLock(locktest.Bounded(t))
	require.ErrorAs(t, err, restarted)
	require.Len(t, logged, 3)
	for range 3 {
		require.Contains(t, <-logged, "a server that restarted does not count yet")
	}
}

// logLines is a log.
type logLines chan string

func (l logLines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}
