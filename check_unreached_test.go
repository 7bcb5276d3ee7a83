package rueidisson_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// saysUnreached looks at each error of a check: it says that the server was not reached, names it, and knows its outcome.
func saysUnreached(t *testing.T, err error, addr string, errs int) {
	t.Helper()
	var found *rueidisson.CheckError
	require.ErrorAs(t, err, &found)
	all := []error{found.Settings}
	joined, is := found.Objects.(interface{ Unwrap() []error })
	require.True(t, is, "%v", found.Objects)
	all = append(all, joined.Unwrap()...)
	require.Len(t, all, errs)
	for _, one := range all {
		assert.ErrorIs(t, one, rueidisson.ErrUnreached)
		assert.ErrorContains(t, one, addr)
		assert.NotErrorIs(t, one, rueidisson.ErrOutcomeUnknown)
	}
}

// TestCheckNamesTheServerThatIsNotReached in the error of each object and in that of the settings.
// A check only reads, so that its outcome is never unknown.
func TestCheckNamesTheServerThatIsNotReached(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	c := waiterClient(t, proxy.Addr())
	name := redistest.Name(t)
	objects := []rueidisson.Checker{c.Lock(name + "1"), c.FairLock(name + "2"), c.RateLimiter(name + "3"), c.Semaphore(name + "4")}
	away := map[string]func(){
		"silent":  proxy.BlackHole,
		"refused": func() { proxy.Refuse(); proxy.CutAll() },
	}
	for how, goes := range away {
		require.NoError(t, errors.Join(objectsOf(c.Check(t.Context(), objects...))), how)
		goes()
		for _, patience := range []time.Duration{redistest.Scaled(500 * time.Millisecond), time.Hour} {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			err := c.Check(ctx, objects...)
			saysUnreached(t, err, proxy.Addr(), 1+len(objects))
			require.Equal(t, ctx.Err() != nil, patience < time.Hour && errors.Is(err, context.DeadlineExceeded), how)
			cancel()
		}
		proxy.Restore()
		proxy.Accept()
		redistest.Eventually(t, func() bool { return objectsOf(c.Check(t.Context(), objects...)) == nil }, redistest.Soon, 10*time.Millisecond)
	}
}

// TestCheckThatIsCancelled at once says so, and nothing of a server that had no time to answer.
func TestCheckThatIsCancelled(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	c := waiterClient(t, proxy.Addr())
	proxy.BlackHole()
	defer proxy.Restore()
	ctx, cancel := context.WithCancel(t.Context())
	defer time.AfterFunc(20*time.Millisecond, cancel).Stop()
	err := c.Check(ctx, c.Lock(redistest.Name(t)))
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, rueidisson.ErrUnreached)
}

// TestCheckOnAClusterNamesTheMasterThatIsAway, and finds nothing wrong with an object of another one.
func TestCheckOnAClusterNamesTheMasterThatIsAway(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	c := connected(t, cluster.Client(t))
	require.NoError(t, objectsOf(c.Check(t.Context(), c.Lock("a"), c.Lock("b"))))
	master := cluster.Master("a")
	other := "b"
	for cluster.Master(other).Addr() == master.Addr() {
		other += "b"
	}
	master.Pause()
	defer master.Resume()
	ctx, cancel := context.WithTimeout(t.Context(), redistest.Scaled(2*time.Second))
	defer cancel()
	err := c.Check(ctx, c.Lock("a"), c.Lock(other))
	saysUnreached(t, err, master.Addr(), 2)

	redistest.Do(t, cluster.Master(other).Client(t), "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	err = c.Check(t.Context())
	require.ErrorIs(t, err, rueidisson.ErrUnreached)
	require.ErrorIs(t, err, rueidisson.ErrSettings, "the silence of one master hides nothing of another")
	require.ErrorContains(t, err, "allkeys-lru")
}

// objectsOf returns what a check has found of objects.
func objectsOf(err error) error {
	var found *rueidisson.CheckError
	if errors.As(err, &found) {
		return found.Objects
	}
	return err
}

// TestCheckOfASettingThatIsNotAnswered is an error: the policy that the server does not tell may be one that evicts.
func TestCheckOfASettingThatIsNotAnswered(t *testing.T) {
	t.Parallel()
	redistest.OnStarted(t, func(t *testing.T, server *redistest.Server) {
		admin := server.Client(t)
		redistest.Do(t, admin, "ACL", "SETUSER", "orders", "on", ">password", "+@all", "-info", "~*", "&*")
		redistest.Do(t, admin, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
		raw, proxy := redistest.ThroughProxy(t, server, func(o *rueidis.ClientOption) { o.Username, o.Password = "orders", "password" })
		c := connected(t, raw)
		require.ErrorIs(t, c.Check(t.Context()), rueidisson.ErrSettings)
		lost := proxy.DropReply(redistest.Command("CONFIG"), 100, redistest.Silent())
		defer lost.Cancel()
		ctx, cancel := context.WithTimeout(t.Context(), redistest.Scaled(time.Second))
		defer cancel()
		err := c.Check(ctx)
		require.ErrorIs(t, err, rueidisson.ErrUnreached)
		require.NotZero(t, lost.Dropped())
	})
}
