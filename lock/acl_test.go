package lock_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// ruled is a client under the user that docs/redis.md sets up, behind a proxy. It
// asks the server at the end of the test what that was denied.
func ruled(t *testing.T, opts ...rueidisson.Option) (c *rueidisson.Client, server *redistest.Server, proxy *redistest.Proxy) {
	t.Helper()
	server = redistest.Start(t)
	user := redistest.UserOn(t, server, "../docs/redis.md")
	proxy = redistest.NewProxy(t, server.Addr())
	option := user.Option()
	option.InitAddress = []string{proxy.Addr()}
	c, err := rueidisson.New(option, append(opts, rueidisson.WithWatchdogTimeout(6*time.Second))...)
	require.NoError(t, err)
	t.Cleanup(func() { user.NothingDenied(t) })
	t.Cleanup(func() { locktest.Close(c) })
	return c, server, proxy
}

func TestTheACLOfTheDocsDeniesNothingThatIsNeeded(t *testing.T) {
	t.Parallel()
	c, server, proxy := ruled(t)
	l := c.Lock("orders:1")

	lost := proxy.DropReply(redistest.MatchScript(body(t, "acquire")), 1)
	hold, err := l.Lock(t.Context()) // and its unlock is a give-back, with a tombstone
	require.NoError(t, err)
	lost.Await(t)
	require.NoError(t, hold.Unlock(t.Context()))
	hold, err = l.Lock(t.Context()) // past the tombstone
	require.NoError(t, err)
	require.NoError(t, hold.Extend(t.Context(), 8*time.Second))
	waited := make(chan error, 1)
	other := locktest.Open(t, server.Addr()).Lock("orders:1")
	token, err := hold.Token(t.Context())
	require.NoError(t, err)
	joined, err := l.Join(t.Context(), token)
	require.NoError(t, err)
	_, err = l.Holder(t.Context())
	require.NoError(t, err)
	require.NoError(t, joined.Unlock(t.Context()))
	require.NoError(t, hold.Unlock(t.Context()))

	held, err := other.Lock(t.Context())
	require.NoError(t, err)
	go func() { // ends with the unlock below
		mine, err := l.Lock(t.Context())
		if err == nil {
			err = mine.Unlock(t.Context())
		}
		waited <- err
	}()
	require.Eventually(t, func() bool {
		n, err := l.Waiting(t.Context())
		return err == nil && n == 1
	}, redistest.Soon, 5*time.Millisecond)
	require.NoError(t, held.Unlock(t.Context()))
	require.NoError(t, <-waited)
	_, err = l.ForceUnlock(t.Context())
	require.NoError(t, err)
}

// A connection that nobody listens on any more goes back to its pool: rueidis ends subscriptions of every kind there.
func TestTheACLOfTheDocsDeniesNothingThatGivingAConnectionBackNeeds(t *testing.T) {
	t.Parallel()
	c, server, proxy := ruled(t)
	other := locktest.Open(t, server.Addr()).Lock("orders:1")
	held := acquire(t, other)
	waiting := lockLater(t, c.Lock("orders:1"))
	redistest.Eventually(t, func() bool {
		n, err := other.Waiting(t.Context())
		return err == nil && n == 1
	}, redistest.Soon, 5*time.Millisecond)
	mustUnlock(t, held)
	mine, err := waiting.result(t)
	require.NoError(t, err)
	mustUnlock(t, mine)
	left := redistest.Command("SUNSUBSCRIBE")
	redistest.Eventually(t, func() bool { return proxy.Count(left) > 0 }, redistest.Soon, 5*time.Millisecond)
}

func TestTheACLOfTheDocsDeniesNothingThatFencesNeed(t *testing.T) {
	t.Parallel()
	c, server, proxy := ruled(t, generous)
	for i, script := range []string{"acquire_fenced", "reserve", "guard_set", "guard_hset", "release"} {
		name := "orders:" + strconv.Itoa(i)
		l, g, h := c.FencedLock(name), c.FenceGuard("orders:value:"+name, name), c.FenceGuard("orders:hash:"+name, name)
		lost := proxy.DropReply(redistest.MatchScript(body(t, script)), 1)
		for reserved := redistest.All(redistest.MatchScript(body(t, "reserve")), redistest.Arg(name)); proxy.Count(reserved) == 0; {
			hold := acquire(t, l)
			waiting := lockLater(t, l) // for which the hold takes a token more, if it comes before its time is over
			time.Sleep(5 * time.Millisecond)
			mustUnlock(t, hold)
			next, err := waiting.result(t)
			require.NoError(t, err)
			mustUnlock(t, next)
		}
		hold := acquire(t, l)
		token, ok := hold.Fence()
		require.True(t, ok)
		require.NoError(t, g.Set(t.Context(), token, "v"))
		require.NoError(t, h.HSet(t.Context(), token, map[string]string{"f": "v"}))
		require.ErrorIs(t, g.Set(t.Context(), tokenOf(t, name, 1), "v"), lock.ErrStale)
		exported, err := hold.Token(t.Context())
		require.NoError(t, err)
		joined, err := l.Join(t.Context(), exported)
		require.NoError(t, err)
		mustUnlock(t, joined)
		mustUnlock(t, hold)
		held := acquire(t, locktest.Open(t, server.Addr()).FencedLock(name))
		_, err = l.TryLock(t.Context())
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		_, err = l.ForceUnlock(t.Context())
		require.NoError(t, err)
		_ = held.Unlock(t.Context())
		mustUnlock(t, acquire(t, l)) // past a tombstone, if the acquire's reply was lost
		lost.Await(t)
	}
}
