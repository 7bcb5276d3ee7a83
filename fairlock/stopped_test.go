package fairlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// stoppedLease is one that a busy machine does not let run out by itself.
const stoppedLease = 6 * time.Second

// A process that stands still while it waits, for longer than its lease, keeps
// nobody from the lock, and is at the front again when it goes on.
func TestAStoppedWaiterComesBackAtTheFront(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	here, there := locktest.Open(t, server.Addr()).FairLock(name), locktest.Open(t, server.Addr()).FairLock(name)
	held := locktest.Take(t, here)
	child := redistest.StartChild(t, "holder", "FAIR_ADDR="+server.Addr(), "FAIR_NAME="+name)
	awaitQueue(t, here, 1)
	second := lockLater(t.Context(), there)
	awaitQueue(t, here, 2)
	third := lockLater(t.Context(), here)
	awaitQueue(t, here, 3)
	child.Stop()
	locktest.Unlock(t, held)
	next := got(t, second)
	time.Sleep(stoppedLease + time.Second) // the child was told, and its lease would be over
	require.NoError(t, next.Err())
	child.Cont()
	queue := awaitQueue(t, here, 2)
	require.False(t, queue[0].Mine, "the one that stood still")
	locktest.Unlock(t, next)
	require.Equal(t, "held: <nil>", child.Next())
	require.Empty(t, third)
	child.Send("unlock")
	require.Equal(t, "trusts: <nil>, <nil>", child.Next())
	require.Equal(t, "unlocked: <nil>", child.Next())
	locktest.Unlock(t, got(t, third))
	mustBeFree(t, here)
}

// A server that stands still past the lease ends the hold first, and then goes
// on with its queue as it was.
func TestAServerThatStoodStillGoesOnWithItsQueue(t *testing.T) {
	t.Parallel()
	server, name := redistest.Start(t), redistest.Name(t)
	here, there := locktest.Open(t, server.Addr()).FairLock(name), locktest.Open(t, server.Addr()).FairLock(name)
	// Its client has a lease of its own: a wait ends when the server is away for longer than the lease of its client.
	held := locktest.Take(t, locktest.Open(t, server.Addr(), rueidisson.WithWatchdogTimeout(stoppedLease)).FairLock(name))
	var waited []<-chan result
	for i, on := range []int{1, 0, 1, 0} {
		l := here
		if on == 1 {
			l = there
		}
		waited = append(waited, lockLater(t.Context(), l))
		awaitQueue(t, here, i+1)
	}
	server.Pause()
	require.Eventually(t, func() bool { return held.Err() != nil }, soon, time.Millisecond)
	require.ErrorIs(t, held.Err(), lock.ErrLost)
	for _, w := range waited {
		require.Empty(t, w, "nobody has what the server cannot give")
	}
	time.Sleep(300 * time.Millisecond)
	server.Resume()
	inOrder(t, waited)
	require.ErrorIs(t, held.Unlock(t.Context()), lock.ErrLost)
	mustBeFree(t, there)
}

// A silent server is borne for a watchdog timeout, by many as by one: they learn
// of it together, those who have places and those who ask for one. Not beside
// other tests, whose short leases so many would use up.
func TestManyWaitersGiveUpTogether(t *testing.T) {
	const queued, asking = 64, 1500
	server, name := redistest.Shared(t), redistest.Name(t)
	p := redistest.NewProxy(t, server.Addr())
	there := locktest.Open(t, server.Addr(), rueidisson.WithWatchdogTimeout(time.Minute)).FairLock(name)
	held := locktest.Take(t, there)
	l := locktest.Open(t, p.Addr(), rueidisson.WithWatchdogTimeout(2*time.Second)).FairLock(name)
	ends := make(chan error, queued+asking)
	ask := func() { // ends with the outage
		_, err := l.Lock(context.Background())
		ends <- err
	}
	for range queued {
		go ask()
	}
	awaitQueue(t, there, queued)
	p.BlackHole()
	for range asking {
		go ask()
	}
	late := time.After(9 * time.Second) // a few at a time, they would need 14 s, and one behind the other 32 s
	for i := range queued + asking {
		select {
		case err := <-ends:
			require.Error(t, err)
		case <-late:
			require.FailNow(t, "somebody still waits", "%d have given up", i)
		}
	}
	p.Restore()
	locktest.Unlock(t, held)
	mustBeFree(t, there)
}
