package semaphore

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// clocked are two clients of a server whose clock is set.
func clocked(t *testing.T, timeout time.Duration) (here, there *permitRig, clock *redistest.Clock) {
	t.Helper()
	server, clock := redistest.StartWithClock(t)
	short := func(c *core.Config) { c.WatchdogTimeout = timeout }
	here = permitRigOn(t, server.Client(t), redistest.Name(t), short)
	return here, here.beside(short), clock
}

// gone waits until p is lost, and checks that its contexts have ended with it.
func gone(t *testing.T, p *Permit, ctx context.Context, why error) {
	t.Helper()
	select {
	case <-p.Lost():
	case <-time.After(soon):
		t.Fatal("it is trusted still")
	}
	require.ErrorIs(t, p.Err(), ErrLost)
	require.ErrorIs(t, p.Err(), why)
	require.Error(t, ctx.Err())
	require.ErrorIs(t, context.Cause(ctx), ErrLost)
}

// A clock that is set forward ends every lease for the server. Who holds a permit
// that is renewed learns of it at the next renewal, and in any case by its own
// clock; another may have the permit until then.
func TestAClockThatIsSetForwardEndsPermits(t *testing.T) {
	t.Parallel()
	here, there, clock := clocked(t, 6*time.Second)
	here.set(1)
	kept := here.take()
	ctx := kept.Context(t.Context())
	there.refused()
	clock.Set(time.Hour)
	until := kept.Deadline()
	other := there.take(WithLease(time.Hour))
	require.NotContains(t, here.list(), kept.ID(), "the server knows it no more")
	gone(t, kept, ctx, watchdog.ErrGone)
	require.False(t, kept.Deadline().After(until), "nothing has lengthened it")
	require.ErrorIs(t, kept.Release(t.Context()), ErrLost)
	here.stands(0, 1)
	there.give(other)
	here.stands(1, 0)
}

// One with a fixed lease is not told before its holder's own clock says so.
func TestAFixedLeaseIsNotToldOfAClockThatIsSetForward(t *testing.T) {
	t.Parallel()
	here, there, clock := clocked(t, 30*time.Second)
	here.set(1)
	fixed := here.take(WithLease(2 * time.Second))
	ctx := fixed.Context(t.Context())
	clock.Set(time.Hour)
	other := there.take(WithLease(time.Hour))
	gone(t, fixed, ctx, watchdog.ErrRanOut)
	require.ErrorIs(t, fixed.Release(t.Context()), ErrLost)
	here.stands(0, 1)
	there.give(other)
	here.stands(1, 0)
}

// A clock that is set back grants nothing twice: leases last for so much longer on
// the server, while their holders count by their own clocks.
func TestAClockThatIsSetBackGrantsNothingTwice(t *testing.T) {
	t.Parallel()
	timeout := redistest.Scaled(5 * time.Second)
	here, there, clock := clocked(t, timeout)
	here.set(2)
	kept, fixed := here.take(), here.take(WithLease(2*timeout))
	ctx := fixed.Context(t.Context())
	clock.Set(-time.Hour)
	there.refused()
	gone(t, fixed, ctx, watchdog.ErrRanOut)
	require.NoError(t, kept.Err(), "it was renewed meanwhile")
	there.refused()
	require.Greater(t, here.list()[fixed.ID()].Remaining, 50*time.Minute, "on the server it is held still")

	here.give(kept)
	second := there.take(WithLease(3 * time.Hour))
	waits := there.acquiring(t.Context(), WithLease(time.Hour))
	there.waiting(1)
	clock.Set(0)
	third := gotPermit(t, waits) // within the cap of a sleep
	there.refused()
	require.ErrorIs(t, fixed.Release(t.Context()), ErrLost)
	here.stands(0, 2)
	there.give(second)
	there.give(third)
	here.stands(2, 0)
}

// What was lost by its holder's clock, and is released all the same, comes back
// at once, though the server's clock was set back.
func TestAReleaseComesThroughThoughTheClockWentBack(t *testing.T) {
	t.Parallel()
	here, there, clock := clocked(t, 30*time.Second)
	here.set(1)
	p := here.take(WithLease(time.Second))
	clock.Set(-time.Hour)
	<-p.Lost()
	there.refused()
	require.ErrorIs(t, p.Release(t.Context()), ErrLost)
	here.awaitStands(1, 0)
	q := there.take()
	clock.Set(-2 * time.Hour) // between its acquire and its release
	there.give(q)
	here.stands(1, 0)
}
