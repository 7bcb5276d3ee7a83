package fairlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// A server whose clock is set back believes for as long that a process is alive
// that has fallen silent. Those who wait behind it do not.
func TestASilentWaiterIsPassedThoughTheClockWentBack(t *testing.T) {
	t.Parallel()
	redistest.Within(t, 10*time.Second, func() time.Duration { // 1.5 s, and what a busy machine takes
		server, clock := redistest.StartWithClock(t)
		name := redistest.Name(t)
		short := rueidisson.WithWatchdogTimeout(2 * time.Second)
		here, there := locktest.Open(t, server.Addr(), short).FairLock(name), locktest.Open(t, server.Addr(), short).FairLock(name)
		held := locktest.Take(t, here)
		child := redistest.StartChild(t, "holder", "FAIR_ADDR="+server.Addr(), "FAIR_NAME="+name)
		awaitQueue(t, here, 1)
		second := lockLater(t.Context(), there)
		awaitQueue(t, here, 2)
		child.Stop()
		clock.Set(-time.Hour)
		locktest.Unlock(t, held)
		began := time.Now()
		locktest.Unlock(t, got(t, second))
		took := time.Since(began)
		child.Cont()
		require.Equal(t, "held: <nil>", child.Next(), "it is still there")
		child.Send("unlock")
		require.Equal(t, "trusts: <nil>, <nil>", child.Next())
		require.Equal(t, "unlocked: <nil>", child.Next())
		mustBeFree(t, here)
		return took
	})
}

// The lease of a holder ends by the server's clock: if that is set back, a living
// one is not held up by it, and that of a dead one is taken away by force.
func TestAClockThatIsSetBackLengthensALease(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t)
	name := redistest.Name(t)
	l := locktest.Open(t, server.Addr(), rueidisson.WithWatchdogTimeout(2*time.Second)).FairLock(name)
	child := redistest.StartChild(t, "holder", "FAIR_ADDR="+server.Addr(), "FAIR_NAME="+name)
	require.Equal(t, "held: <nil>", child.Next())
	first := lockLater(t.Context(), l)
	awaitQueue(t, l, 1)
	clock.Set(-time.Hour)
	child.Send("unlock")
	require.Equal(t, "trusts: <nil>, <nil>", child.Next())
	require.Equal(t, "unlocked: <nil>", child.Next())
	locktest.Unlock(t, got(t, first))

	dies := redistest.StartChild(t, "holder", "FAIR_ADDR="+server.Addr(), "FAIR_NAME="+name)
	require.Equal(t, "held: <nil>", dies.Next())
	second := lockLater(t.Context(), l)
	awaitQueue(t, l, 1)
	dies.Kill()
	clock.Set(-2 * time.Hour)
	time.Sleep(3 * time.Second) // its lease would be over
	left, err := l.Remaining(t.Context())
	require.NoError(t, err)
	require.Greater(t, left, 50*time.Minute, "as doc.go says")
	require.Empty(t, second)
	held, err := l.ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, held)
	locktest.Unlock(t, got(t, second))
	mustBeFree(t, l)
}

// A clock that is set forward ends the leases, and changes nothing about who is
// next.
func TestTheQueueOutlastsAClockThatIsSetForward(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t)
	name := redistest.Name(t)
	short := rueidisson.WithWatchdogTimeout(2 * time.Second)
	here, there := locktest.Open(t, server.Addr(), short).FairLock(name), locktest.Open(t, server.Addr(), short).FairLock(name)
	held := locktest.Take(t, here)
	var waited []<-chan result
	for i, on := range []int{1, 0, 1, 0} {
		l := here
		if on == 1 {
			l = there
		}
		waited = append(waited, lockLater(t.Context(), l))
		awaitQueue(t, here, i+1)
	}
	clock.Set(time.Hour)
	inOrder(t, waited)
	<-held.Lost()
	require.ErrorIs(t, held.Unlock(t.Context()), lock.ErrLost)
	mustBeFree(t, there)
}
