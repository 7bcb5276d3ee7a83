package multilock_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/multilock"
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
		locks = append(locks, open(t, s.Addr()).Lock(fmt.Sprintf("%s:%d", redistest.Name(t), i)))
	}
	red := multilock.Red(locks...).With(multilock.WithRestartGuard(guard), multilock.WithMemberTimeout(soon))
	for {
		hold, err := red.TryLock(bounded(t))
		if err != nil {
			require.ErrorIs(t, err, lock.ErrNotAcquired)
			continue
		}
		require.GreaterOrEqual(t, time.Since(began), guard, "no server is that old")
		require.NoError(t, hold.Unlock(t.Context()))
		return
	}
}
