package latch

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	t.Run("names with braces are refused", func(t *testing.T) {
		for _, name := range []string{"{u1}:ready", "a}b", "{}"} {
			r := rigOn(t, cluster.Client(t), name)
			for op, do := range operations {
				err := do(t.Context(), r.Latch)
				require.ErrorIs(t, err, ErrInvalidArgument, op)
				require.ErrorContains(t, err, "it has braces, and Redisson wraps the name of a latch in others", op)
			}
		}
	})
	t.Run("the suite", func(t *testing.T) {
		for name, test := range suite {
			t.Run(name, func(t *testing.T) { test(t, rigOn(t, cluster.Client(t), redistest.Name(t))) })
		}
	})
	t.Run("the suite of the barrier", func(t *testing.T) {
		for name, test := range barrierSuite {
			t.Run(name, func(t *testing.T) { test(t, barrierOn(t, cluster.Client(t), redistest.Name(t), 3)) })
			t.Run(name+", with a tag", func(t *testing.T) { test(t, barrierOn(t, cluster.Client(t), "{u1}:"+redistest.Name(t), 3)) })
		}
	})
	t.Run("names of barriers that break slots are refused", func(t *testing.T) {
		_, err := barrierOn(t, cluster.Client(t), "{}phase", 3).Await(t.Context())
		require.ErrorIs(t, err, ErrInvalidArgument)
	})
	t.Run("a slot moves", func(t *testing.T) { aSlotMoves(t, cluster) })
	t.Run("replies are lost around moves there and back", func(t *testing.T) { repliesAreLostAroundMoves(t, cluster) })
	t.Run("a slot moves under a barrier", func(t *testing.T) { aSlotMovesUnderABarrier(t, cluster) })
	t.Run("a failover", func(t *testing.T) {
		r := rigOn(t, cluster.Client(t), redistest.Name(t))
		b := barrierOn(t, cluster.Client(t), "{"+r.of.key+"}:b", 3)
		failsOver(t, r, b, cluster.Master(r.of.key), func(addr string) { cluster.AwaitMaster(t, r.of.key, addr) })
	})
}

// aSlotMovesUnderABarrier for longer than the lease of those who wait.
func aSlotMovesUnderABarrier(t *testing.T, cluster *redistest.Cluster) {
	short := func(c *core.Config) { c.WatchdogTimeout = 6 * time.Second }
	r := barrierOn(t, cluster.Client(t), redistest.Name(t), 3, short)
	a, b := r.arriving(t.Context()), r.beside(short).arriving(t.Context())
	r.waiting(1)
	m := cluster.StartMigration(t, r.of.key)
	m.Move(t, r.of.key)
	c := r.arriving(t.Context())
	time.Sleep(7500 * time.Millisecond)
	require.Empty(t, a)
	require.Empty(t, b)
	require.Empty(t, c)
	m.Finish(t)
	for _, done := range []<-chan arrived{a, b, c} {
		require.NoError(t, redistest.Done(t, done).err)
	}
}

// aSlotMoves moves an armed latch under somebody who waits.
func aSlotMoves(t *testing.T, cluster *redistest.Cluster) {
	r := rigOn(t, cluster.Client(t), redistest.Name(t)).arm(2)
	done := r.awaiting(t.Context())
	r.waiting(1)
	m := cluster.StartMigration(t, r.of.key)
	m.Move(t, r.of.key)
	_, err := r.CountDown(t.Context())
	require.ErrorIs(t, err, ErrDeferred, "its lane is elsewhere: it is done when the move is over")
	redistest.Waits(t, done)
	m.Finish(t)
	r.awaitStored("1")
	r.down(0)
	got(t, done)
}

// repliesAreLostAroundMoves: what is sent again comes behind the move of the slot,
// whole or by half, and counts once.
func repliesAreLostAroundMoves(t *testing.T, cluster *redistest.Cluster) {
	through, before := cluster.Proxied(t)
	r := rigOn(t, through, redistest.Name(t), enginetest.ShortSends).arm(5)
	r.Raw = cluster.Client(t)
	done := r.awaiting(t.Context())
	r.waiting(1)
	for _, left := range []string{"4", "2"} {
		lost := before(cluster.Master(r.of.key)).DropReply(r.sent(downScript), 1, redistest.Silent())
		counted := r.counting()
		lost.Await(t)
		there := cluster.StartMigration(t, r.of.key)
		there.Finish(t)
		counted()
		r.awaitStored(left)

		lost = before(there.To()).DropReply(r.sent(downScript), 1, redistest.Silent())
		counted = r.counting()
		lost.Await(t)
		back := there.StartBack(t)
		back.Move(t, r.of.key)
		counted()
		back.Finish(t)
		require.Empty(t, done)
		r.awaitStored(map[string]string{"4": "3", "2": "1"}[left])
	}
	require.Eventually(t, func() bool { return r.E.Request(r.of.lane, 0).Lane == r.of.lane+":0" }, soon, time.Millisecond, "its flight is back")
	r.down(0)
	got(t, done)
}

// counting is a CountDown on a goroutine of its own, whose outcome may be unknown.
func (r *rig) counting() (await func()) {
	counted := make(chan error, 1)
	go func() { // ends with its sends
		_, err := r.CountDown(context.Background())
		counted <- err
	}()
	return func() {
		r.T.Helper()
		if err := redistest.Done(r.T, counted); !errors.Is(err, ErrDeferred) && err != nil {
			require.ErrorIs(r.T, err, ErrOutcomeUnknown)
		}
	}
}

// failsOver has the master die under those who wait.
func failsOver(t *testing.T, r *rig, b *barrierRig, master *redistest.Server, await func(addr string)) {
	r.arm(2)
	one := b.arriving(t.Context())
	b.waiting(1)
	beside := b.beside()
	other := beside.arriving(t.Context())
	beside.waiting(1) // an arrival that the kill meets is of unknown outcome, and breaks the round
	done := r.awaiting(t.Context())
	r.waiting(1)
	master.AwaitReplica(t)
	master.Kill()
	await(master.Addr())
	require.Eventually(t, func() bool {
		_, err := r.CountDownOnce(t.Context(), "a")
		return err == nil
	}, soon, 100*time.Millisecond)
	require.Eventually(t, func() bool {
		_, err := r.CountDownOnce(t.Context(), "b")
		return err == nil
	}, soon, 100*time.Millisecond)
	got(t, done)
	require.NoError(t, redistest.Done(t, b.arriving(t.Context())).err)
	require.NoError(t, redistest.Done(t, one).err)
	require.NoError(t, redistest.Done(t, other).err)
}

func TestBehindSentinels(t *testing.T) {
	t.Parallel()
	sentinel := redistest.StartSentinel(t)
	r := rigOn(t, sentinel.Client(t), redistest.Name(t))
	b := barrierOn(t, sentinel.Client(t), r.of.key+"b", 3)
	failsOver(t, r, b, sentinel.Master(), func(addr string) { sentinel.AwaitMaster(t, addr) })
}

// TestTheACLOfTheDocsDeniesNothingThatIsNeeded runs what a client does under the
// user that docs/redis.md sets up, and asks the server what it denied.
func TestTheACLOfTheDocsDeniesNothingThatIsNeeded(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	user, proxy := redistest.Confined(t, server, "../docs/redis.md")
	r := rigOn(t, user, "orders:1", enginetest.ShortSends)
	r.Raw = admin
	for name, test := range suite {
		if name != "another type" {
			t.Run(name, func(t *testing.T) { test(t, r.with(t, user, "orders:"+name)) })
		}
	}
	for name, test := range barrierSuite {
		if name != "another type" {
			t.Run(name, func(t *testing.T) {
				b := barrierOn(t, user, "orders:"+name, 3)
				b.Raw = admin
				test(t, b)
			})
		}
	}
	b := barrierOn(t, user, "orders:moving", 2)
	p := &participant{h: b.h, of: b.of, id: b.E.IDs.Private(), parties: 2}
	_, err := p.arrive(t.Context())
	require.NoError(t, err)
	for _, of := range append(participantRenewal.Apart, participantRenewal) {
		k, args := of.Add(nil, nil, p.Key(), p.id, time.Hour)
		_, err := b.E.Run(t.Context(), of.Script, k, args)
		require.NoError(t, err)
	}
	r.arm(3)
	lost := proxy.DropReply(r.sent(deleteScript), 100, redistest.Silent())
	_, err = r.Delete(t.Context())
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	lost.Cancel()
	proxy.Restore()
	require.Eventually(t, func() bool { return r.E.Request(r.of.lane, 0).Lane == r.of.lane+":0" }, soon, time.Millisecond)
	r.Ask("SET", "orders:2", "many")
	require.ErrorContains(t, New(r.E, "orders:2").Await(t.Context()), "string")
}

// with is a rig on another client and name, whose keys are looked at by r's.
func (r *rig) with(t *testing.T, c rueidis.Client, name string) *rig {
	t.Helper()
	other := rigOn(t, c, name)
	other.Raw = r.Raw
	return other
}

// TestTheACLOfTheDocsOnACluster is with what the page adds for one.
func TestTheACLOfTheDocsOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	user := redistest.ConfinedOn(t, cluster, "../docs/redis.md")
	for name, test := range suite {
		if name != "another type" {
			t.Run(name, func(t *testing.T) {
				r := rigOn(t, cluster.Client(t, user), "orders:"+name)
				r.Raw = cluster.Client(t)
				test(t, r)
			})
		}
	}
	for name, test := range barrierSuite {
		if name != "another type" {
			t.Run(name, func(t *testing.T) {
				b := barrierOn(t, cluster.Client(t, user), "orders:"+name, 3)
				b.Raw = cluster.Client(t)
				test(t, b)
			})
		}
	}
}
