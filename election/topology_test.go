package election_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/election"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// outlasts is a lease that no failover takes longer than.
const outlasts = 2 * time.Minute

// shard is a master with a replica that takes over from it.
type shard struct {
	option          rueidis.ClientOption
	tag             string // of names that it serves
	master, replica func() *redistest.Server
	awaitMaster     func(t testing.TB, not string) *redistest.Server
	awaitComplete   func(t testing.TB)
}

func TestElectionsOnACluster(t *testing.T) {
	t.Parallel()
	const tag = "{election topology}"
	c := redistest.StartCluster(t)
	overAReplica(t, shard{
		option: rueidis.ClientOption{InitAddress: c.Addrs(), DisableCache: true}, tag: tag,
		master:        func() *redistest.Server { return c.Master(tag) },
		replica:       func() *redistest.Server { return c.Replica(tag) },
		awaitMaster:   func(t testing.TB, not string) *redistest.Server { return c.AwaitMaster(t, tag, not) },
		awaitComplete: c.AwaitComplete,
	})
}

func TestElectionsBehindSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	overAReplica(t, shard{
		option: rueidis.ClientOption{
			InitAddress: s.Addrs(), Sentinel: rueidis.SentinelOption{MasterSet: s.MasterName()}, DisableCache: true,
		},
		master: s.Master, replica: s.Replica, awaitMaster: s.AwaitMaster,
		awaitComplete: func(testing.TB) {}, // where the replica is in step, all is
	})
}

func overAReplica(t *testing.T, s shard) {
	t.Run("a failover", func(t *testing.T) { failsOver(t, s) })
	t.Run("a failover that forgets", func(t *testing.T) { forgets(t, s) })
}

// inStep waits until the replica confirms what the master writes.
func (s shard) inStep(t testing.TB) {
	t.Helper()
	conn, release := s.master().Client(t).Dedicate()
	defer release()
	require.Eventually(t, func() bool {
		set := conn.B().Set().Key("in step" + s.tag).Value("1").Build()
		acks, err := conn.DoMulti(context.Background(), set, conn.B().Wait().Numreplicas(1).Timeout(500).Build())[1].AsInt64()
		return err == nil && acks == 1
	}, soon, 10*time.Millisecond)
}

// failsOver kills the master under a leader and two candidates: the term, what
// it has said, the candidates' order and the tokens outlast it, and the observers
// are told what comes then.
func failsOver(t *testing.T, s shard) {
	name := redistest.Name(t) + s.tag
	el := func() *election.Election {
		return locktest.Connected(t, s.option, rueidisson.WithWatchdogTimeout(outlasts)).Election(name)
	}
	first, second, third := el(), el(), el()
	w := observe(t, el())
	term := campaign(t, first, "first")
	w.value("first")
	fair := locktest.Connected(t, s.option)
	later := campaignLater(t.Context(), second, "second")
	awaitCandidates(t, fair, name, 1)
	last := campaignLater(t.Context(), third, "third")
	awaitCandidates(t, fair, name, 2)
	s.inStep(t)

	old := s.master()
	old.Kill()
	s.awaitMaster(t, old.Addr())
	require.Eventually(t, func() bool { return term.SetValue(t.Context(), "still first") == nil },
		soon, 50*time.Millisecond, "the new master knows the term, and the client the new master")
	require.NoError(t, term.Err())
	require.Equal(t, term.Fence(), w.value("still first").Fence)
	require.Empty(t, later)
	require.Empty(t, last)
	resign(t, term)
	next := elected(t, later)
	require.Greater(t, next.Fence().Number(), term.Fence().Number())
	require.False(t, w.value("second").Gap)
	require.Empty(t, last)
	resign(t, next)
	final := elected(t, last)
	require.Greater(t, final.Fence().Number(), next.Fence().Number())
	require.False(t, w.value("third").Gap)
	resign(t, final)
	w.none()
	old.Restart()
	s.inStep(t)
}

// forgets is what asynchronous replication costs: a term that the replica had not
// heard of is gone with the master, and its leader learns it at the next renewal.
// Who is elected then has the higher token, also than one that was given before,
// and the late leader takes nothing from it.
func forgets(t *testing.T, s shard) {
	watchdog := rueidisson.WithWatchdogTimeout(20 * time.Second) // a renewal comes every third of it
	name := redistest.Name(t) + s.tag
	here, there := locktest.Connected(t, s.option, watchdog).Election(name), locktest.Connected(t, s.option, watchdog).Election(name)
	resign(t, campaign(t, here, "before"))
	s.awaitComplete(t)
	s.inStep(t)
	old := s.master()
	var first *election.Term
	redistest.Forgotten(t, old, s.replica(), func() {
		first = campaign(t, here, "first")
		require.NoError(t, election.Extend(t.Context(), first, 2*soon), "a failover may take longer than a watchdog's timeout")
	})
	s.awaitMaster(t, old.Addr())
	replaced(t, first, campaign(t, there, "second"))
}

// TestASlotMovesUnderAnElection moves the slot of an election for longer than
// its lease, with all of its keys, and with half of them, while one leads and
// others wait, one move right behind the other: the term lives on, and the
// candidates are elected in their order.
func TestASlotMovesUnderAnElection(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	name := "{" + redistest.Name(t) + "}"
	const lease = 4 * time.Second // a busy machine does not let it run out by itself
	option := rueidis.ClientOption{InitAddress: cluster.Addrs(), DisableCache: true}
	el := func() *election.Election {
		return locktest.Connected(t, option, rueidisson.WithWatchdogTimeout(lease)).Election(name)
	}
	term := campaign(t, el(), "0")
	w := observe(t, el())
	w.value("0")
	c, raw := locktest.Connected(t, option), cluster.Client(t)
	var waiting []<-chan result
	for i, value := range []string{"1", "2", "3"} {
		waiting = append(waiting, campaignLater(t.Context(), el(), value))
		awaitCandidates(t, c, name, i+1)
	}
	for round, moved := range [][]string{{name}, {"redisson_lock_queue:" + name, "rueidisson_term:" + name}, nil} {
		moves := cluster.StartMigration(t, name)
		if moved != nil {
			moves.Move(t, moved...)
		}
		began := time.Now()
		require.Eventually(t, func() bool { return time.Since(began) > lease+lease/4 }, soon, 10*time.Millisecond)
		require.NoError(t, term.Err(), "move %d", round)
		for _, later := range waiting {
			require.Empty(t, later, "move %d", round)
		}
		moves.Finish(t)
	}
	require.NoError(t, term.SetValue(t.Context(), "moved"))
	w.value("moved")
	for i, later := range waiting {
		resign(t, term)
		var next *election.Term
		redistest.Eventually(t, func() bool {
			select {
			case r := <-later:
				require.NoError(t, r.err)
				next = r.term
			default:
			}
			return next != nil
		}, soon, time.Millisecond, "candidate %d: %s", i+1, standing(func() string {
			said := ""
			for j, other := range waiting {
				said += fmt.Sprintf("%d came %d times\n", j+1, len(other))
			}
			for _, look := range [][]string{
				{"HGETALL", name}, {"PTTL", name}, {"LRANGE", "redisson_lock_queue:" + name, "0", "-1"}, {"ZRANGE", "redisson_lock_timeout:" + name, "0", "-1", "WITHSCORES"},
				{"ZRANGE", "rueidisson_fair_alive:" + name, "0", "-1", "WITHSCORES"}, {"ZRANGE", "rueidisson_gone:" + name, "0", "-1"},
				{"HGETALL", "rueidisson_term:" + name}, {"GET", "rueidisson_fair_idle:" + name},
			} {
				answer := redistest.Do(t, raw, look...)
				said += fmt.Sprintln(look, answer.String())
			}
			return said
		}))
		require.Greater(t, next.Fence().Number(), term.Fence().Number())
		for _, behind := range waiting[i+1:] {
			require.Empty(t, behind, "the order is kept")
		}
		term = next
		w.value(term.Value())
	}
	resign(t, term)
	w.none()
}

// standing is said when a test fails.
type standing func() string

func (s standing) String() string { return s() }
