package rwlock_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rwlock"
)

func openCluster(t testing.TB, cluster *redistest.Cluster, opts ...rueidisson.Option) *rueidisson.Client {
	t.Helper()
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: cluster.Addrs(), DisableCache: true}, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { locktest.Close(c) })
	return c
}

// A slot moves for longer than the leases, with the names on one node and the
// readers' own keys on the other: no hold is lost. Who wants the lock waits for
// the end, and what is unlocked is free by then.
func TestASlotMovesUnderReadersAndWriters(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	holder := openCluster(t, cluster, rueidisson.WithWatchdogTimeout(6*time.Second))
	other := openCluster(t, cluster, rueidisson.WithWatchdogTimeout(30*time.Second))
	tag := "{" + redistest.Name(t) + "}"
	var names []string
	holds := map[string]*lock.Hold{}
	for i := range 6 {
		name := tag + strconv.Itoa(i)
		side := holder.RWLock(name).Read()
		if i%2 == 1 {
			side = holder.RWLock(name).Write()
		}
		names, holds[name] = append(names, name), locktest.Take(t, side)
	}
	long := locktest.Take(t, holder.RWLock(tag+"long").Read(), lock.WithLease(time.Minute))

	moves := cluster.StartMigration(t, tag)
	moves.Move(t, names[0], names[1], names[2], tag+"long") // their readers' keys stay behind
	until := time.Now().Add(redistest.Span(t, 7*time.Second, 20*time.Second))
	for time.Now().Before(until) {
		for name, hold := range holds {
			require.NoError(t, hold.Err(), name)
		}
		require.NoError(t, long.Err())
		time.Sleep(20 * time.Millisecond)
	}
	require.ErrorContains(t, holds[names[2]].Unlock(t.Context()), "the slot is on the move")
	moves.Finish(t)
	locktest.Unlock(t, locktest.Take(t, other.RWLock(names[2]).Write())) // as soon as it was given back
	delete(holds, names[2])
	for _, hold := range holds {
		locktest.Unlock(t, hold)
	}
	locktest.Unlock(t, long)
	for _, name := range names {
		locktest.Unlock(t, locktest.Take(t, other.RWLock(name).Write()))
	}
}

// Taking a side away needs the name alone, wherever that is at the time.
func TestASideIsTakenAwayWhileItsSlotMoves(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	holder, other := openCluster(t, cluster, rueidisson.WithWatchdogTimeout(6*time.Second)), openCluster(t, cluster)
	tag := "{" + redistest.Name(t) + "}"
	sides := map[string]func(c *rueidisson.Client, name string) *rwlock.Side{
		"read":  func(c *rueidisson.Client, name string) *rwlock.Side { return c.RWLock(name).Read() },
		"write": func(c *rueidisson.Client, name string) *rwlock.Side { return c.RWLock(name).Write() },
	}
	holds := map[string]*lock.Hold{}
	for kind, side := range sides {
		for _, where := range []string{"moved", "stays"} {
			holds[tag+kind+where] = locktest.Take(t, side(holder, tag+kind+where))
		}
	}
	moves := cluster.StartMigration(t, tag)
	moves.Move(t, tag+"readmoved", tag+"writemoved")
	for kind, side := range sides {
		for _, where := range []string{"moved", "stays"} {
			held, err := side(other, tag+kind+where).ForceUnlock(t.Context())
			require.NoError(t, err, kind+where)
			require.True(t, held, kind+where)
			held, err = side(other, tag+kind+where).ForceUnlock(t.Context())
			require.NoError(t, err, kind+where)
			require.False(t, held, kind+where)
		}
	}
	moves.Finish(t)
	for name, hold := range holds {
		locktest.Unlock(t, locktest.Take(t, other.RWLock(name).Write()))
		<-hold.Lost()
		require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost, name)
	}
}

func TestReadersAndWritersOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	t.Run("both sides exclude and wake each other", func(t *testing.T) {
		redistest.Within(t, 30*time.Second, func() time.Duration { // no message came: the lease did
			longest := time.Duration(0)
			name := redistest.Name(t)
			here, there := openCluster(t, cluster).RWLock(name), openCluster(t, cluster).RWLock(name)
			for _, of := range []struct{ first, second *rwlock.Side }{
				{here.Read(), there.Write()}, {here.Write(), there.Read()}, {here.Write(), there.Write()},
			} {
				hold := locktest.Take(t, of.first)
				locktest.RequireBusy(t, of.second)
				got := make(chan *lock.Hold, 1)
				began := time.Now()
				go func() { // ends with the hold
					next, err := of.second.Lock(context.Background())
					assert.NoError(t, err)
					got <- next
				}()
				require.Eventually(t, func() bool { n, err := here.Waiting(t.Context()); return err == nil && n > 0 }, redistest.Soon, time.Millisecond)
				locktest.Unlock(t, hold)
				locktest.Unlock(t, <-got)
				longest = max(longest, time.Since(began))
			}
			return longest
		})
	})
	t.Run("names that break slots are refused", func(t *testing.T) {
		c := openCluster(t, cluster)
		_, err := c.RWLock("a}b").Read().TryLock(t.Context())
		require.ErrorIs(t, err, lock.ErrInvalidArgument)
	})
}
