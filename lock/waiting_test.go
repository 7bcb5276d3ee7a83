package lock_test

import (
	"context"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// waitingChildren are the processes of the tests of waiting and of taking turns.
var waitingChildren = redistest.Children{
	"waiting-holder": holdForEver,
	"taking-turns":   takeTurns,
}

// deadLease is the lease of the process that dies.
const deadLease = 2 * time.Second

// holdForEver takes the lock, says so, and keeps it until it is killed.
func holdForEver(p *redistest.Parent) {
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{os.Getenv("REDIS")}, DisableCache: true},
		rueidisson.WithWatchdogTimeout(deadLease))
	if err == nil {
		_, err = c.Lock(os.Getenv("NAME")).Lock(context.Background())
	}
	if err != nil {
		p.Say("failed: %v", err)
		return
	}
	p.Say("holding")
	p.Hear()
}

const (
	// longestNap is the cap of a sleep, shortestNap its jittered lower
	// bound: whoever is served before it was not served by it.
	longestNap  = 5 * time.Second
	shortestNap = longestNap * 9 / 10
	glance      = 5 * time.Millisecond
)

// patience is for events that come at once on an idle machine.
var patience = redistest.Soon

// naps is how many sleeps may have come to their cap since then: none, unless
// the machine is slow.
func naps(since time.Time) int { return int(time.Since(since) / shortestNap) }

// tapped is a client whose words to the server can be counted.
type tapped struct {
	*rueidisson.Client
	proxy *redistest.Proxy
	seen  *recorder
}

// tap opens a client behind a proxy of its own. The server has met every
// script when it returns, so that each call is one command.
func tap(t testing.TB, addr string, opts ...rueidisson.Option) tapped {
	t.Helper()
	c := tapped{proxy: redistest.NewProxy(t, addr), seen: newRecorder()}
	c.Client = locktest.Open(t, c.proxy.Addr(), append(opts, rueidisson.WithObserver(c.seen))...)
	warmUp(t, c.Client)
	c.proxy.AwaitCount(t, redistest.Command("DEL"), 1) // the latch of the exported hold goes in the background
	c.reset()
	return c
}

// reset forgets what the client has said and seen so far.
func (c tapped) reset() {
	c.proxy.ResetLog()
	c.seen.reset()
}

func warmUp(t testing.TB, c *rueidisson.Client) {
	t.Helper()
	l := c.Lock(redistest.Name(t))
	for _, export := range []bool{false, true} {
		hold := mustLock(t, l)
		if export {
			_, err := hold.Token(t.Context())
			require.NoError(t, err)
		}
		require.NoError(t, hold.Extend(t.Context(), time.Hour))
		mustUnlock(t, hold)
	}
	_, err := l.ForceUnlock(t.Context())
	require.NoError(t, err)
	_, err = l.Holder(t.Context())
	require.NoError(t, err)
}

// calls is how often the client asked for the script of that name.
func (c tapped) calls(t testing.TB, script string) int {
	t.Helper()
	return c.proxy.Count(scriptNamed(t, script))
}

// scriptNamed matches the calls of one script of this package.
func scriptNamed(t testing.TB, name string) redistest.Match {
	t.Helper()
	file := "lua/" + name + ".lua"
	if name == "renew" {
		file = "../internal/lease/" + file
	}
	body, err := os.ReadFile(file)
	require.NoError(t, err)
	return redistest.MatchScript(string(body))
}

func mustLock(t testing.TB, l *lock.Lock, opts ...lock.LockOption) *lock.Hold {
	t.Helper()
	hold, err := l.Lock(t.Context(), opts...)
	require.NoError(t, err)
	return hold
}

func mustUnlock(t testing.TB, hold *lock.Hold) {
	t.Helper()
	require.NoError(t, hold.Unlock(t.Context()))
}

// result is how a wait ended, and when.
type result struct {
	hold *lock.Hold
	err  error
	at   time.Time
}

// await fails the test if the wait does not end within patience.
func await(t testing.TB, waiting <-chan result) result {
	t.Helper()
	select {
	case r := <-waiting:
		return r
	case <-time.After(patience):
		buf := make([]byte, 1<<20)
		t.Fatalf("a wait did not end within %v\n%s", patience, buf[:runtime.Stack(buf, true)])
		return result{}
	}
}

// arrival is a context that tells when its owner begins to wait on it: that is
// when Done is asked for, behind its place in the queue.
type arrival struct {
	context.Context
	once    sync.Once
	arrived chan struct{}
}

func (a *arrival) Done() <-chan struct{} {
	a.once.Do(func() { close(a.arrived) })
	return a.Context.Done()
}

// queue starts a Lock behind a holder or waiter of the same client, and
// returns when it stands in the queue.
func queue(ctx context.Context, l *lock.Lock, opts ...lock.LockOption) <-chan result {
	a := &arrival{Context: ctx, arrived: make(chan struct{})}
	out := start(a, l, opts...)
	<-a.arrived
	return out
}

// start runs a Lock; it ends with the lock or with ctx.
func start(ctx context.Context, l *lock.Lock, opts ...lock.LockOption) <-chan result {
	return startMany(ctx, l, 1, opts...)
}

// startMany runs n of them; who of them is served comes first.
func startMany(ctx context.Context, l *lock.Lock, n int, opts ...lock.LockOption) <-chan result {
	out := make(chan result, n)
	for range n {
		go func() {
			hold, err := l.Lock(ctx, opts...)
			out <- result{hold, err, time.Now()}
		}()
	}
	return out
}

// listeners is how many connections are subscribed to the lock's channel.
func listeners(t testing.TB, raw rueidis.Client, name string) int64 {
	t.Helper()
	reply, err := raw.Do(context.Background(), raw.B().PubsubNumsub().Channel(keys.LockChannel(name)).Build()).ToArray()
	require.NoError(t, err)
	require.Len(t, reply, 2)
	n, err := reply[1].AsInt64()
	require.NoError(t, err)
	return n
}

func awaitListeners(t testing.TB, raw rueidis.Client, name string, want int64) {
	t.Helper()
	redistest.Eventually(t, func() bool { return listeners(t, raw, name) == want }, patience, glance,
		"%d connections should listen", want)
}

// awaitAsleep returns when the client's head waits: it has tried, subscribed
// and been told again that the lock is held.
func awaitAsleep(t testing.TB, c tapped) {
	t.Helper()
	c.seen.await(t, "script acquire", 2)
}

func exists(t testing.TB, raw rueidis.Client, name string) bool {
	t.Helper()
	n, err := raw.Do(context.Background(), raw.B().Exists().Key(name).Build()).AsInt64()
	require.NoError(t, err)
	return n == 1
}

// plant makes somebody hold the lock who will never announce a release.
func plant(t testing.TB, raw rueidis.Client, name string, lease time.Duration) {
	t.Helper()
	require.NoError(t, raw.Do(t.Context(), raw.B().Hset().Key(name).FieldValue().FieldValue("somebody:1", "1").Build()).Error())
	if lease > 0 {
		require.NoError(t, raw.Do(t.Context(), raw.B().Pexpire().Key(name).Milliseconds(lease.Milliseconds()).Build()).Error())
	}
}

func del(t testing.TB, raw rueidis.Client, name string) {
	t.Helper()
	require.NoError(t, raw.Do(t.Context(), raw.B().Del().Key(name).Build()).Error())
}

func TestWaitersAskNothingUntilTheReleaseWakesThem(t *testing.T) {
	t.Parallel()
	redistest.Within(t, shortestNap, func() time.Duration { // it was the message that woke them, not the cap
		longest := time.Duration(0)
		server := redistest.Start(t)
		holder, name := locktest.Open(t, server.Addr(), rueidisson.WithWatchdogTimeout(time.Hour)), redistest.Name(t)
		hold := mustLock(t, holder.Lock(name))
		const waiters = 5
		c := tap(t, server.Addr())
		began := time.Now()
		waiting := startMany(t.Context(), c.Lock(name), waiters)
		awaitAsleep(t, c)
		require.LessOrEqual(t, c.calls(t, "acquire"), 2+naps(began), "try, subscribe, try again, for all of them")
		require.Equal(t, 1, c.proxy.Count(redistest.Command("SUBSCRIBE")))

		server.ResetStats()
		<-time.After(3 * time.Second) // what is tested is that nothing happens
		calls := server.ScriptCalls(t)
		require.LessOrEqual(t, calls, int64(naps(began)), "waiting is not polling")

		began = time.Now() // and the next sleep begins after it
		c.seen.await(t, "script acquire", c.seen.count("script acquire")+1)
		mustUnlock(t, hold)
		for range waiters {
			r := await(t, waiting)
			require.NoError(t, r.err)
			mustUnlock(t, r.hold)
			longest = max(longest, r.at.Sub(began))
		}
		return longest
	})
}

func TestOneReleaseCostsOneCallPerWaitingProcess(t *testing.T) {
	for _, handover := range []struct {
		name string
		opts []rueidisson.Option
	}{
		{"with hand-over", nil},
		{"without hand-over", []rueidisson.Option{rueidisson.WithHandover(0, 0)}},
	} {
		t.Run(handover.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			name := redistest.Name(t)
			hold := mustLock(t, locktest.Open(t, server.Addr()).Lock(name))
			const clients, waiters = 3, 10
			began := time.Now()
			var taps []tapped
			got := make(chan result, clients*waiters)
			var merging sync.WaitGroup
			defer merging.Wait()
			for range clients {
				c := tap(t, server.Addr(), handover.opts...)
				taps = append(taps, c)
				waiting := startMany(t.Context(), c.Lock(name), waiters)
				merging.Go(func() { // every wait ends with the lock, or with the test
					for range waiters {
						got <- <-waiting
					}
				})
				awaitAsleep(t, c)
			}
			for _, c := range taps {
				c.reset()
			}
			mustUnlock(t, hold)
			first := await(t, got)
			require.NoError(t, first.err)
			releases, tries := 1, 0
			for range clients*waiters - 1 {
				mustUnlock(t, first.hold)
				first = await(t, got)
				require.NoError(t, first.err)
			}
			mustUnlock(t, first.hold)
			for _, c := range taps {
				releases += c.calls(t, "release")
				tries += c.calls(t, "acquire")
			}
			t.Logf("%d acquisitions, %d releases on the server, %d tries", clients*waiters, releases, tries)
			require.LessOrEqual(t, tries, clients*(releases+naps(began)), "one try per release and waiting process")
		})
	}
}

func TestAReleaseThatEverybodyMissesWakesEachProcessOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw, name := server.Client(t), redistest.Name(t)
	hold := mustLock(t, locktest.Open(t, server.Addr()).Lock(name))
	const clients, waiters = 3, 10
	began := time.Now()
	var taps []tapped
	for range clients {
		c := tap(t, server.Addr())
		taps = append(taps, c)
		startMany(t.Context(), c.Lock(name), waiters)
		awaitAsleep(t, c)
	}
	for _, c := range taps {
		c.reset()
	}
	// Somebody else is quicker than all of them: the lock changes hands, and
	// the message goes out.
	swap := raw.B().Eval().Script(`redis.call('del', KEYS[1]) redis.call('hset', KEYS[1], 'somebody:1', 1)
		return redis.call('publish', KEYS[2], '0')`).Numkeys(2).Key(name, keys.LockChannel(name)).Build()
	reached, err := raw.Do(t.Context(), swap).AsInt64()
	require.NoError(t, err)
	require.EqualValues(t, clients, reached, "one subscription per process")
	for _, c := range taps {
		c.seen.await(t, "script acquire", 1)
	}
	// A second message comes behind the first: what it adds is all there is.
	require.NoError(t, raw.Do(t.Context(), raw.B().Publish().Channel(keys.LockChannel(name)).Message("0").Build()).Error())
	for _, c := range taps {
		c.seen.await(t, "script acquire", 2)
		require.LessOrEqual(t, c.calls(t, "acquire"), 2+naps(began))
	}
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
}

func TestALostMessageCostsAtMostTheCap(t *testing.T) {
	t.Parallel()
	redistest.Within(t, 2*longestNap, func() time.Duration {
		server := redistest.Shared(t)
		raw, name := server.Client(t), redistest.Name(t)
		plant(t, raw, name, time.Hour)
		c := tap(t, server.Addr())
		began := time.Now()
		waiting := start(t.Context(), c.Lock(name))
		awaitAsleep(t, c)
		del(t, raw, name) // says nothing
		before, deleted := naps(began), time.Now()
		r := await(t, waiting)
		require.NoError(t, r.err)
		mustUnlock(t, r.hold)
		took := r.at.Sub(deleted)
		require.LessOrEqual(t, c.calls(t, "acquire"), 3+before, "one more try, at the cap")
		return took
	})
}

func TestAKeyWithoutALeaseDoesNotMakeWaitersSleepForEver(t *testing.T) {
	t.Parallel()
	redistest.Within(t, 2*longestNap, func() time.Duration {
		server := redistest.Shared(t)
		raw, name := server.Client(t), redistest.Name(t)
		plant(t, raw, name, 0)
		c := tap(t, server.Addr())
		began := time.Now()
		waiting := start(t.Context(), c.Lock(name))
		awaitAsleep(t, c)
		del(t, raw, name)
		before, deleted := naps(began), time.Now()
		r := await(t, waiting)
		require.NoError(t, r.err)
		mustUnlock(t, r.hold)
		took := r.at.Sub(deleted)
		require.LessOrEqual(t, c.calls(t, "acquire"), 3+before)
		return took
	})
}

func TestASubscriptionThatFellSilentCostsAtMostTheCap(t *testing.T) {
	t.Parallel()
	redistest.Within(t, 2*longestNap, func() time.Duration {
		server := redistest.Shared(t)
		name := redistest.Name(t)
		hold := mustLock(t, locktest.Open(t, server.Addr()).Lock(name))
		c := tap(t, server.Addr())
		waiting := start(t.Context(), c.Lock(name))
		awaitAsleep(t, c)
		require.Equal(t, 1, c.proxy.BlackHoleConns(c.proxy.LastCarrier(redistest.Command("SUBSCRIBE"))))
		began := time.Now()
		mustUnlock(t, hold)
		r := await(t, waiting)
		require.NoError(t, r.err)
		took := r.at.Sub(began)
		mustUnlock(t, r.hold)
		return took
	})
}

func TestAReconnectTriesAgainAtOnce(t *testing.T) {
	t.Parallel()
	redistest.Within(t, shortestNap, func() time.Duration { // it did not sleep on to the cap
		server := redistest.Shared(t)
		raw, name := server.Client(t), redistest.Name(t)
		plant(t, raw, name, time.Hour)
		c := tap(t, server.Addr())
		began := time.Now()
		waiting := start(t.Context(), c.Lock(name))
		awaitAsleep(t, c)
		c.proxy.Refuse()
		c.proxy.CutAll()
		del(t, raw, name) // the message that nobody would have heard is not even sent
		c.proxy.Accept()
		r := await(t, waiting)
		require.NoError(t, r.err)
		took := r.at.Sub(began)
		mustUnlock(t, r.hold)
		require.GreaterOrEqual(t, c.proxy.Count(redistest.Command("SUBSCRIBE")), 2)
		return took
	})
}

func TestAWaitOutlastsARestartOfTheServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw, name := server.Client(t), redistest.Name(t)
	plant(t, raw, name, time.Hour)
	c := tap(t, server.Addr())
	waiting := start(t.Context(), c.Lock(name))
	awaitAsleep(t, c)
	server.Restart() // without persistence: the lock is gone, and nobody says so
	r := await(t, waiting)
	require.NoError(t, r.err)
	mustUnlock(t, r.hold)
}

func TestAWaiterGetsTheLockOfADeadProcessWhenItsLeaseEnds(t *testing.T) {
	t.Parallel()
	redistest.Within(t, shortestNap, func() time.Duration { // the end of the lease woke it, not the cap
		server, name := redistest.Shared(t), redistest.Name(t)
		c := tap(t, server.Addr()) // which takes time: not during the lease of the child
		child := redistest.StartChild(t, "waiting-holder", "REDIS="+server.Addr(), "NAME="+name)
		child.Await("holding")
		began := time.Now()
		waiting := start(t.Context(), c.Lock(name))
		awaitAsleep(t, c)
		child.Kill()
		died := time.Now()
		r := await(t, waiting)
		require.NoError(t, r.err)
		took := r.at.Sub(died)
		mustUnlock(t, r.hold)
		// It wakes when the lease that it saw would have ended, of which a third at
		// most had gone, and sees the renewal that came between; never periodically.
		require.LessOrEqual(t, c.calls(t, "acquire"), 4+int(time.Since(began)/(deadLease*2/3)))
		return took
	})
}

func TestAWaiterSleepsNoLongerThanAFixedLease(t *testing.T) {
	t.Parallel()
	redistest.Within(t, shortestNap, func() time.Duration {
		server := redistest.Shared(t)
		name := redistest.Name(t)
		const lease = 600 * time.Millisecond
		began := time.Now()
		hold := mustLock(t, locktest.Open(t, server.Addr()).Lock(name), lock.WithLease(lease))
		c := tap(t, server.Addr())
		r := await(t, start(t.Context(), c.Lock(name)))
		require.NoError(t, r.err)
		require.GreaterOrEqual(t, r.at.Sub(began), lease, "the server's lease runs from after the call began")
		took := r.at.Sub(began)
		require.ErrorIs(t, hold.Err(), lock.ErrLost)
		mustUnlock(t, r.hold)
		require.LessOrEqual(t, c.calls(t, "acquire"), 4)
		return took
	})
}

func TestWaitersOfOneProcessShareOneSubscription(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw, name := server.Client(t), redistest.Name(t)
	hold := mustLock(t, locktest.Open(t, server.Addr()).Lock(name))
	c := tap(t, server.Addr())
	const waiters = 50
	waiting := startMany(t.Context(), c.Lock(name), waiters)
	awaitAsleep(t, c)
	require.EqualValues(t, 1, listeners(t, raw, name))
	mustUnlock(t, hold)
	for range waiters {
		r := await(t, waiting)
		require.NoError(t, r.err)
		mustUnlock(t, r.hold)
	}
	require.Equal(t, 1, c.proxy.Count(redistest.Command("SUBSCRIBE")), "it lingers from one waiter to the next")
	awaitListeners(t, raw, name, 0)
}

func TestAKeyOfAnotherTypeIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw, name := server.Client(t), redistest.Name(t)
	require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(name).Value("x").Build()).Error())
	c := tap(t, server.Addr())
	_, err := c.Lock(name).Lock(t.Context())
	require.Error(t, err)
	require.Contains(t, err.Error(), "WRONGTYPE")
	require.True(t, strings.Contains(err.Error(), name), "names the lock: %v", err)
	require.Equal(t, 1, c.calls(t, "acquire"))
}
