package fairlock

import (
	"math"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// moving is a bench on a cluster, whose slot moves.
type moving struct {
	*bench
	t       *testing.T
	cluster *redistest.Cluster
}

func newMoving(t *testing.T, c *redistest.Cluster) *moving {
	return &moving{&bench{t: t, raw: c.Client(t), name: redistest.Name(t), counts: "2", slots: true}, t, c}
}

// listen lets the process hear whose turn it is, until it ends.
func (m *moving) listen(client string) (end func()) {
	conn, release := m.cluster.Master(m.name).Client(m.t).Dedicate()
	conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(rueidis.PubSubMessage) {}})
	require.NoError(m.t, conn.Do(m.t.Context(), conn.B().Ssubscribe().Channel(keys.FairTurns(m.name)+":"+client).Build()).Error())
	m.heard(client, 1)
	return func() {
		conn.Close()
		release()
		m.heard(client, 0)
	}
}

// heard waits until so many hear what the process is told.
func (m *moving) heard(client string, want int64) {
	m.t.Helper()
	channel := keys.FairTurns(m.name) + ":" + client
	node := m.cluster.Master(m.name).Client(m.t)
	redistest.Eventually(m.t, func() bool {
		counts, err := node.Do(m.t.Context(), node.B().PubsubShardnumsub().Channel(channel).Build()).AsIntMap()
		return err == nil && counts[channel] == want
	}, redistest.Soon, time.Millisecond)
}

// move gives the slot, with all that is in it, to another server, and then back
// and there again.
func (m *moving) move(times int) {
	var last *redistest.Migration
	for range times {
		if last == nil {
			last = m.cluster.StartMigration(m.t, m.name)
		} else {
			last = last.StartBack(m.t)
		}
		last.Finish(m.t)
	}
}

// saidAt lets a process have said at another time that it is alive, in the way in
// which it has.
func (m *moving) saidAt(client string, at int64) {
	until, err := m.do("ZSCORE", keys.FairAlive(m.name), client).AsFloat64()
	require.NoError(m.t, err)
	_, way := math.Modf(until)
	m.do("ZADD", keys.FairAlive(m.name), strconv.FormatFloat(float64(at+aliveMs)+way, 'f', -1, 64), client)
}

// freed lets the lock be released that x, of another process, waits for.
func (m *moving) freed() []string {
	m.saidAt(there, m.now())
	require.Equal(m.t, "0", m.release(own(here, 9)))
	return m.queue()
}

// A process whose connection has ended is passed over by the release itself,
// whether the server saw it listen when it queued or later, and behind a slot that
// has moved if it listened to the server that has it now.
func TestOnAClusterAKilledFrontIsPassedOverByTheRelease(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := redistest.StartCluster(t, redistest.Version(version))
			for name, waits := range map[string]func(m *moving) (end func()){
				"that has just queued": func(m *moving) func() {
					defer m.acquire(x, queue)
					return m.listen(there)
				},
				"that listened later": func(m *moving) func() {
					m.acquire(x, queue)
					defer m.keep(there, "0")
					return m.listen(there)
				},
				"that listened again where the slot has come to": func(m *moving) func() {
					m.listen(there)
					m.acquire(x, queue)
					m.move(1)
					defer m.keep(there, "0")
					return m.listen(there)
				},
			} {
				t.Run(name, func(t *testing.T) {
					m := newMoving(t, c)
					m.acquire(own(here, 9), once)
					waits(m)()
					require.Empty(t, m.freed())
				})
			}
		})
	}
}

// A process that does not listen yet where the slot has come to may live: no
// release passes over it, not even one where the slot has come back to.
func TestAFrontThatListenedBeforeTheSlotMovedKeepsItsPlace(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t)
	for name, moves := range map[string]int{"there": 1, "there and back": 2} {
		t.Run(name, func(t *testing.T) {
			m := newMoving(t, c)
			m.acquire(own(here, 9), once)
			m.listen(there)
			m.acquire(x, queue)
			m.move(moves)
			m.heard(there, 0)
			require.Equal(t, []string{x}, m.freed())
		})
	}
}

// A process that has just begun to wait finds out for all that the slot has moved.
func TestWhoQueuesBehindAMoveTakesNobodyForAListener(t *testing.T) {
	t.Parallel()
	m := newMoving(t, redistest.StartCluster(t))
	m.acquire(own(here, 9), once)
	m.listen(there)
	m.acquire(x, queue)
	m.move(1)
	m.heard(there, 0)
	m.saidAt(there, m.now())
	m.acquire(a, queue)
	require.Equal(t, "0", m.release(own(here, 9)))
	require.Equal(t, []string{x, a}, m.queue())
}

// Each move gives all the time to say that they are alive, also those that have
// said nothing since the one before it.
func TestEachMoveGivesTheSilentTheirTimeAnew(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t)
	for _, counts := range []string{"0", "2"} {
		for name, after := range map[string]struct {
			moves int
			stays []string
		}{"no move": {0, []string{a}}, "a move": {1, []string{x, a}}, "one there and back": {2, []string{x, a}}} {
			t.Run(name+", "+counts, func(t *testing.T) {
				m := newMoving(t, c)
				m.counts = counts
				m.acquire(own(here, 9), once)
				m.acquire(x, queue)
				m.acquire(a, queue)
				m.do("DEL", keys.FairAlive(m.name))
				m.keep(here, "0") // nobody has said anything, and x has its time
				for _, client := range []string{here, there} {
					m.saidAt(client, m.now()-60_000)
				}
				m.move(after.moves)
				m.keep(here, "0")
				require.Equal(t, after.stays, m.queue())
			})
		}
	}
}

// Who tells and hears by another kind of channel is not taken for a listener by those
// who have the usual one.
func TestWhoListensOtherwiseIsNotPassedOver(t *testing.T) {
	t.Parallel()
	m := newMoving(t, redistest.StartCluster(t))
	m.acquire(own(here, 9), once)
	m.counts = "0"
	m.acquire(x, queue)
	m.keep(there, "0")
	m.counts = "2"
	require.Equal(t, []string{x}, m.freed())
}

// counted is how often the server of the name has done something.
func (m *moving) counted(command string) int {
	m.t.Helper()
	node := m.cluster.Master(m.name).Client(m.t)
	info, err := node.Do(m.t.Context(), node.B().Info().Section("commandstats").Build()).ToString()
	require.NoError(m.t, err)
	found := regexp.MustCompile("cmdstat_" + regexp.QuoteMeta(command) + ":calls=([0-9]+)").FindStringSubmatch(info)
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(found[1])
	require.NoError(m.t, err)
	return n
}

// What the server goes through all its slots for is asked once for all the places of
// those who were killed, and not at all while nothing changes.
func TestTheEpochIsSeldomAskedFor(t *testing.T) {
	t.Parallel()
	m := newMoving(t, redistest.StartCluster(t))
	m.acquire(own(here, 9), once)
	end := m.listen(there)
	for i := range 1000 {
		m.acquire(own(there, 1000+i), queue)
	}
	m.acquire(a, queue)
	asked := m.counted("cluster|info")
	for range 10 {
		m.keep(there, "0")
		m.keep(here, "0")
	}
	require.Equal(t, asked, m.counted("cluster|info"))
	end()
	told := m.counted("spublish")
	m.saidAt(there, m.now())
	m.keep(here, "0") // so that it is not too long ago that a process said something
	m.release(own(here, 9))
	require.Equal(t, []string{a}, m.queue())
	require.Equal(t, asked+1, m.counted("cluster|info"))
	require.LessOrEqual(t, m.counted("spublish"), told+2)
}
