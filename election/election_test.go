package election_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/election"
	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// everywhere runs a test on each server, and on that in the process.
func everywhere(t *testing.T, test func(t *testing.T, connect func() *rueidisson.Client)) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t, redistest.Version(version))
			test(t, func() *rueidisson.Client { return locktest.Open(t, server.Addr()) })
		})
	}
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Miniredis(t)
		test(t, func() *rueidisson.Client { return locktest.Connected(t, server.ClientOption()) })
	})
}

func TestLeadersFollowEachOther(t *testing.T) {
	everywhere(t, func(t *testing.T, connect func() *rueidisson.Client) {
		name, a, b := redistest.Name(t), connect(), connect()
		w := observe(t, connect().Election(name))
		require.Equal(t, election.Leader{}, w.next(), "nobody leads")

		first := campaign(t, a.Election(name), "a")
		require.Equal(t, "a", first.Value())
		require.NoError(t, first.Err())
		require.Equal(t, name, first.Fence().Lock())
		require.Equal(t, a.ID(), first.Fence().Owner())
		carried, ok := fence.FromContext(first.Context(t.Context()))
		require.True(t, ok)
		require.Equal(t, first.Fence(), carried)
		require.Equal(t, election.Leader{Value: "a", Fence: first.Fence()}, w.next())

		later := campaignLater(t.Context(), b.Election(name), "b")
		require.NoError(t, first.SetValue(t.Context(), "a, changed"))
		require.Equal(t, "a, changed", first.Value())
		require.Equal(t, election.Leader{Value: "a, changed", Fence: first.Fence()}, w.next())
		awaitCandidates(t, a, name, 1)
		work := first.Context(t.Context())
		resign(t, first)
		require.ErrorIs(t, context.Cause(work), lock.ErrReleased)
		require.ErrorIs(t, first.Err(), lock.ErrReleased)
		require.ErrorIs(t, first.Resign(t.Context()), lock.ErrReleased)
		require.ErrorIs(t, first.SetValue(t.Context(), "too late"), lock.ErrReleased)

		second := elected(t, later)
		require.Greater(t, second.Fence().Number(), first.Fence().Number())
		require.Equal(t, election.Leader{Value: "b", Fence: second.Fence()},
			w.until(func(l election.Leader) bool { return !l.None() }), "and no gap")
		mine := observe(t, b.Election(name)).next()
		require.Equal(t, election.Leader{Value: "b", Fence: second.Fence(), Mine: true}, mine)
		resign(t, second)
		w.none()
	})
}

// awaitCandidates waits until so many are queued.
func awaitCandidates(t testing.TB, c *rueidisson.Client, name string, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		queue, err := c.FairLock(name).Queue(context.Background())
		return err == nil && len(queue) == n
	}, soon, 2*time.Millisecond)
}

func TestCandidatesOfOneProcessAreElectedInTheirOrder(t *testing.T) {
	everywhere(t, func(t *testing.T, connect func() *rueidisson.Client) {
		name, c := redistest.Name(t), connect()
		el := c.Election(name)
		w := observe(t, el)
		term := campaign(t, el, "0")
		var waiting []<-chan result
		for i := range 5 {
			waiting = append(waiting, campaignLater(t.Context(), el, string(rune('1'+i))))
			awaitCandidates(t, c, name, i+1)
		}
		last := int64(0)
		for i := 0; ; i++ {
			require.Greater(t, term.Fence().Number(), last, "of a term that the last one's release granted, too")
			last = term.Fence().Number()
			require.Equal(t, string(rune('0'+i)), term.Value())
			w.value(term.Value())
			resign(t, term)
			if i == len(waiting) {
				return
			}
			term = elected(t, waiting[i])
		}
	})
}

func TestACandidateGivesUp(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	a, b := locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
	term := campaign(t, a.Election(name), "a")
	_, err := b.Election(name, election.WithWait(0)).Campaign(t.Context(), "b")
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	require.EqualError(t, err, `campaign "`+name+`": not acquired`)
	_, err = b.Election(name, election.WithWait(time.Second)).Campaign(t.Context(), "b")
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	ctx, cancel := context.WithCancel(t.Context())
	later := campaignLater(ctx, b.Election(name), "b")
	awaitCandidates(t, a, name, 1)
	cancel()
	require.ErrorIs(t, (<-later).err, context.Canceled)
	awaitCandidates(t, a, name, 0)
	resign(t, term)
	term = campaign(t, b.Election(name, election.WithWait(soon)), "b")
	resign(t, term)
}

func TestATermOfFixedLengthEnds(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	c := locktest.Open(t, server.Addr())
	w := observe(t, locktest.Open(t, server.Addr()).Election(name))
	w.none()
	term := campaign(t, c.Election(name, election.WithLease(700*time.Millisecond)), "short")
	work := term.Context(t.Context())
	w.value("short")
	<-term.Lost()
	<-work.Done()
	require.ErrorIs(t, context.Cause(work), lock.ErrLost)
	w.none()
	require.ErrorIs(t, term.Resign(t.Context()), lock.ErrLost)
}

func TestWhatCannotBeUsedIsRefused(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	c := locktest.Open(t, server.Addr())
	for _, el := range []*election.Election{
		c.Election(""), c.Election(name, nil), c.Election(name, election.WithWait(-1)), c.Election(name, election.WithLease(time.Millisecond)),
	} {
		_, err := el.Campaign(t.Context(), "")
		require.ErrorIs(t, err, lock.ErrInvalidArgument)
		for _, err := range el.Observe(t.Context()) {
			require.ErrorIs(t, err, lock.ErrInvalidArgument)
		}
	}
	el := c.Election(name)
	_, err := el.Campaign(nil, "") //lint:ignore SA1012 nil is what is tested
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
	_, err = el.Campaign(t.Context(), strings.Repeat("x", election.MaxValue+1))
	require.ErrorIs(t, err, lock.ErrInvalidArgument)

	longest := strings.Repeat("\x00é", election.MaxValue)[:election.MaxValue]
	w := observe(t, locktest.Open(t, server.Addr()).Election(name))
	w.none()
	term := campaign(t, el, longest)
	require.True(t, w.next().Value == longest)
	require.ErrorIs(t, term.SetValue(t.Context(), longest+"x"), lock.ErrInvalidArgument)
	require.ErrorIs(t, term.SetValue(nil, ""), lock.ErrInvalidArgument) //lint:ignore SA1012 likewise
	require.ErrorIs(t, term.Resign(nil), lock.ErrInvalidArgument)       //lint:ignore SA1012 likewise
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, term.SetValue(ended, "x"), context.Canceled)
	require.Equal(t, longest, term.Value())
	_, err = el.Campaign(term.Context(t.Context()), "again")
	require.ErrorIs(t, err, lock.ErrInvalidArgument, "it would wait for itself")
	if err := term.Resign(ended); err != nil { // which a cancelled context does not stop
		require.ErrorIs(t, err, lock.ErrDeferred, "the machine stood still for a quarter of a second")
	}
}

func TestALockIsNoElection(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	c, other := locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
	term := campaign(t, c.Election(name), "a")
	for _, l := range []lock.Locker{c.FairLock(name), c.Lock(name), c.FencedLock(name), c.RWLock(name).Write()} {
		_, err := l.TryLock(t.Context())
		require.ErrorIs(t, err, lock.ErrWrongKind)
		require.ErrorContains(t, err, `"election"`)
		_, err = l.Lock(term.Context(t.Context()))
		require.ErrorIs(t, err, lock.ErrWrongKind, "it would wait for itself")
	}
	resign(t, term)

	held, err := c.RWLock(name).Read().Lock(t.Context())
	require.NoError(t, err)
	_, err = other.Election(name).Campaign(t.Context(), "b")
	require.ErrorIs(t, err, lock.ErrWrongKind)
	for _, err := range other.Election(name).Observe(t.Context()) {
		require.ErrorIs(t, err, lock.ErrWrongKind)
	}
	require.NoError(t, held.Unlock(t.Context()))

	held, err = other.FairLock(name).Lock(t.Context()) // which cannot be seen from here
	require.NoError(t, err)
	later := campaignLater(t.Context(), c.Election(name), "c")
	awaitCandidates(t, c, name, 1)
	require.True(t, observe(t, c.Election(name)).next().None(), "it is no leader")
	require.NoError(t, held.Unlock(t.Context()))
	resign(t, elected(t, later))
}

func TestATermThatIsTakenAwayEnds(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	a, b := locktest.Open(t, server.Addr(), rueidisson.WithWatchdogTimeout(2*time.Second)), locktest.Open(t, server.Addr())
	term := campaign(t, a.Election(name), "a")
	w := observe(t, b.Election(name))
	w.value("a")
	later := campaignLater(t.Context(), b.Election(name), "b")
	awaitCandidates(t, b, name, 1)
	forced, err := locktest.Open(t, server.Addr()).FairLock(name).ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, forced)
	next := elected(t, later)
	require.Equal(t, election.Leader{Value: "b", Fence: next.Fence(), Mine: true}, w.value("b"))
	require.ErrorIs(t, term.SetValue(t.Context(), "still here"), lock.ErrLost, "it was not told to anybody")
	<-term.Lost()
	require.ErrorIs(t, term.Resign(t.Context()), lock.ErrLost)
	require.Equal(t, "b", observe(t, b.Election(name)).next().Value)
	resign(t, next)
}

// An observer that is kept is told the last of what happened, and that there was
// more.
func TestAnObserverThatComesLateIsToldOfAGap(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	c := locktest.Open(t, server.Addr())
	el := c.Election(name)
	resign(t, campaign(t, el, "before"))
	i := 0
	var last *election.Term
	for leader, err := range locktest.Open(t, server.Addr()).Election(name).Observe(t.Context()) {
		require.NoError(t, err)
		switch i {
		case 0:
			require.True(t, leader.None())
			last = campaign(t, el, "first")
		case 1:
			require.Equal(t, election.Leader{Value: "first", Fence: last.Fence()}, leader, "none was missed since it came")
			resign(t, last)
			resign(t, campaign(t, el, "unseen"))
			last = campaign(t, el, "third")
		case 2:
			require.Equal(t, election.Leader{Value: "third", Fence: last.Fence(), Gap: true}, leader)
			require.NoError(t, last.SetValue(t.Context(), "1"))
			require.NoError(t, last.SetValue(t.Context(), "2"))
		case 3:
			require.Equal(t, election.Leader{Value: "2", Fence: last.Fence()}, leader)
		}
		if i++; i == 4 {
			break
		}
	}
	resign(t, last)
}

func TestAClosedClientEndsAllOfIt(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{server.Addr()}, DisableCache: true})
	require.NoError(t, err)
	w := observe(t, c.Election(name))
	term := campaign(t, c.Election(name), "a")
	w.value("a")
	later := campaignLater(t.Context(), c.Election(name), "b")
	awaitCandidates(t, c, name, 1)
	locktest.Close(c)
	require.ErrorIs(t, <-w.end, rueidisson.ErrClosed)
	require.ErrorIs(t, (<-later).err, rueidisson.ErrClosed)
	<-term.Lost()
	require.ErrorIs(t, term.Err(), rueidisson.ErrClosed)
	require.ErrorIs(t, term.SetValue(t.Context(), "x"), rueidisson.ErrClosed)
	_, err = c.Election(name).Campaign(t.Context(), "c")
	require.ErrorIs(t, err, rueidisson.ErrClosed)
}
