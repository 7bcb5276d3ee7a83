package lock_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/watchdog"
	"github.com/rueidisson/rueidisson/lock"
)

var failClosedChildren = redistest.Children{"spinner": spinner}

// soon bounds what has to happen, on a machine however slow.
var soon = redistest.Soon

func isDone(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// keyLeft is the time to live that the server gives the key now; at most 0 if
// it is gone.
func keyLeft(t testing.TB, c rueidis.CoreClient, key string) time.Duration {
	t.Helper()
	left, err := c.Do(context.Background(), c.B().Pttl().Key(key).Build()).AsInt64()
	require.NoError(t, err)
	return time.Duration(left) * time.Millisecond
}

// keyExpiry is when the server expires the key.
func keyExpiry(t testing.TB, c rueidis.CoreClient, key string) time.Time {
	t.Helper()
	at, err := c.Do(context.Background(), c.B().Pexpiretime().Key(key).Build()).AsInt64()
	require.NoError(t, err)
	return time.UnixMilli(at)
}

// ownersOf are the owners that the server knows.
func ownersOf(t testing.TB, c rueidis.CoreClient, key string) []string {
	t.Helper()
	owners, err := c.Do(context.Background(), c.B().Hkeys().Key(key).Build()).AsStrSlice()
	require.NoError(t, err)
	return owners
}

// acquire takes a free lock.
func acquire(t testing.TB, l lock.Locker, opts ...lock.LockOption) *lock.Hold {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	hold, err := l.Lock(ctx, opts...)
	require.NoError(t, err)
	return hold
}

// renewals matches the watchdog's script.
func renewals(t testing.TB) redistest.Match {
	t.Helper()
	body, err := os.ReadFile("../internal/lease/lua/renew.lua")
	require.NoError(t, err)
	return redistest.MatchScript(string(body))
}

func TestAHoldEndsBeforeItsKeyWhenTheServerFallsSilent(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		watchdog time.Duration
		lease    time.Duration // 0: watchdog
		kind     string
	}{
		"watchdog of 3 s":    {watchdog: 3 * time.Second},
		"fenced":             {watchdog: 3 * time.Second, kind: "fenced"},
		"watchdog of 5 s":    {watchdog: 5 * time.Second},
		"fixed lease of 3 s": {watchdog: 30 * time.Second, lease: 3 * time.Second},
		"fixed lease of 4 s": {watchdog: 3 * time.Second, lease: 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			direct, proxy := server.Client(t), redistest.NewProxy(t, server.Addr())
			c := locktest.Open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(of.watchdog))
			l := kinds[cmp.Or(of.kind, "lock")](c, redistest.Name(t))
			hold := lockFor(t, l, of.lease)
			if of.lease == 0 {
				proxy.AwaitCount(t, renewals(t), 1)
			}
			work, warning := hold.Context(t.Context()), hold.Expiring()

			held := watchStalls(t)
			proxy.BlackHole()
			expiry := keyExpiry(t, direct, l.Name()) // nothing can move it any more
			trusted := locktest.LastTrust(hold, work)
			locktest.Ended(t, "the end of the hold", work.Done())
			left := time.Until(expiry)

			require.True(t, trusted().Before(expiry), "the hold was trusted when the server had given the lock away already")
			require.True(t, left > 0 || held() > cmp.Or(of.lease, of.watchdog)/80, "%v: the context ended when the server had given the lock away already", left)
			t.Logf("the hold ended %v before its key, which had %v by the server's word", left, keyLeft(t, direct, l.Name()))
			require.ErrorIs(t, context.Cause(work), lock.ErrLost)
			require.ErrorIs(t, context.Cause(work), watchdog.ErrRanOut)
			require.ErrorIs(t, hold.Err(), lock.ErrLost)
			locktest.Ended(t, "Lost", hold.Lost())
			require.Equal(t, of.lease == 0, isDone(warning), "a warning comes before the loss of a renewed hold, and of no other")
			proxy.Restore()
			require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
		})
	}
}

// lockFor takes the lock with a fixed lease, or with the watchdog's for 0.
func lockFor(t testing.TB, l lock.Locker, lease time.Duration) *lock.Hold {
	t.Helper()
	if lease == 0 {
		return acquire(t, l)
	}
	return acquire(t, l, lock.WithLease(lease))
}

func TestAHoldIsStillTrustedWhenItWarns(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	hold := acquire(t, locktest.Open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(15*time.Second)).Lock(redistest.Name(t)))
	warning := hold.Expiring()
	require.False(t, isDone(warning))

	proxy.BlackHole()
	locktest.Ended(t, "the warning", warning)
	require.NoError(t, hold.Err())
	require.True(t, isDone(hold.Expiring()), "while the trouble lasts every call says so")

	proxy.Restore()
	require.Eventually(t, func() bool { return !isDone(hold.Expiring()) }, soon, 5*time.Millisecond, "renewals get through again")
	require.NoError(t, hold.Err())
	require.NoError(t, hold.Unlock(t.Context()))
}

// silentLease leaves a busy machine time for the renewal behind a silent one.
const silentLease = 10 * time.Second

// constructors are the ways to a client whose connections may fall silent.
var constructors = map[string]func(t *testing.T, addr string) *rueidisson.Client{
	"New with ForceSingleClient": func(t *testing.T, addr string) *rueidisson.Client {
		return locktest.Open(t, addr, rueidisson.WithWatchdogTimeout(silentLease))
	},
	"New without ForceSingleClient": func(t *testing.T, addr string) *rueidisson.Client {
		return locktest.Connected(t, rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true}, rueidisson.WithWatchdogTimeout(silentLease))
	},
	"Wrap of a client with default timeouts": func(t *testing.T, addr string) *rueidisson.Client {
		inner, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
		require.NoError(t, err)
		t.Cleanup(inner.Close)
		c, err := rueidisson.Wrap(inner, rueidisson.WithWatchdogTimeout(silentLease))
		require.NoError(t, err)
		t.Cleanup(func() { locktest.Close(c) })
		return c
	},
}

// survivor is a hold whose client loses one connection after the other.
type survivor struct {
	*lock.Hold
	proxy *redistest.Proxy
	name  string
	key   string
	work  context.Context
	lease time.Duration
}

// The clients are watched side by side, since all that it takes is time.
func TestAHoldOutlivesASilentConnection(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	direct := server.Client(t)
	var all []survivor
	for name, connect := range constructors {
		proxy, key := redistest.NewProxy(t, server.Addr()), redistest.Name(t)
		hold := acquire(t, connect(t, proxy.Addr()).Lock(key))
		all = append(all, survivor{hold, proxy, name, key, hold.Context(t.Context()), keyLeft(t, direct, key)})
	}
	for _, s := range all {
		silence(t, s.proxy, redistest.AnyScript())
	}
	fell := time.Now()
	surviveFor(t, all, silentLease)
	for _, s := range all { // what served instead falls silent as well
		silence(t, s.proxy, renewals(t))
	}
	surviveFor(t, all, silentLease+time.Second)
	for _, s := range all {
		require.GreaterOrEqual(t, keyExpiry(t, direct, s.key).Sub(fell), 2*s.lease, "%s: renewals got through", s.name)
		require.NoError(t, s.Unlock(t.Context()), s.name)
		require.Empty(t, ownersOf(t, direct, s.key), s.name)
	}
}

// surviveFor watches holds not being lost for d.
func surviveFor(t testing.TB, all []survivor, d time.Duration) {
	t.Helper()
	<-time.After(d) // a hold that was lost meanwhile stays lost
	for _, s := range all {
		require.NoError(t, s.Err(), s.name)
		require.NoError(t, s.work.Err(), s.name)
	}
}

// silence swallows what is sent on the connection of the latest match.
func silence(t testing.TB, p *redistest.Proxy, m redistest.Match) {
	t.Helper()
	p.AwaitCount(t, m, 1)
	redistest.Eventually(t, func() bool { return p.BlackHoleConns(p.LastCarrier(m)) > 0 }, redistest.Soon, 10*time.Millisecond, "it was closed, and no other connection has carried one yet")
}

// stays watches a hold not being lost for d.
func stays(t testing.TB, hold *lock.Hold, work context.Context, d time.Duration) {
	t.Helper()
	select {
	case <-work.Done():
		t.Fatalf("the hold ended: %v", context.Cause(work))
	case <-time.After(d):
	}
	require.NoError(t, hold.Err())
	require.NoError(t, work.Err())
}

// kinds are the locks of this package.
var kinds = map[string]func(c *rueidisson.Client, name string) lock.Locker{
	"lock":   func(c *rueidisson.Client, name string) lock.Locker { return c.Lock(name) },
	"fenced": func(c *rueidisson.Client, name string) lock.Locker { return c.FencedLock(name) },
}

// spinner holds a lock and asks one check, over and over, whether it still
// does. It reports what it saw around the longest gap between two of them.
func spinner(p *redistest.Parent) {
	hold, check := spinnerHold(p)
	p.Say("held")
	p.Hear()
	var s spin
	s.pass(check) // the pause may come before the next one
	p.Say("spinning")
	for s.pass(check) {
	}
	p.Say("ended: %v, %d, %d, %d", check(), s.last.UnixNano(), s.late, s.took())
	p.Hear()
	p.Say("unlocked: %v", hold.Unlock(context.Background()))
}

func spinnerHold(p *redistest.Parent) (*lock.Hold, func() error) {
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{os.Getenv("SPIN_ADDR")}, DisableCache: true},
		rueidisson.WithWatchdogTimeout(time.Second))
	if err != nil {
		p.Say("failed: %v", err)
		os.Exit(1)
	}
	hold, err := kinds[cmp.Or(os.Getenv("SPIN_KIND"), "lock")](c, os.Getenv("SPIN_NAME")).Lock(context.Background())
	if err != nil {
		p.Say("failed: %v", err)
		os.Exit(1)
	}
	work := hold.Context(context.Background())
	derived, cancel := context.WithCancel(work)
	runtime.AddCleanup(hold, func(cancel context.CancelFunc) { cancel() }, cancel) // lives as long as the process
	return hold, map[string]func() error{
		"Hold.Err": hold.Err, "Context.Err": work.Err, "derived.Err": derived.Err,
	}[os.Getenv("SPIN_CHECK")]
}

// spin is a run of checks.
type spin struct {
	last time.Time     // when the last check that passed began
	gap  time.Duration // the longest between the starts of two checks
	back time.Time     // when the first check after it began
	late int           // how many passed since
}

// pass makes one check. A check begins before its clock is read, so one that
// passes and began after the pause has been answered after it.
func (s *spin) pass(check func() error) bool {
	now := time.Now()
	s.saw(now)
	if check() != nil {
		s.saw(time.Now()) // the pause may have come within the check
		return false
	}
	s.last = now
	s.late++
	return true
}

func (s *spin) saw(now time.Time) {
	if gap := now.Sub(s.last); !s.last.IsZero() && gap > s.gap {
		s.gap, s.back, s.late = gap, now, 0
	}
}

func (s *spin) took() time.Duration { return time.Since(s.back) }

func TestAPausedProcessFindsItsHoldLost(t *testing.T) {
	t.Parallel()
	for check, why := range map[string]string{
		"Hold.Err":    lock.ErrLost.Error(),
		"Context.Err": context.Canceled.Error(),
		"derived.Err": context.Canceled.Error(),
		"fenced":      lock.ErrLost.Error(),
	} {
		t.Run(check, func(t *testing.T) {
			t.Parallel()
			kind := "lock"
			if check == "fenced" {
				kind, check = "fenced", "Hold.Err"
			}
			server, name := redistest.Shared(t), redistest.Name(t)
			child := redistest.StartChild(t, "spinner", "SPIN_ADDR="+server.Addr(), "SPIN_NAME="+name, "SPIN_CHECK="+check, "SPIN_KIND="+kind)
			child.Await("held")
			second := kinds[kind](locktest.Open(t, server.Addr()), name)
			child.Send("spin")
			child.Await("spinning")

			child.Stop()
			stopped := time.Now()
			taken := acquire(t, second)
			child.Cont()

			saw := readSpin(t, child.Await("ended: "))
			require.Contains(t, saw.why, why)
			if check == "derived.Err" {
				t.Logf("%d checks of a derived context passed after the pause, within %v", saw.late, saw.took)
				require.Less(t, saw.took, 5*time.Second, "a derived context ends by itself")
			} else {
				require.True(t, saw.last.Before(stopped), "a check passed %v after the pause began", saw.last.Sub(stopped))
			}
			child.Send("unlock")
			require.Contains(t, child.Await("unlocked: "), lock.ErrLost.Error())
			require.NoError(t, taken.Err())
			require.Len(t, ownersOf(t, server.Client(t), name), 1, "the late unlock left the second owner alone")
			require.NoError(t, taken.Unlock(t.Context()))
		})
	}
}

// seen is what a spinner reported.
type seen struct {
	why  string
	last time.Time
	late int
	took time.Duration
}

func readSpin(t testing.TB, line string) (s seen) {
	t.Helper()
	why, numbers, ok := strings.Cut(strings.TrimPrefix(line, "ended: "), ", ")
	require.True(t, ok, line)
	s.why = why
	var last int64
	_, err := fmt.Sscanf(numbers, "%d, %d, %d", &last, &s.late, &s.took)
	require.NoError(t, err, line)
	s.last = time.Unix(0, last)
	return s
}

// durable are the settings of a server that knows after a restart what it knew
// before.
var durable = []redistest.Option{redistest.Config("appendonly", "yes"), redistest.Config("appendfsync", "always")}

func TestARestartThatRemembersLosesNoHold(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, durable...)
	c := locktest.Open(t, server.Addr(), rueidisson.WithWatchdogTimeout(18*time.Second)) // the restart takes a moment
	var holds []*lock.Hold
	for range 20 {
		holds = append(holds, acquire(t, c.Lock(redistest.Name(t))))
	}
	warning := holds[0].Expiring()

	server.Kill()
	locktest.Ended(t, "the warning that renewals fail", warning)
	server.Restart()

	require.Eventually(t, func() bool { return !isDone(holds[0].Expiring()) }, soon, 5*time.Millisecond, "a retry gets through")
	for _, hold := range holds {
		stays(t, hold, hold.Context(t.Context()), 0)
		require.NoError(t, hold.Unlock(t.Context()))
	}
}

func TestARestartThatForgetsIsALossAtTheNextRenewal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	hold := acquire(t, locktest.Open(t, server.Addr(), rueidisson.WithWatchdogTimeout(9*time.Second)).Lock(redistest.Name(t)))
	work := hold.Context(t.Context())
	server.Restart()

	locktest.Ended(t, "the loss", work.Done())
	require.ErrorIs(t, context.Cause(work), lock.ErrLost)
	require.ErrorIs(t, context.Cause(work), watchdog.ErrGone, "the server said so; the lease did not run out")
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
}

func TestAKeyOverwrittenUnderAHoldIsALoss(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	direct := server.Client(t)
	c := locktest.Open(t, server.Addr(), rueidisson.WithWatchdogTimeout(6*time.Second))
	bad, good := c.Lock(redistest.Name(t)), c.Lock(redistest.Name(t))
	hold, other := acquire(t, bad), acquire(t, good)
	work := hold.Context(t.Context())
	set(t, direct, bad.Name())

	locktest.Ended(t, "the loss", work.Done())
	require.ErrorIs(t, context.Cause(work), lock.ErrLost)
	require.ErrorIs(t, context.Cause(work), watchdog.ErrGone)
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
	require.NoError(t, other.Err(), "a hold of the same batch has nothing to do with it")
	require.NoError(t, other.Unlock(t.Context()))
	value, err := direct.Do(t.Context(), direct.B().Get().Key(bad.Name()).Build()).ToString()
	require.NoError(t, err)
	require.Equal(t, "data", value, "somebody's data is left alone")
}

// set makes the key a string, as another program would by mistake.
func set(t testing.TB, c rueidis.CoreClient, key string) {
	t.Helper()
	require.NoError(t, c.Do(t.Context(), c.B().Set().Key(key).Value("data").Build()).Error())
}

func TestEveryOperationReportsAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	direct, proxy := server.Client(t), redistest.NewProxy(t, server.Addr())
	l := locktest.Open(t, proxy.Addr()).Lock(redistest.Name(t))
	set(t, direct, l.Name())
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	for op, call := range map[string]func() error{
		"lock":         func() error { _, err := l.Lock(ctx); return err },
		"try lock":     func() error { _, err := l.TryLock(ctx, lock.WithWait(soon)); return err },
		"join":         func() error { _, err := l.Join(ctx, javaToken(t)); return err },
		"force unlock": func() error { _, err := l.ForceUnlock(ctx); return err },
		"inspect":      func() error { _, err := l.Holder(ctx); return err },
	} {
		proxy.ResetLog()
		err := call()
		require.ErrorContains(t, err, "WRONGTYPE", op)
		require.ErrorContains(t, err, op+` "`+l.Name()+`"`)
		require.NotErrorIs(t, err, lock.ErrOutcomeUnknown, op)
		assert.LessOrEqual(t, proxy.Count(redistest.AnyScript()), 2, "%s: EVALSHA, and EVAL the first time", op)
		assert.Zero(t, proxy.Count(redistest.Command("SUBSCRIBE")), "%s: nobody waits for a mistake to go away", op)
	}
}

func TestAWaiterWhoseKeyIsOverwrittenStopsWaiting(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	direct, name := server.Client(t), redistest.Name(t)
	holder := acquire(t, locktest.Open(t, server.Addr()).Lock(name))
	defer func() { _ = holder.Unlock(context.Background()) }()
	waiting := lockLater(t, locktest.Open(t, server.Addr()).Lock(name))
	awaitWaiters(t, locktest.Open(t, server.Addr()).Lock(name), 1)

	set(t, direct, name)
	publish := direct.B().Publish().Channel("redisson_lock__channel:{" + name + "}").Message("0").Build()
	require.NoError(t, direct.Do(t.Context(), publish).Error())
	_, err := waiting.result(t)
	require.ErrorContains(t, err, "WRONGTYPE")
	require.ErrorContains(t, err, name)
}

func javaToken(t testing.TB) lock.Token {
	t.Helper()
	token, err := lock.ParseToken("6f5c2ae5-5a3c-4d6e-9d36-0a4a0b2d8f11:42")
	require.NoError(t, err)
	return token
}

// later is a Lock that waits on a goroutine of its own.
type later struct {
	done chan struct{}
	hold *lock.Hold
	err  error
	at   time.Time // when it returned
}

func lockLater(t testing.TB, l lock.Locker, opts ...lock.LockOption) *later {
	w := &later{done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // ended by the cleanup
		defer close(w.done)
		w.hold, w.err = l.Lock(ctx, opts...)
		w.at = time.Now()
	}()
	t.Cleanup(func() {
		cancel()
		<-w.done
	})
	return w
}

func (w *later) result(t testing.TB) (*lock.Hold, error) {
	t.Helper()
	locktest.Ended(t, "the end of the wait", w.done)
	return w.hold, w.err
}

// awaitWaiters returns when n processes listen for the lock.
func awaitWaiters(t testing.TB, l *lock.Lock, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		waiting, err := l.Waiting(t.Context())
		return err == nil && waiting >= n
	}, soon, 2*time.Millisecond)
}
