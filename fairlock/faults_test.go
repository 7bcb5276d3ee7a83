package fairlock_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/fairlock"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// soon bounds what has to happen, on a machine however slow.
var soon = redistest.Soon

// faulty is a client behind a proxy that loses replies, and one beside it, on
// the same lock.
type faulty struct {
	t           *testing.T
	proxy       *redistest.Proxy
	lock, other *fairlock.Lock
}

func newFaulty(t *testing.T) *faulty {
	t.Helper()
	server, name := redistest.Shared(t), redistest.Name(t)
	proxy := redistest.NewProxy(t, server.Addr())
	return &faulty{
		t: t, proxy: proxy,
		lock:  locktest.Open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(9*time.Second)).FairLock(name),
		other: locktest.Open(t, server.Addr()).FairLock(name),
	}
}

func (f *faulty) script(name string) redistest.Match {
	return redistest.All(redistest.MatchScript(body(f.t, name)), redistest.Arg("redisson_lock_queue:{"+f.lock.Name()+"}"))
}

func got(t testing.TB, waited <-chan result) *lock.Hold {
	t.Helper()
	select {
	case r := <-waited:
		require.NoError(t, r.err)
		return r.hold
	case <-time.After(soon):
		require.FailNow(t, "its turn never came")
		return nil
	}
}

// mustBeFree expects that nobody holds the lock, and nobody waits.
func mustBeFree(t testing.TB, l *fairlock.Lock) {
	t.Helper()
	require.Eventually(t, func() bool {
		held, err := l.Locked(context.Background())
		queue, err2 := l.Queue(context.Background())
		return err == nil && err2 == nil && !held && len(queue) == 0
	}, soon, 5*time.Millisecond)
}

// Each reply is lost once: with its connection, or in silence.
func TestALostReplyChangesNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(f *faulty, drop func(script string) *redistest.Drop){
		"acquire": func(f *faulty, drop func(string) *redistest.Drop) {
			lost := drop("acquire")
			hold := locktest.Take(f.t, f.lock)
			lost.Await(f.t)
			locktest.Unlock(f.t, hold)
		},
		"queue": func(f *faulty, drop func(string) *redistest.Drop) {
			held := locktest.Take(f.t, f.other)
			waited := lockLater(f.t.Context(), f.lock)
			awaitQueue(f.t, f.other, 1)
			lost := drop("acquire")
			behind := lockLater(f.t.Context(), f.lock)
			lost.Await(f.t)
			awaitQueue(f.t, f.other, 2)
			locktest.Unlock(f.t, held)
			locktest.Unlock(f.t, got(f.t, waited))
			locktest.Unlock(f.t, got(f.t, behind))
		},
		"the turn": func(f *faulty, drop func(string) *redistest.Drop) {
			held := locktest.Take(f.t, f.other)
			waited := lockLater(f.t.Context(), f.lock)
			awaitQueue(f.t, f.other, 1)
			lost := drop("acquire")
			locktest.Unlock(f.t, held)
			hold := got(f.t, waited)
			lost.Await(f.t)
			locktest.Unlock(f.t, hold)
		},
		"release": func(f *faulty, drop func(string) *redistest.Drop) {
			hold := locktest.Take(f.t, f.lock)
			waited := lockLater(f.t.Context(), f.other)
			awaitQueue(f.t, f.other, 1)
			lost := drop("release")
			locktest.Unlock(f.t, hold)
			lost.Await(f.t)
			locktest.Unlock(f.t, got(f.t, waited))
		},
		"release to a waiter": func(f *faulty, drop func(string) *redistest.Drop) {
			hold := locktest.Take(f.t, f.lock)
			waited := lockLater(f.t.Context(), f.lock)
			awaitQueue(f.t, f.other, 1)
			lost := drop("release")
			locktest.Unlock(f.t, hold)
			lost.Await(f.t)
			next := got(f.t, waited)
			require.NoError(f.t, next.Err())
			locktest.Unlock(f.t, next)
		},
		"keep": func(f *faulty, drop func(string) *redistest.Drop) {
			held := locktest.Take(f.t, f.other)
			waited := lockLater(f.t.Context(), f.lock)
			awaitQueue(f.t, f.other, 1)
			drop("keep").Await(f.t)
			locktest.Unlock(f.t, held)
			locktest.Unlock(f.t, got(f.t, waited))
		},
		"leave": func(f *faulty, drop func(string) *redistest.Drop) {
			held := locktest.Take(f.t, f.other)
			ctx, cancel := context.WithCancel(f.t.Context())
			waited := lockLater(ctx, f.lock)
			awaitQueue(f.t, f.other, 1)
			lost := drop("leave")
			cancel()
			require.ErrorIs(f.t, (<-waited).err, context.Canceled)
			lost.Await(f.t)
			awaitQueue(f.t, f.other, 0)
			locktest.Unlock(f.t, held)
		},
	} {
		for how, opts := range map[string][]redistest.DropOption{"cut": nil, "silent": {redistest.Silent()}} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				f := newFaulty(t)
				test(f, func(script string) *redistest.Drop { return f.proxy.DropReply(f.script(script), 1, opts...) })
				mustBeFree(t, f.other)
			})
		}
	}
}

// A send that arrives when its owner has left, or has had the lock and given it
// back, takes nothing.
func TestALateSendTakesNothing(t *testing.T) {
	t.Parallel()
	t.Run("of who has left", func(t *testing.T) {
		t.Parallel()
		f := newFaulty(t)
		held := locktest.Take(t, f.other)
		late := f.proxy.HoldRequest(f.script("acquire"))
		_, err := f.lock.TryLock(t.Context(), lock.WithWait(4*time.Second)) // its second send says: held
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		late.Await(t)
		awaitQueue(t, f.other, 0)
		locktest.Unlock(t, held)
		late.Release()
		mustBeFree(t, f.other)
	})
	t.Run("of who has had it", func(t *testing.T) {
		t.Parallel()
		f := newFaulty(t)
		late := f.proxy.HoldRequest(f.script("acquire"))
		hold := locktest.Take(t, f.lock)
		late.Await(t)
		locktest.Unlock(t, hold)
		late.Release()
		mustBeFree(t, f.other)
	})
	t.Run("of a release", func(t *testing.T) {
		t.Parallel()
		f := newFaulty(t)
		hold := locktest.Take(t, f.lock)
		waited := lockLater(t.Context(), f.other)
		awaitQueue(t, f.other, 1)
		late := f.proxy.HoldRequest(f.script("release"))
		locktest.Unlock(t, hold)
		late.Await(t)
		next := got(t, waited)
		late.Release()
		require.NoError(t, next.Extend(t.Context(), time.Minute), "it has the lock still")
		locktest.Unlock(t, next)
		mustBeFree(t, f.other)
	})
}

func TestAWaiterOfASilentServerIsNotKept(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	held := locktest.Take(t, f.other)
	ctx, cancel := context.WithCancel(t.Context())
	waited := lockLater(ctx, f.lock)
	awaitQueue(t, f.other, 1)
	f.proxy.BlackHole()
	cancel()
	require.ErrorIs(t, (<-waited).err, context.Canceled)
	f.proxy.Restore()
	awaitQueue(t, f.other, 0)
	locktest.Unlock(t, held)
	mustBeFree(t, f.other)
}

// A waiter whose process was cut off is passed over, and comes back at the front.
func TestAWaiterThatWasCutOffComesBackAtTheFront(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	held := locktest.Take(t, f.other)
	cut := lockLater(t.Context(), f.lock)
	awaitQueue(t, f.other, 1)
	var others []<-chan result
	for i := range 2 {
		others = append(others, lockLater(t.Context(), f.other))
		awaitQueue(t, f.other, 2+i)
	}
	f.proxy.BlackHole()
	require.Eventually(t, func() bool { // its time is over when others have looked
		queue, err := f.other.Queue(t.Context())
		return err == nil && len(queue) == 2
	}, soon, 10*time.Millisecond)
	locktest.Unlock(t, held)
	first := got(t, others[0])
	f.proxy.Restore()
	awaitQueue(t, f.other, 2)
	locktest.Unlock(t, first)
	back := got(t, cut)
	locktest.Unlock(t, back)
	locktest.Unlock(t, got(t, others[1]))
	mustBeFree(t, f.other)
}

// A server that lost everything loses the order, and no waiter.
func TestWaitersOutlastAServerThatLosesTheQueue(t *testing.T) {
	t.Parallel()
	server, name := redistest.Start(t), redistest.Name(t)
	here, there := locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
	locktest.Take(t, here.FairLock(name))
	var waited []<-chan result
	for i := range 6 {
		waited = append(waited, lockLater(t.Context(), []*rueidisson.Client{here, there}[i%2].FairLock(name)))
		awaitQueue(t, here.FairLock(name), i+1)
	}
	server.Kill()
	server.Restart()
	done := make(chan error, len(waited))
	for _, w := range waited {
		go func() { // ends with the test's context
			r := <-w
			if r.err == nil {
				r.err = r.hold.Unlock(context.Background())
			}
			done <- r.err
		}()
	}
	for range waited {
		require.NoError(t, <-done)
	}
	mustBeFree(t, there.FairLock(name))
}

// A full server refuses who wants a lock, and takes no turn away.
func TestTheQueueGoesOnOnAFullServer(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server, name := redistest.Start(t, redistest.Version(version)), redistest.Name(t)
			raw := server.Client(t)
			here, there := locktest.Open(t, server.Addr()).FairLock(name), locktest.Open(t, server.Addr()).FairLock(name)
			held := locktest.Take(t, here)
			own := lockLater(t.Context(), here)
			awaitQueue(t, here, 1)
			other := lockLater(t.Context(), there)
			awaitQueue(t, here, 2)
			ctx, cancel := context.WithCancel(t.Context())
			gone := lockLater(ctx, there)
			awaitQueue(t, here, 3)
			require.NoError(t, raw.Do(t.Context(), raw.B().ConfigSet().ParameterValue().ParameterValue("maxmemory", "1").Build()).Error())
			_, err := here.TryLock(t.Context())
			require.ErrorIs(t, err, lock.ErrNotAcquired)
			_, err = locktest.Open(t, server.Addr()).FairLock("another").TryLock(t.Context())
			require.ErrorContains(t, err, "OOM", "or this test shows nothing")
			cancel()
			require.ErrorIs(t, (<-gone).err, context.Canceled)
			awaitQueue(t, here, 2)
			<-time.After(2 * time.Second) // longer than a process counts as alive that cannot say so
			locktest.Unlock(t, held)
			locktest.Unlock(t, got(t, own))
			locktest.Unlock(t, got(t, other))
			mustBeFree(t, here)
		})
	}
}

// Through a slot move no hold is lost; who waits bears it.
func TestASlotMovesUnderAFairLock(t *testing.T) {
	t.Parallel()
	cluster, name := redistest.StartCluster(t), redistest.Name(t)
	connect := func() *fairlock.Lock {
		c, err := rueidisson.New(rueidis.ClientOption{InitAddress: cluster.Addrs()}, rueidisson.WithWatchdogTimeout(5*time.Second))
		require.NoError(t, err)
		t.Cleanup(func() { locktest.Close(c) })
		return c.FairLock(name)
	}
	here, there := connect(), connect()
	held := locktest.Take(t, here)
	var waited []<-chan result
	for i, l := range []*fairlock.Lock{there, here, there} {
		waited = append(waited, lockLater(t.Context(), l))
		awaitQueue(t, here, i+1)
	}
	queue, err := here.Queue(t.Context())
	require.NoError(t, err)
	moves := cluster.StartMigration(t, name)
	moves.Move(t, name)
	<-time.After(6 * time.Second) // longer than the lease, and than a process is alive that says nothing
	require.NoError(t, held.Err())
	moves.Finish(t)
	require.NoError(t, held.Err())
	after, err := here.Queue(t.Context())
	require.NoError(t, err)
	require.Equal(t, queue, after)
	locktest.Unlock(t, held)
	for i, w := range waited {
		hold := got(t, w)
		for _, later := range waited[i+1:] {
			require.Empty(t, later, "the order is kept")
		}
		locktest.Unlock(t, hold)
	}
	mustBeFree(t, there)
}

var faultChildren = redistest.Children{"holder": holder}

// holder holds a fair lock until it is told to unlock, and says whether it
// trusts its hold whenever it is asked.
func holder(p *redistest.Parent) {
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{os.Getenv("FAIR_ADDR")}, DisableCache: true},
		rueidisson.WithWatchdogTimeout(4*time.Second))
	if err != nil {
		p.Say("failed: %v", err)
		os.Exit(1)
	}
	hold, err := c.FairLock(os.Getenv("FAIR_NAME")).Lock(context.Background())
	p.Say("held: %v", err)
	work := hold.Context(context.Background())
	for {
		if _, ok := p.Hear(); !ok {
			return
		}
		p.Say("trusts: %v, %v", hold.Err(), context.Cause(work))
		p.Say("unlocked: %v", hold.Unlock(context.Background()))
	}
}

// A holder that was stopped past its lease knows at once that another may hold
// the lock, and its late unlock harms nobody.
func TestAStoppedHolderHasLostTheLock(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	child := redistest.StartChild(t, "holder", "FAIR_ADDR="+server.Addr(), "FAIR_NAME="+name)
	require.Equal(t, "held: <nil>", child.Next())
	l := locktest.Open(t, server.Addr()).FairLock(name)
	waited := lockLater(t.Context(), l)
	awaitQueue(t, l, 1)
	child.Stop()
	next := got(t, waited)
	child.Cont()
	child.Send("ask")
	assert.Contains(t, child.Await("trusts: "), "hold was lost")
	assert.Contains(t, child.Await("unlocked: "), "hold was lost")
	require.NoError(t, next.Extend(t.Context(), time.Minute))
	locktest.Unlock(t, next)
	mustBeFree(t, l)
}

// When the server falls silent, the hold ends before its key does.
func TestAHoldEndsBeforeItsKey(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	proxy := redistest.NewProxy(t, server.Addr())
	hold := locktest.Take(t, locktest.Open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(3*time.Second)).FairLock(name))
	work := hold.Context(t.Context())
	direct := server.Client(t)
	proxy.BlackHole()
	at, err := direct.Do(t.Context(), direct.B().Pexpiretime().Key(name).Build()).AsInt64() // nothing moves it any more
	require.NoError(t, err)
	var stood time.Time
	for asked := time.Now(); hold.Err() == nil || work.Err() == nil; asked = time.Now() {
		stood = asked
		time.Sleep(time.Millisecond)
	}
	require.True(t, stood.Before(time.UnixMilli(at)), "it was trusted when the server had given the lock away")
	require.ErrorIs(t, context.Cause(work), lock.ErrLost)
	proxy.Restore()
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
}
