package election_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// A server whose clock is set has a leader all the same, whose token is above all
// that were, and who is trusted for no longer than it would be without.
func TestTokensRiseOverTheClocksSteps(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t)
	name := redistest.Name(t)
	short := rueidisson.WithWatchdogTimeout(5 * time.Second)
	a, b := locktest.Open(t, server.Addr(), short), locktest.Open(t, server.Addr(), short)
	w := observe(t, locktest.Open(t, server.Addr()).Election(name))
	w.none()

	term := campaign(t, a.Election(name), "first")
	w.value("first")
	later := campaignLater(t.Context(), b.Election(name), "second")
	awaitCandidates(t, a, name, 1)
	clock.Set(-time.Hour)
	require.NoError(t, term.SetValue(t.Context(), "back"))
	w.value("back")
	resign(t, term)
	second := elected(t, later)
	require.Greater(t, second.Fence().Number(), term.Fence().Number())
	w.value("second")

	later = campaignLater(t.Context(), a.Election(name), "third")
	awaitCandidates(t, a, name, 1)
	clock.Set(time.Hour) // which ends every lease
	third := elected(t, later)
	require.Greater(t, third.Fence().Number(), second.Fence().Number())
	w.value("third")
	<-second.Lost()
	require.ErrorIs(t, second.Err(), lock.ErrLost)

	clock.Set(0)
	server.Pause()
	<-third.Lost() // by its own clock, whatever the server's says
	server.Resume()
	require.ErrorIs(t, third.Err(), lock.ErrLost)
}

// TestElectionTokenIsAboveAllThatItsClientHasSeen loses the counter, as a failover may,
// while the server's clock is behind the last token.
func TestElectionTokenIsAboveAllThatItsClientHasSeen(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t)
	name, raw := redistest.Name(t), server.Client(t)
	here, there := locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
	forget := func() {
		do(t, raw, "DEL", "redisson_lock_token:{"+name+"}")
		clock.Set(-time.Hour)
	}
	w := observe(t, there.Election(name))
	w.none()
	first := campaign(t, here.Election(name), "first")
	w.value("first")
	later := campaignLater(t.Context(), here.Election(name), "second")
	awaitCandidates(t, there, name, 1)
	forget()
	resign(t, first)
	second := elected(t, later)
	require.Greater(t, second.Fence().Number(), first.Fence().Number(), "granted by the release of its process")
	w.value("second")
	resign(t, second)
	w.none()
	forget()
	third := campaign(t, there.Election(name), "third")
	require.Greater(t, third.Fence().Number(), second.Fence().Number(), "its client has observed, and never led")
	resign(t, third)
}
