package multilock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/multilock"
	"github.com/rueidisson/rueidisson/redlock"
)

// outlasts is a watchdog timeout that a failover fits into.
const outlasts = 20 * time.Second

// watched is a client of the master that Sentinels name.
func watched(t testing.TB, s *redistest.Sentinel, opts ...rueidisson.Option) *rueidisson.Client {
	t.Helper()
	c, err := rueidisson.New(rueidis.ClientOption{
		InitAddress: s.Addrs(), Sentinel: rueidis.SentinelOption{MasterSet: s.MasterName()}, DisableCache: true,
	}, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { locktest.Close(c) })
	return c
}

// inStep waits until the replica confirms what the master writes.
func inStep(t testing.TB, s *redistest.Sentinel) {
	t.Helper()
	conn, release := s.Master().Client(t).Dedicate()
	defer release()
	require.Eventually(t, func() bool {
		set := conn.B().Set().Key("in step").Value("1").Build()
		acks, err := conn.DoMulti(context.Background(), set, conn.B().Wait().Numreplicas(1).Timeout(500).Build())[1].AsInt64()
		return err == nil && acks == 1
	}, soon, 10*time.Millisecond)
}

// behind is a lock with a member, or all, behind the Sentinels.
type behind func(c, near *rueidisson.Client, name string) lock.Locker

var composites = map[string]behind{
	"multi": func(c, near *rueidisson.Client, name string) lock.Locker {
		return multilock.Multi(near.Lock(name+":a"), c.Lock(name+":b"), c.Lock(name+":c"))
	},
	"group": func(c, _ *rueidisson.Client, name string) lock.Locker { return c.LockGroup(name).Of("a", "b") },
}

// What the replica knows outlasts the master. What it does not know ends the hold,
// and the other who has got it meanwhile keeps it.
func TestAHoldOfSeveralAfterAFailover(t *testing.T) {
	t.Parallel()
	s, near := redistest.StartSentinel(t), redistest.Shared(t)
	mine, theirs := watched(t, s, rueidisson.WithWatchdogTimeout(outlasts)), watched(t, s, rueidisson.WithWatchdogTimeout(outlasts))
	myNear, theirNear := locktest.Open(t, near.Addr()), locktest.Open(t, near.Addr())
	name := redistest.Name(t)
	reds := newReds(t, s)

	held := map[string]*lock.Hold{"red": locktest.Take(t, reds.here(name+":red"))}
	for kind, of := range composites {
		held[kind] = locktest.Take(t, of(mine, myNear, name+":"+kind))
	}
	for kind, hold := range held {
		require.NoError(t, hold.Extend(locktest.Bounded(t), 2*soon), "%s: a failover may take longer than a watchdog's timeout", kind)
	}
	inStep(t, s)
	old := s.Master()
	old.Kill()
	s.AwaitMaster(t, old.Addr())
	for kind, hold := range held {
		redistest.Eventually(t, func() bool { return hold.Extend(locktest.Bounded(t), 3*soon) == nil }, soon, 50*time.Millisecond, kind)
		require.NoError(t, hold.Err(), kind)
	}
	for kind, of := range composites {
		locktest.RequireBusy(t, of(theirs, theirNear, name+":"+kind))
	}
	locktest.RequireBusy(t, reds.there(name+":red"))
	for kind, hold := range held {
		require.NoError(t, hold.Unlock(t.Context()), kind)
	}
	for kind, of := range composites {
		locktest.RequireFree(t, of(theirs, theirNear, name+":"+kind))
	}

	old.Restart()
	inStep(t, s)
	replica, master := s.Replica(), s.Master()
	replica.Pause()
	cut := master.Client(t) // else the holds would wait in the replica's socket
	require.NoError(t, cut.Do(t.Context(), cut.B().ClientKill().TypeReplica().Build()).Error())
	held = map[string]*lock.Hold{"red": locktest.Take(t, reds.here(name+":red2"))}
	for kind, of := range composites {
		held[kind] = locktest.Take(t, of(mine, myNear, name+":2:"+kind))
	}
	master.Kill()
	replica.Resume()
	s.AwaitMaster(t, master.Addr())
	most := held["red"]
	delete(held, "red")
	second := map[string]*lock.Hold{}
	for kind, hold := range held {
		work := hold.Context(t.Context())
		second[kind] = locktest.Take(t, composites[kind](theirs, theirNear, name+":2:"+kind)) // as soon as the lost hold has let the near one go
		locktest.Ended(t, "the loss of the "+kind, work.Done())
		require.ErrorIs(t, context.Cause(work), lock.ErrLost)
		require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
	}
	for kind, hold := range second {
		require.NoError(t, hold.Err(), "%s: the late unlock left it alone", kind)
		require.NoError(t, hold.Extend(locktest.Bounded(t), outlasts), kind)
		require.NoError(t, hold.Unlock(t.Context()), kind)
	}
	locktest.RequireBusy(t, reds.there(name+":red2"))
	require.NoError(t, most.Err(), "a red lock has a quorum without the member that forgot it")
	require.NoError(t, most.Unlock(t.Context()))
}

// reds are two processes with a red lock, one of whose members is behind the
// Sentinels.
type reds struct{ mine, theirs []*rueidisson.Client }

func newReds(t testing.TB, s *redistest.Sentinel) (r reds) {
	for _, all := range []*[]*rueidisson.Client{&r.mine, &r.theirs} {
		*all = append(*all, watched(t, s, rueidisson.WithWatchdogTimeout(outlasts)))
		for _, version := range redistest.Versions[:2] {
			*all = append(*all, locktest.Open(t, redistest.Shared(t, redistest.Version(version)).Addr(), rueidisson.WithWatchdogTimeout(outlasts)))
		}
	}
	return r
}

func (r reds) here(name string) lock.Locker  { return red(r.mine, name) }
func (r reds) there(name string) lock.Locker { return red(r.theirs, name) }

// red returns a red lock on all servers. Each server has a name of its own for it. A machine that is busy is no reason to do
// without a member here.
func red(clients []*rueidisson.Client, name string) lock.Locker {
	var all []lock.Locker
	for i, c := range clients {
		all = append(all, c.Lock(fmt.Sprintf("%s:%d", name, i)))
	}
	return redlock.New(all...).With(redlock.WithRestartGuard(0), redlock.WithMemberTimeout(soon))
}

// A member that too few replicas confirm is not held: nothing is, of a multi
// lock, and a red lock does without it.
func TestMembersThatReplicasDoNotConfirm(t *testing.T) {
	t.Parallel()
	s, near := redistest.StartSentinel(t), redistest.Shared(t)
	name := redistest.Name(t)
	patient := watched(t, s, rueidisson.WithReplicaAcks(1, 10*time.Second))
	hasty := watched(t, s, rueidisson.WithReplicaAcks(1, 300*time.Millisecond))
	others := []*rueidisson.Client{locktest.Open(t, near.Addr()), locktest.Open(t, redistest.Shared(t, redistest.Version("8.0")).Addr())}
	everywhere := func(c *rueidisson.Client) map[string]lock.Locker {
		return map[string]lock.Locker{
			"multi": multilock.Multi(others[0].Lock(name+":a"), c.Lock(name+":b"), c.Lock(name+":c")),
			"red":   red(append([]*rueidisson.Client{c}, others...), name+":red"),
			"group": c.LockGroup(name+":g").Of("a", "b"),
		}
	}
	replica := s.Replica()
	of := map[string]string{"multi": name + ":b", "red": name + ":red:0", "group": name + ":g"}
	for kind, l := range everywhere(patient) {
		hold := locktest.Take(t, l)
		redistest.Eventually(t, func() bool { return len(locktest.Left(t, replica.Client(t), of[kind])) > 0 }, soon, 10*time.Millisecond, "%s", kind)
		require.NoError(t, hold.Unlock(t.Context()))
	}

	replica.Pause()
	master := s.Master().Client(t)
	for kind, l := range everywhere(hasty) {
		hold, err := l.Lock(locktest.Bounded(t))
		if kind == "red" {
			require.NoError(t, err, "two of three are a quorum")
			require.NoError(t, hold.Unlock(t.Context()))
		} else {
			require.ErrorIs(t, err, lock.ErrNotReplicated, kind)
			require.NotErrorIs(t, err, lock.ErrOutcomeUnknown, kind)
		}
		locktest.NothingLeft(t, master, of[kind])
	}
	locktest.NothingLeft(t, near.Client(t), name+":a")

	two := red([]*rueidisson.Client{hasty, watched(t, s, rueidisson.WithReplicaAcks(1, 300*time.Millisecond)), others[0]}, name+":two")
	_, err := two.TryLock(locktest.Bounded(t))
	require.ErrorIs(t, err, lock.ErrNotReplicated, "without a quorum that is confirmed there is none")
	for i := range 2 {
		locktest.NothingLeft(t, master, fmt.Sprintf("%s:two:%d", name, i))
	}
	locktest.NothingLeft(t, near.Client(t), name+":two:2")
	replica.Resume()
	inStep(t, s)
	locktest.RequireFree(t, everywhere(patient)["multi"])
}
