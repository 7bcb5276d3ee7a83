package lock_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// moving is a slot that is about to move, and holds of several names in it.
type moving struct {
	t       *testing.T
	cluster *redistest.Cluster
	holder  *rueidisson.Client
	other   *rueidisson.Client
	tag     string
	moves   *redistest.Migration
}

func (m *moving) name(i int) string { return m.tag + strconv.Itoa(i) }

// start begins to move the slot, with every second name.
func (m *moving) start() {
	m.t.Helper()
	m.moves = m.cluster.StartMigration(m.t, m.tag)
	var half []string
	for i := 0; i < 30; i += 2 {
		half = append(half, m.name(i))
	}
	m.moves.Move(m.t, half...)
}

// TestASlotMovesUnderItsLocks moves the slot of many names back and forth, for
// longer than a lease each time, while they are held, waited for and tried.
func TestASlotMovesUnderItsLocks(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	m := &moving{
		t: t, cluster: cluster, tag: "{" + redistest.Name(t) + "}",
		holder: openCluster(t, cluster, rueidisson.WithWatchdogTimeout(5*time.Second)),
		other:  openCluster(t, cluster, rueidisson.WithWatchdogTimeout(5*time.Second)),
	}
	var names []string
	for i := range 8 {
		names = append(names, m.name(i))
	}
	holds := keep(t, m.holder, names)
	exported := acquire(t, m.holder.Lock(m.name(8)))
	_, err := exported.Token(t.Context())
	require.NoError(t, err)
	waiting := lockLater(t, m.other.Lock(names[0]))
	awaitWaiters(t, m.holder.Lock(names[0]), 1)
	load := m.load()

	m.start()
	m.hold(holds)
	m.leaves(holds[1], holds[2])
	m.leavesExported(exported)
	m.moves.Finish(t)
	m.gone(m.name(8))

	m.start()
	m.hold(holds[3:])
	require.NoError(t, holds[0].Unlock(t.Context()))
	next, err := waiting.result(t)
	require.NoError(t, err, "the waiter has waited for two moves, and got the lock in the second one")
	require.NoError(t, next.Unlock(t.Context()))
	m.moves.Finish(t)
	load.end()
	for _, hold := range holds[3:] {
		require.NoError(t, hold.Err())
		require.NoError(t, hold.Unlock(t.Context()))
	}
}

// A replica of the node that a slot has left confirms nothing, though it has
// all that its own master has.
func TestAnAcquireIsConfirmedWhereItsSlotHasGone(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	name := redistest.Name(t)
	l := openCluster(t, cluster, rueidisson.WithReplicaAcks(1, 300*time.Millisecond)).Lock(name)
	patient := openCluster(t, cluster, rueidisson.WithReplicaAcks(1, 10*time.Second)).Lock(name)
	require.NoError(t, acquire(t, patient).Unlock(t.Context()))
	moves := cluster.StartMigration(t, name)
	waiting := lockLater(t, patient)
	_, err := l.TryLock(t.Context())
	require.ErrorContains(t, err, "the slot is on the move")
	moves.Finish(t)
	hold, err := waiting.result(t)
	require.NoError(t, err, "who waits bears the move")
	require.NoError(t, hold.Unlock(t.Context()))
	cluster.StartMigration(t, name).Finish(t)
	replica := cluster.Replica(name)
	replica.Pause()
	_, err = l.Lock(t.Context())
	require.ErrorIs(t, err, lock.ErrNotReplicated)
	replica.Resume()
	require.NoError(t, acquire(t, patient).Unlock(t.Context()))
}

// hold sees holds through a move that outlasts their leases.
func (m *moving) hold(holds []kept) {
	m.t.Helper()
	before, span := time.Now(), redistest.Span(m.t, 5500*time.Millisecond, 20*time.Second)
	redistest.Eventually(m.t, func() bool {
		for _, hold := range holds {
			require.NoError(m.t, hold.Err(), hold.name)
		}
		return time.Since(before) > span
	}, time.Minute, 20*time.Millisecond)
}

// leaves unlocks holds while the slot moves, and locks their names again.
func (m *moving) leaves(holds ...kept) {
	m.t.Helper()
	for _, hold := range holds {
		require.NoError(m.t, hold.Unlock(m.t.Context()))
		again, err := m.other.Lock(hold.name).TryLock(m.t.Context())
		require.NoError(m.t, err)
		_, err = m.holder.Lock(hold.name).TryLock(m.t.Context())
		require.ErrorIs(m.t, err, lock.ErrNotAcquired)
		require.NoError(m.t, again.Extend(m.t.Context(), time.Minute))
		require.NoError(m.t, again.Unlock(m.t.Context()))
		short, err := m.other.Lock(hold.name).TryLock(m.t.Context(), lock.WithLease(30*time.Second))
		require.NoError(m.t, err)
		at, err := m.holder.Lock(hold.name).Holder(m.t.Context())
		require.NoError(m.t, err)
		require.Greater(m.t, at.Remaining, 20*time.Second, "the lease that was asked for, whatever it began with")
		require.NoError(m.t, short.Unlock(m.t.Context()))
	}
}

// leavesExported unlocks a hold that has to be counted, which takes two keys.
func (m *moving) leavesExported(hold *lock.Hold) {
	m.t.Helper()
	require.NoError(m.t, hold.Err())
	require.ErrorContains(m.t, hold.Unlock(m.t.Context()), "the slot is on the move: TRYAGAIN")
}

func (m *moving) gone(name string) {
	m.t.Helper()
	l := m.other.Lock(name)
	require.Eventually(m.t, func() bool {
		held, err := l.Locked(context.Background())
		return err == nil && !held
	}, 20*time.Second, 10*time.Millisecond, "the unlock goes on by itself") // before the lease ends by itself
}

// traffic is locks of other names in the slot that come and go all the time.
type traffic struct {
	m     *moving
	stop  chan struct{}
	once  sync.Once
	wg    sync.WaitGroup
	taken atomic.Int64
}

func (m *moving) load() *traffic {
	load := &traffic{m: m, stop: make(chan struct{})}
	// A send is bounded by the watchdog's time: theirs is long enough for a machine that stands still for a moment.
	const patient = 15 * time.Second
	clients := []*rueidisson.Client{
		openCluster(m.t, m.cluster, rueidisson.WithWatchdogTimeout(patient)),
		openCluster(m.t, m.cluster, rueidisson.WithWatchdogTimeout(patient)),
	}
	for i := 10; i < 14; i++ {
		load.wg.Go(func() { load.run(clients[i%2].Lock(m.name(i))) })
		load.wg.Go(func() { load.run(clients[1].Lock(m.name(i))) })
	}
	m.t.Cleanup(load.end) // also where the test has failed
	return load
}

func (l *traffic) run(locked *lock.Lock) {
	for !isDone(l.stop) {
		hold, err := locked.TryLock(context.Background())
		if err != nil {
			answered := errors.Is(err, lock.ErrNotAcquired) || strings.Contains(err.Error(), "TRYAGAIN")
			assert.True(l.m.t, answered, "neither an answer nor that the slot moves: %v", err)
			time.Sleep(time.Millisecond) // the test is about the move, not about the load
			continue
		}
		l.taken.Add(1)
		assert.NoError(l.m.t, hold.Unlock(context.Background()))
	}
}

func (l *traffic) end() {
	l.once.Do(func() { close(l.stop) })
	l.wg.Wait()
	assert.NotZero(l.m.t, l.taken.Load())
}
