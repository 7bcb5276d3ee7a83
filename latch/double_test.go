package latch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// double is the double barrier of the rig's name.
func (r *barrierRig) double() *DoubleBarrier { return NewDoubleBarrier(r.E, r.of.key, r.parties) }

// entered is how an Enter ended.
type entered struct {
	*Member
	err error
}

func (r *barrierRig) entering(ctx context.Context) <-chan entered {
	done := make(chan entered, 1)
	go func() { // ends with ctx, or when the client closes
		m, err := r.double().Enter(ctx)
		done <- entered{m, err}
	}()
	return done
}

// inside has two parties enter, the first by r.
func (r *barrierRig) inside(other *barrierRig) (one, two *Member) {
	r.T.Helper()
	first := r.entering(r.T.Context())
	r.waiting(1)
	two, err := other.double().Enter(r.T.Context())
	require.NoError(r.T, err)
	a := redistest.Done(r.T, first)
	require.NoError(r.T, a.err)
	return a.Member, two
}

func leavesOf(m *Member, ctx context.Context) <-chan error {
	done := make(chan error, 1)
	go func() { done <- m.Leave(ctx) }() // ends with ctx, or when the client closes
	return done
}

// TestDoubleBarrierPartiesEnterTogetherAndLeaveTogether, again and again, and parties that
// come meanwhile are another generation.
func TestDoubleBarrierPartiesEnterTogetherAndLeaveTogether(t *testing.T) {
	t.Parallel()
	r := newBarrierRig(t, 2, enginetest.NoLooks)
	other := r.beside(enginetest.NoLooks)
	require.Equal(t, r.of.key, r.double().Name())
	require.Equal(t, 2, r.double().Parties())
	for range 2 {
		a, b := r.inside(other)
		require.NoError(t, a.Err())
		c, d := r.inside(other)
		leaves := leavesOf(a, t.Context())
		redistest.Waits(t, leaves)
		require.NoError(t, b.Leave(t.Context()))
		got(t, leaves)
		require.NoError(t, a.Leave(t.Context()), "it has left")
		leaves = leavesOf(d, t.Context())
		redistest.Waits(t, leaves)
		require.NoError(t, c.Leave(t.Context()))
		got(t, leaves)
	}
	r.ends(r.of.key, r.of.opened)
}

// TestDoubleBarrierMemberThatDiesIsNotWaitedFor: its lease ends, and those that leave look
// then.
func TestDoubleBarrierMemberThatDiesIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	r, proxy := faultyBarrier(t, 2, func(c *core.Config) { c.WatchdogTimeout = redistest.Scaled(2 * time.Second) })
	lives := barrierOn(t, r.Raw, r.of.key, 2)
	stays, dies := lives.inside(r) // whose lease is that of all until they renew it
	proxy.BlackHole()
	leaves := leavesOf(stays, t.Context())
	redistest.Done(t, dies.Lost())
	require.ErrorIs(t, dies.Err(), ErrLost)
	got(t, leaves)
	proxy.Restore()
	require.ErrorIs(t, dies.Leave(t.Context()), ErrLost)
}

// TestDoubleBarrierMembersAreRenewed for longer than a lease.
func TestDoubleBarrierMembersAreRenewed(t *testing.T) {
	t.Parallel()
	lease := max(6*time.Second, redistest.Scaled(3*time.Second)) // it outlasts a machine that stands still for a moment
	short := func(c *core.Config) { c.WatchdogTimeout = lease }
	r := newBarrierRig(t, 2, short)
	a, b := r.inside(r.beside(short))
	leaves := leavesOf(a, t.Context())
	began := time.Now()
	redistest.Eventually(t, func() bool { return time.Since(began) > 3*lease/2 }, soon, 10*time.Millisecond)
	require.Empty(t, leaves)
	require.NoError(t, b.Err())
	require.NoError(t, b.Leave(t.Context()))
	got(t, leaves)
}

// TestDoubleBarrierLeaveWhoseContextEndsHasLeft, and may be called again to wait.
func TestDoubleBarrierLeaveWhoseContextEndsHasLeft(t *testing.T) {
	t.Parallel()
	r := newBarrierRig(t, 2)
	a, b := r.inside(r.beside())
	var none context.Context
	require.ErrorIs(t, a.Leave(none), ErrInvalidArgument)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, a.Leave(ctx), context.Canceled)
	leaves := leavesOf(a, t.Context())
	redistest.Waits(t, leaves)
	require.NoError(t, b.Leave(t.Context()))
	got(t, leaves)
	for _, bad := range []*DoubleBarrier{NewDoubleBarrier(r.E, "", 2), NewDoubleBarrier(r.E, r.of.key, 0)} {
		_, err := bad.Enter(t.Context())
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
}

// TestDoubleBarrierEnterThatGivesUpBreaksItsGeneration.
func TestDoubleBarrierEnterThatGivesUpBreaksItsGeneration(t *testing.T) {
	t.Parallel()
	r := newBarrierRig(t, 3)
	ctx, cancel := context.WithCancel(t.Context())
	first := r.entering(ctx)
	r.waiting(1)
	second := r.entering(t.Context())
	r.waiting(2)
	cancel()
	require.ErrorIs(t, redistest.Done(t, first).err, ErrBroken)
	require.ErrorIs(t, redistest.Done(t, second).err, ErrBroken)
}

// TestDoubleBarrierLostRepliesCountOnce: to what becomes of the last party, to its
// membership, and to its leaving.
func TestDoubleBarrierLostRepliesCountOnce(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*scripts.Script{"pass": passScript, "keep_waiting": keepWaitingScript, "depart": departScript} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, proxy := faultyBarrier(t, 2)
			other := barrierOn(t, r.Raw, r.of.key, 2)
			match := redistest.MatchScript(s.Body())
			lost := proxy.DropReply(match, 1)
			first := other.entering(t.Context())
			other.waiting(1)
			a, err := r.double().Enter(t.Context())
			require.NoError(t, err)
			b := redistest.Done(t, first)
			require.NoError(t, b.err)
			leaves := leavesOf(a, t.Context())
			if name != "depart" {
				redistest.Waits(t, leaves)
			}
			lost.Await(t)
			require.NoError(t, b.Leave(t.Context()))
			got(t, leaves)
		})
	}
}

// TestDoubleBarrierEnterThatLearnsTooLateIsLost: its lease has ended when it hears of the
// opening.
func TestDoubleBarrierEnterThatLearnsTooLateIsLost(t *testing.T) {
	t.Parallel()
	r, proxy := faultyBarrier(t, 2)
	other := barrierOn(t, r.Raw, r.of.key, 2)
	first := r.entering(t.Context())
	r.waiting(1)
	held := proxy.HoldRequest(redistest.MatchScript(keepWaitingScript.Body()))
	b, err := other.double().Enter(t.Context())
	require.NoError(t, err)
	held.Await(t)
	r.Ask("ZREM", keys.BarrierInside(r.of.key, strings.Split(b.owner, "/")[0]), r.others(b)[0])
	held.Release()
	require.ErrorIs(t, redistest.Done(t, first).err, ErrLost)
	require.NoError(t, b.Leave(t.Context()))
}

// others are the parties that are inside with m.
func (r *barrierRig) others(m *Member) (all []string) {
	r.T.Helper()
	generation, id, _ := strings.Cut(m.owner, "/")
	msg := r.Ask("ZRANGE", keys.BarrierInside(r.of.key, generation), "0", "-1")
	parties, err := msg.AsStrSlice()
	require.NoError(r.T, err)
	for _, party := range parties {
		if party != id {
			all = append(all, party)
		}
	}
	return all
}

// TestDoubleBarrierLeaveThatIsDeferredGoesOn, and waits when it is called again.
func TestDoubleBarrierLeaveThatIsDeferredGoesOn(t *testing.T) {
	t.Parallel()
	r, proxy := faultyBarrier(t, 2, enginetest.ShortSends)
	a, b := r.inside(barrierOn(t, r.Raw, r.of.key, 2))
	proxy.BlackHole()
	require.ErrorIs(t, a.Leave(t.Context()), ErrDeferred)
	proxy.Restore()
	redistest.Eventually(t, func() bool { return len(r.others(b)) == 0 }, soon, time.Millisecond)
	leaves := leavesOf(a, t.Context())
	redistest.Waits(t, leaves)
	require.NoError(t, b.Leave(t.Context()))
	got(t, leaves)
}

// TestDoubleBarrierOnAFullServer: those who have arrived enter and leave.
func TestDoubleBarrierOnAFullServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	through, proxy := redistest.ThroughProxy(t, server)
	r := barrierOn(t, through, redistest.Name(t), 2)
	r.Raw = server.Client(t)
	other := barrierOn(t, r.Raw, r.of.key, 2)
	first := other.entering(t.Context())
	other.waiting(1)
	held := proxy.HoldRequest(redistest.MatchScript(passScript.Body()))
	second := r.entering(t.Context())
	held.Await(t)
	r.Ask("CONFIG", "SET", "maxmemory", "1")
	held.Release()
	a, b := redistest.Done(t, first), redistest.Done(t, second)
	require.NoError(t, errors.Join(a.err, b.err))
	leaves := leavesOf(a.Member, t.Context())
	redistest.Waits(t, leaves)
	require.NoError(t, b.Leave(t.Context()))
	got(t, leaves)
}

// TestDoubleBarrierLeaveThatArrivesAfterTheLeaseIsLost, though its send was repeated: the others
// did not wait for this member.
func TestDoubleBarrierLeaveThatArrivesAfterTheLeaseIsLost(t *testing.T) {
	t.Parallel()
	r, proxy := faultyBarrier(t, 2, enginetest.ShortSends)
	a, b := r.inside(barrierOn(t, r.Raw, r.of.key, 2))
	require.True(t, a.grant.Finish(core.ErrReleased))
	r.Ask("DEL", keys.BarrierInside(r.of.key, strings.Split(a.owner, "/")[0])) // as leases that have ended
	lost := proxy.DropReply(redistest.MatchScript(departScript.Body()), 1, redistest.Silent())
	a.grant = r.E.NewGrant((*membership)(a), a.owner, r.E.Now(), 300*time.Millisecond, 0, watchdog.Instant{}, (*membership)(a))
	require.ErrorIs(t, a.Leave(t.Context()), ErrLost)
	lost.Cancel()
	require.ErrorIs(t, a.Leave(t.Context()), ErrLost)
	require.ErrorIs(t, b.Leave(t.Context()), ErrLost)
}

// TestDoubleBarrierLeavesOfOneMemberKnowThatItWasLost, also one that comes while the first is
// under way.
func TestDoubleBarrierLeavesOfOneMemberKnowThatItWasLost(t *testing.T) {
	t.Parallel()
	r, proxy := faultyBarrier(t, 2)
	a, b := r.inside(barrierOn(t, r.Raw, r.of.key, 2))
	r.Ask("DEL", keys.BarrierInside(r.of.key, strings.Split(a.owner, "/")[0]))
	held := proxy.HoldRequest(redistest.MatchScript(departScript.Body()))
	first := leavesOf(a, t.Context())
	held.Await(t)
	second := leavesOf(a, t.Context())
	redistest.Waits(t, second)
	held.Release()
	require.ErrorIs(t, redistest.Done(t, first), ErrLost)
	require.ErrorIs(t, redistest.Done(t, second), ErrLost)
	require.ErrorIs(t, b.Leave(t.Context()), ErrLost)
}

// TestDoubleBarrierCallsPassWhatTheHeaderNames.
func TestDoubleBarrierCallsPassWhatTheHeaderNames(t *testing.T) {
	t.Parallel()
	e, rec := enginetest.Recorded(t)
	for _, name := range []string{"phase", "{u1}:phase"} {
		d := NewDoubleBarrier(e, name, 1)
		rec.Take()
		m, err := d.Enter(t.Context())
		require.NoError(t, err)
		require.NoError(t, m.Leave(t.Context()))
		l := &insideProtocol{d.b.h, d.b.of}
		g := newWaiters(e, l)
		w := newWaiter()
		w.generation = "7"
		g.enter(w)
		_, _, err = l.look(t.Context(), g)
		require.NoError(t, err)
		calls := rec.Take()
		require.Equal(t, []string{"arrive.lua", "pass.lua", "keep_waiting.lua", "depart.lua", "inside.lua"}, redistest.ScriptNames(calls))
		for _, c := range calls {
			c.Check(t)
			require.True(t, e.SameSlot(append(c.Keys, name)...))
		}
		require.Equal(t, []string{keys.BarrierInside(name, "7")}, calls[4].Keys)
	}
}

// longLeases are those that do not end while a test waits.
func longLeases(c *core.Config) { c.WatchdogTimeout = time.Hour }

// ghost has A, whose context ends with a server that does not answer, told that nobody knows, and then B pass with it.
func (r *barrierRig) ghost(proxy *redistest.Proxy, arrived func()) *Member {
	r.T.Helper()
	ctx, cancel := context.WithCancel(r.T.Context())
	defer cancel()
	first := r.entering(ctx)
	arrived()
	proxy.BlackHole()
	cancel()
	require.ErrorIs(r.T, redistest.Done(r.T, first).err, ErrOutcomeUnknown)
	b, err := barrierOn(r.T, r.Raw, r.of.key, 2, longLeases).double().Enter(r.T.Context())
	require.NoError(r.T, err)
	require.Len(r.T, r.others(b), 1)
	proxy.Restore()
	return b
}

// TestDoubleBarrierPartyThatWasToldUnknownDoesNotStayInside, if the others entered with it: its client says that it
// leaves, also of a generation that it never learned.
func TestDoubleBarrierPartyThatWasToldUnknownDoesNotStayInside(t *testing.T) {
	t.Parallel()
	t.Run("that waited", func(t *testing.T) {
		t.Parallel()
		r, proxy := faultyBarrier(t, 2, longLeases)
		b := r.ghost(proxy, func() { r.waiting(1) })
		got(t, leavesOf(b, t.Context()))
	})
	t.Run("that was not told its generation", func(t *testing.T) {
		t.Parallel()
		r, proxy := faultyBarrier(t, 2, longLeases)
		lost := proxy.DropReply(r.sent(arriveScript), 1, redistest.Silent())
		b := r.ghost(proxy, func() { lost.Await(t) })
		got(t, leavesOf(b, t.Context()))
	})
	t.Run("that learns of the opening as it gives up", func(t *testing.T) {
		t.Parallel()
		r := newBarrierRig(t, 2, longLeases)
		p := r.double().b.participant()
		p.opens, p.inside = true, true
		at, err := p.arrive(t.Context()) // and the reply is lost
		require.NoError(t, err)
		b, err := r.beside(longLeases).double().Enter(t.Context())
		require.NoError(t, err)
		_, err = p.giveUp(t.Context(), context.Canceled)
		require.NoError(t, err)
		require.Equal(t, at.generation, p.generation, "of which it is a member")
		leaves := leavesOf(b, t.Context())
		redistest.Waits(t, leaves)
		_, err = p.GiveBack(t.Context(), p.id)
		require.NoError(t, err)
		got(t, leaves)
	})
}

// TestDoubleBarrierLeaveThatWasDeferredBeyondTheLeaseIsLost: when the server answers again, nothing tells whether it heard
// of the first Leave before the others stopped waiting.
func TestDoubleBarrierLeaveThatWasDeferredBeyondTheLeaseIsLost(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"said by the client": false, "said again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, proxy := faultyBarrier(t, 2, func(c *core.Config) { c.WatchdogTimeout = redistest.Scaled(3 * time.Second) })
			b, a := barrierOn(t, r.Raw, r.of.key, 2).inside(r) // whose lease is that of all until they renew it
			proxy.BlackHole()
			ends := a.grant.Deadline()
			require.ErrorIs(t, a.Leave(t.Context()), ErrDeferred)
			redistest.Eventually(t, func() bool { return time.Now().After(ends) }, soon, time.Millisecond)
			require.ErrorIs(t, a.Err(), ErrLost, "though no answer has come")
			require.NoError(t, b.Leave(t.Context()), "it does not wait for a")
			proxy.Restore()
			if again {
				require.ErrorIs(t, a.Leave(t.Context()), ErrLost)
			}
			redistest.Eventually(t, func() bool { return errors.Is(a.Err(), ErrLost) }, soon, time.Millisecond)
		})
	}
}

// TestDoubleBarrierLeaveEndsSoonAfterItsContext, also behind another, and the client goes on.
func TestDoubleBarrierLeaveEndsSoonAfterItsContext(t *testing.T) {
	t.Parallel()
	r, proxy := faultyBarrier(t, 2, longLeases)
	a, b := r.inside(barrierOn(t, r.Raw, r.of.key, 2, longLeases))
	held := proxy.HoldRequest(redistest.MatchScript(departScript.Body()))
	ctx, cancel := context.WithCancel(t.Context())
	first := leavesOf(a, ctx)
	held.Await(t)
	cancel()
	for _, leaves := range []<-chan error{first, leavesOf(a, ctx)} {
		err := redistest.Done(t, leaves)
		require.ErrorIs(t, err, ErrDeferred)
		require.ErrorIs(t, err, context.Canceled)
	}
	leaves := leavesOf(a, t.Context())
	held.Release()
	redistest.Eventually(t, func() bool { return len(r.others(b)) == 0 }, soon, time.Millisecond)
	redistest.Waits(t, leaves)
	require.NoError(t, b.Leave(t.Context()))
	got(t, leaves)
}
