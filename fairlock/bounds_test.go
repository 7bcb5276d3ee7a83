package fairlock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// inTime tries what has to be over within d until it is: a busy machine takes its
// time, but not always.
func inTime(t *testing.T, d time.Duration, try func(name string) time.Duration) {
	t.Helper()
	name := redistest.Name(t)
	for i := range 10 {
		took := try(fmt.Sprintf("%s%d", name, i))
		t.Logf("after %v", took)
		if took <= d {
			return
		}
	}
	t.Fatalf("never within %v", d)
}

func TestWhoIsPartedIsPassedOverWithinASecondAndAHalf(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	parted, here, there := locktest.Open(t, proxy.Addr()), locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
	inTime(t, 1500*time.Millisecond, func(name string) time.Duration {
		held := locktest.Take(t, here.FairLock(name))
		first := lockLater(t.Context(), parted.FairLock(name))
		awaitQueue(t, here.FairLock(name), 1)
		second := lockLater(t.Context(), there.FairLock(name))
		awaitQueue(t, here.FairLock(name), 2)
		proxy.BlackHole()
		began := time.Now()
		locktest.Unlock(t, held)
		next := got(t, second)
		took := time.Since(began)
		proxy.Restore()
		locktest.Unlock(t, next)
		locktest.Unlock(t, got(t, first))
		return took
	})
}

func TestADeadFrontOfRedissonsIsPassedOverWithinTwoSeconds(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw, here, there := server.Client(t), locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
	inTime(t, 2*time.Second, func(name string) time.Duration {
		held := locktest.Take(t, here.FairLock(name))
		const dead = "99999999-9999-4999-8999-999999999999:1"
		redistest.Do(t, raw, "RPUSH", "redisson_lock_queue:{"+name+"}", dead)
		redistest.Do(t, raw, "ZADD", "redisson_lock_timeout:{"+name+"}", "9999999999999", dead)
		waited := lockLater(t.Context(), there.FairLock(name))
		awaitQueue(t, here.FairLock(name), 2)
		began := time.Now()
		locktest.Unlock(t, held)
		next := got(t, waited)
		took := time.Since(began)
		require.GreaterOrEqual(t, took, 900*time.Millisecond, "it was told twice")
		locktest.Unlock(t, next)
		return took
	})
}
