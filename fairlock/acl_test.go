package fairlock_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// body is the text of a script as it is sent.
func body(t testing.TB, name string) string {
	t.Helper()
	text, err := scripts.Read(os.DirFS("lua"), name+".lua")
	require.NoError(t, err)
	return text
}

// TestTheACLOfTheDocsDeniesNothingThatIsNeeded runs what a client does under the
// user that docs/redis.md sets up, and asks the server what it denied.
func TestTheACLOfTheDocsDeniesNothingThatIsNeeded(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	user := redistest.UserOn(t, server, "../docs/redis.md")
	c, err := rueidisson.New(user.Option(), rueidisson.WithWatchdogTimeout(6*time.Second))
	require.NoError(t, err)
	t.Cleanup(func() { locktest.Close(c) })
	l, other := c.FairLock("orders:1"), locktest.Open(t, server.Addr()).FairLock("orders:1")
	const dead = "99999999-9999-4999-8999-999999999999:1" // a Java thread

	held, err := other.Lock(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	gone, waited := lockLater(ctx, l), lockLater(t.Context(), l)
	awaitQueue(t, l, 2)
	cancel()
	require.ErrorIs(t, (<-gone).err, context.Canceled)
	awaitQueue(t, l, 1)
	for _, step := range [][]string{
		{"LPUSH", "redisson_lock_queue:{orders:1}", dead},
		{"ZADD", "redisson_lock_timeout:{orders:1}", "9999999999999", dead},
		{"PUBLISH", "rueidisson_fair:{orders:1}:" + c.ID(), c.ID() + ":4611686018427387999"}, // nobody there
	} {
		require.NoError(t, user.Admin.Do(t.Context(), user.Admin.B().Arbitrary(step[0]).Args(step[1:]...).Build()).Error())
	}
	require.NoError(t, held.Unlock(t.Context()))
	got := <-waited // past the dead thread
	require.NoError(t, got.err)
	again := lockLater(t.Context(), l)
	awaitQueue(t, l, 1)
	require.NoError(t, got.hold.Unlock(t.Context()))
	got = <-again
	require.NoError(t, got.err)
	_, err = l.Holder(t.Context())
	require.NoError(t, err)
	forced, err := l.ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, forced)

	user.NothingDenied(t)
}

// TestTheACLOfTheDocsOnACluster is with what the page adds for one: also scripts
// ask about epochs and listeners, when they come to one that was killed.
func TestTheACLOfTheDocsOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	user := rueidis.ClientOption{InitAddress: cluster.Addrs(), DisableCache: true}
	redistest.ConfinedOn(t, cluster, "../docs/redis.md")(&user)
	here, there := locktest.Connected(t, user).FairLock("orders:1"), locktest.Connected(t, user).FairLock("orders:1")
	master, admin := cluster.Master("orders:1"), cluster.Client(t)
	master.ResetStats()
	held := locktest.Take(t, here)
	const ghost = "99999999-9999-4999-8999-999999999999" // a client of ours
	now, err := admin.Do(t.Context(), admin.B().Arbitrary("TIME").Build()).AsIntSlice()
	require.NoError(t, err)
	alive := fmt.Sprint(now[0]*1000 + 5_000)
	redistest.Do(t, admin, "RPUSH", "redisson_lock_queue:{orders:1}", ghost+":4611686018427387999")
	redistest.Do(t, admin, "ZADD", "redisson_lock_timeout:{orders:1}", "9999999999999", ghost+":4611686018427387999")
	ctx, cancel := context.WithCancel(t.Context())
	gone := lockLater(ctx, there)
	awaitQueue(t, here, 2)
	waited := lockLater(t.Context(), there)
	awaitQueue(t, here, 3)
	cancel()
	require.ErrorIs(t, (<-gone).err, context.Canceled)
	redistest.Do(t, admin, "ZADD", "rueidisson_fair_alive:{orders:1}", alive, ghost)
	locktest.Unlock(t, held)
	next := got(t, waited)
	require.NoError(t, next.Extend(t.Context(), time.Minute))
	forced, err := here.ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, forced)
	mustBeFree(t, here)
	require.Positive(t, master.CommandCalls(t, "pubsub|shardnumsub"))
	require.Positive(t, master.CommandCalls(t, "cluster|info"))
}
