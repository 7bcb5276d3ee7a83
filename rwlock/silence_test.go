package rwlock_test

import (
	"context"
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

// A force unlock is sent once: a second one would take the lock from the next
// holder.
func TestALostReplyToAForceUnlockIsUnknown(t *testing.T) {
	t.Parallel()
	for name, of := range sides {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, f *faulty, how ...redistest.DropOption) {
				_, err := of.side(f.lock).ForceUnlock(t.Context()) // nobody holds it; the server has the script from now on
				require.NoError(t, err)
				sent := f.proxy.Count(f.script("force"))
				hold := locktest.Take(t, of.side(f.other))
				drop := f.proxy.DropReply(f.script("force"), 1, how...)
				_, err = of.side(f.lock).ForceUnlock(t.Context())
				require.ErrorIs(t, err, lock.ErrOutcomeUnknown)
				drop.Await(t)
				f.free()
				next := locktest.Take(t, of.side(f.other))
				require.Equal(t, sent+1, f.proxy.Count(f.script("force")))
				require.NoError(t, next.Err())
				locktest.Unlock(t, next)
				require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
			})
		})
	}
}

func TestALostReplyToALookIsAskedForAgain(t *testing.T) {
	bothWays(t, func(t *testing.T, f *faulty, how ...redistest.DropOption) {
		hold := locktest.Take(t, f.other.Read())
		inspect := f.proxy.DropReply(f.script("inspect"), 1, how...)
		leases := f.proxy.DropReply(redistest.MatchScript(body(t, "leases")), 1, how...)
		readers, err := f.lock.Readers(t.Context())
		require.NoError(t, err)
		require.Len(t, readers, 1)
		require.Positive(t, readers[0].Remaining)
		inspect.Await(t)
		leases.Await(t)
		locktest.Unlock(t, hold)
	})
}

// waits begins a Lock, and returns what ends with its hold.
func waits(ctx context.Context, t *testing.T, side *rwlock.Side) chan *lock.Hold {
	got := make(chan *lock.Hold, 1)
	go func() { // ends with the hold or ctx
		hold, err := side.Lock(ctx)
		if ctx.Err() == nil {
			assert.NoError(t, err)
		}
		got <- hold
	}()
	return got
}

func TestALostReplyToADroppingOfDeadReadersDropsThem(t *testing.T) {
	bothWays(t, func(t *testing.T, f *faulty, how ...redistest.DropOption) {
		dead := locktest.Take(t, f.other.Read())
		readers, err := f.other.Readers(t.Context())
		require.NoError(t, err)
		mark := "{" + f.lock.Name() + "}:" + readers[0].Owner + ":rwlock_timeout:1"
		require.NoError(t, f.raw.Do(t.Context(), f.raw.B().Del().Key(mark).Build()).Error())
		drop := f.proxy.DropReply(f.script("clear"), 1, how...)
		got := waits(t.Context(), t, f.lock.Write())
		drop.Await(t)
		hold := <-got
		require.NotNil(t, hold)
		locktest.Unlock(t, hold)
		require.ErrorIs(t, dead.Unlock(t.Context()), lock.ErrLost)
		f.free()
	})
}

func TestALostReplyToAWithdrawalLetsReadersIn(t *testing.T) {
	bothWays(t, func(t *testing.T, f *faulty, how ...redistest.DropOption) {
		first := locktest.Take(t, f.other.Read())
		ctx, cancel := context.WithCancel(t.Context())
		client := locktest.Open(t, f.proxy.Addr())
		got := waits(ctx, t, client.RWLock(f.lock.Name()).Write())
		claimed(t, f.lock.Name())
		drop := f.proxy.DropReply(redistest.MatchScript(body(t, "withdraw")), 1, how...)
		cancel()
		require.Nil(t, <-got)
		drop.Await(t)
		locktest.Unlock(t, locktest.Take(t, f.other.Read()))
		locktest.Unlock(t, first)
		f.free()
	})
}

// A server that stands still keeps the leases running: they are trusted no longer
// than their keys would stand.
func TestAHoldEndsBeforeItsKeysWhenTheServerStandsStill(t *testing.T) {
	t.Parallel()
	for name, of := range sides {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, key := redistest.Start(t), redistest.Name(t)
			direct := server.Client(t)
			l := locktest.Open(t, server.Addr(), rueidisson.WithWatchdogTimeout(3*time.Second)).RWLock(key)
			other := locktest.Open(t, server.Addr()).RWLock(key)
			hold := locktest.Take(t, of.side(l))
			work := hold.Context(t.Context())
			renewed := hold.Deadline()
			at, err := direct.Do(t.Context(), direct.B().Pexpiretime().Key(key).Build()).AsInt64()
			require.NoError(t, err)
			server.Pause()
			var stood, until time.Time
			for asked := time.Now(); hold.Err() == nil; asked = time.Now() {
				stood, until = asked, hold.Deadline()
				time.Sleep(time.Millisecond)
			}
			server.Resume()
			if moved := until.Sub(renewed); moved > 0 { // a renewal was answered after its end was asked for
				at += moved.Milliseconds()
			}
			require.True(t, stood.Before(time.UnixMilli(at)), "it was trusted when the server had given the lock away already")
			require.ErrorIs(t, context.Cause(work), lock.ErrLost)
			next := locktest.Take(t, other.Write())
			require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
			require.NoError(t, next.Err())
			locktest.RequireBusy(t, other.Read())
			locktest.Unlock(t, next)
		})
	}
}

// Behind Sentinels: a new master keeps what it has heard of, and who waits goes on.
func TestHoldsBehindSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	sentinels := func(opts ...rueidisson.Option) *rueidisson.Client {
		c, err := rueidisson.New(rueidis.ClientOption{
			InitAddress: s.Addrs(), Sentinel: rueidis.SentinelOption{MasterSet: s.MasterName()}, DisableCache: true,
		}, opts...)
		require.NoError(t, err)
		t.Cleanup(func() { locktest.Close(c) })
		return c
	}
	patient := []rueidisson.Option{rueidisson.WithWatchdogTimeout(20 * time.Second), rueidisson.WithReplicaAcks(1, 10*time.Second)}
	c, name := sentinels(patient...), redistest.Name(t)
	other := sentinels(rueidisson.WithWatchdogTimeout(3 * redistest.Soon)) // a wait ends when an outage lasts longer
	read, write := locktest.Take(t, c.RWLock(name+"r").Read()), locktest.Take(t, c.RWLock(name+"w").Write())
	writer, reader := waits(t.Context(), t, other.RWLock(name+"r").Write()), waits(t.Context(), t, other.RWLock(name+"w").Read())
	for _, hold := range []*lock.Hold{read, write} {
		require.NoError(t, hold.Extend(t.Context(), 2*redistest.Soon)) // a failover may take longer than a watchdog's timeout
	}
	old := s.Master()
	old.AwaitReplica(t) // else the new master may not know the longer leases
	old.Kill()
	s.AwaitMaster(t, old.Addr())
	for _, hold := range []*lock.Hold{read, write} {
		require.Eventually(t, func() bool { return hold.Extend(t.Context(), 3*redistest.Soon) == nil }, redistest.Soon, 50*time.Millisecond)
		require.NoError(t, hold.Err())
	}
	require.Empty(t, writer)
	require.Empty(t, reader)
	old.Restart() // else nothing confirms
	locktest.Unlock(t, read)
	locktest.Unlock(t, write)
	for _, got := range []chan *lock.Hold{writer, reader} {
		hold := <-got
		require.NotNil(t, hold)
		locktest.Unlock(t, hold)
	}
}
