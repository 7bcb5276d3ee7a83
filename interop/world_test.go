//go:build interop

package interop

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
)

const (
	// watchdog is the lease that both sides renew in most tests.
	watchdog = 2 * time.Second
	// longLease outlives every test, so that nobody gets a lock by its end.
	longLease = 5 * time.Minute
)

// patience is for what has to happen; nothing waits for its end when all is well.
var patience = redistest.Soon

// world is where Go and Java meet: the servers, how both connect, and JVMs that the tests share.
type world struct {
	name    string
	redis   rueidis.Client // looks at the keys
	addrs   []string
	cluster bool
	sharded rueidisson.Sharding // of Go
	jvm     peer.Options
	java    *peer.Peer
	second  *peer.Peer // of the current Redisson, and with its watchdog: the other one is so short that a busy machine misses it
}

func startSingle(t *testing.T) *world {
	server := redistest.Start(t, redistest.JSONIfAny())
	w := &world{name: "single", redis: server.Client(t), addrs: []string{server.Addr()}}
	w.jvm = peer.Options{Addr: server.Addr(), Watchdog: watchdog}
	w.startBoth(t)
	return w
}

func startCluster(t *testing.T) *world {
	cluster := redistest.StartCluster(t, redistest.JSONIfAny())
	w := &world{name: "cluster", redis: cluster.Client(t), addrs: cluster.Addrs(), cluster: true}
	w.jvm = peer.Options{Cluster: cluster.Addrs(), Watchdog: watchdog}
	w.startBoth(t)
	return w
}

func (w *world) startBoth(t *testing.T) {
	second := w.jvm
	second.Watchdog = 0
	w.java, w.second = peer.Start(t, w.jvm), peer.Start(t, second)
}

// withVersion is the same world with an older Redisson beside the current one.
func (w *world) withVersion(t *testing.T, version string) *world {
	other := *w
	other.name, other.jvm.Version = w.name+"_redisson-"+version, version
	other.java = peer.Start(t, other.jvm)
	return &other
}

// withPlainChannels is a cluster on which both sides are told to use PUBLISH.
func (w *world) withPlainChannels(t *testing.T) *world {
	other := *w
	other.name, other.jvm.Sharded, other.sharded = w.name+"_plain_channels", "OFF", rueidisson.Off
	other.startBoth(t)
	return &other
}

// spublish says which kind of channel both sides have to use here.
func (w *world) spublish() bool { return w.cluster && w.sharded != rueidisson.Off }

// client is a Go client that is closed, with nothing held, when the test ends.
func (w *world) client(t *testing.T, opts ...rueidisson.Option) *rueidisson.Client {
	t.Helper()
	opts = append([]rueidisson.Option{rueidisson.WithWatchdogTimeout(watchdog), rueidisson.WithShardedPubSub(w.sharded)}, opts...)
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: w.addrs}, opts...)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() { // it may hold what nobody will unlock
			c.Close(canceled())
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		assert.NoError(t, c.Close(ctx))
	})
	return c
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// thread is a lock as a Java thread of its own uses it: one that a failed test has left waiting does not
// hold up the next.
func (w *world) thread(t *testing.T, name string) peer.Lock {
	return w.java.Lock(redistest.Name(t), name)
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// channel is spelled here once more, so that the tests do not take the library's word for it.
func channel(name string) string {
	if strings.Contains(name, "{") {
		return "redisson_lock__channel:" + name
	}
	return "redisson_lock__channel:{" + name + "}"
}

// listeners counts the processes that wait for messages about a name, on all nodes.
func (w *world) listeners(ctx context.Context, t *testing.T, name string) (plain, sharded int64) {
	t.Helper()
	for _, node := range w.redis.Nodes() {
		plain += w.numsub(ctx, t, node, "NUMSUB", name)
		if w.cluster {
			sharded += w.numsub(ctx, t, node, "SHARDNUMSUB", name)
		}
	}
	return plain, sharded
}

func (w *world) numsub(ctx context.Context, t *testing.T, node rueidis.Client, how, name string) int64 {
	t.Helper()
	answer, err := node.Do(ctx, node.B().Arbitrary("PUBSUB", how, channel(name)).Build()).ToArray()
	require.NoError(t, err)
	require.Len(t, answer, 2)
	n, err := answer[1].AsInt64()
	require.NoError(t, err)
	return n
}

// awaitListener waits until one process listens, and looks that it does so in the right way.
func (w *world) awaitListener(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	eventually(ctx, t, "somebody listens to "+channel(name), func() bool {
		plain, sharded := w.listeners(ctx, t, name)
		return plain+sharded == 1
	})
	_, sharded := w.listeners(ctx, t, name)
	require.Equal(t, w.spublish(), sharded == 1, "the kind of channel")
}

// awaitSilence waits until nobody listens any more: a listener may stay for a moment after its wait.
func (w *world) awaitSilence(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	eventually(ctx, t, "nobody listens to "+channel(name), func() bool {
		plain, sharded := w.listeners(ctx, t, name)
		return plain+sharded == 0
	})
}

func (w *world) exists(ctx context.Context, t *testing.T, key string) bool {
	t.Helper()
	n, err := w.redis.Do(ctx, w.redis.B().Exists().Key(key).Build()).AsInt64()
	require.NoError(t, err)
	return n == 1
}

func (w *world) del(ctx context.Context, t *testing.T, key string) {
	t.Helper()
	require.NoError(t, w.redis.Do(ctx, w.redis.B().Del().Key(key).Build()).Error())
}

func (w *world) hash(ctx context.Context, t *testing.T, key string) map[string]string {
	t.Helper()
	fields, err := w.redis.Do(ctx, w.redis.B().Hgetall().Key(key).Build()).AsStrMap()
	require.NoError(t, err)
	return fields
}

// noEnd is the pttl of a key that stays.
const noEnd = -time.Millisecond

// pttl is negative as PTTL is: -2 ms for no key, -1 ms for one without an end.
func (w *world) pttl(ctx context.Context, t *testing.T, key string) time.Duration {
	t.Helper()
	ms, err := w.redis.Do(ctx, w.redis.B().Pttl().Key(key).Build()).AsInt64()
	require.NoError(t, err)
	return time.Duration(ms) * time.Millisecond
}

// keys are those of all nodes that contain the text.
func (w *world) keys(ctx context.Context, t *testing.T, text string) []string {
	t.Helper()
	var found []string
	for _, node := range w.redis.Nodes() {
		keys, err := node.Do(ctx, node.B().Keys().Pattern("*").Build()).AsStrSlice()
		require.NoError(t, err)
		found = append(found, keys...)
	}
	found = slices.DeleteFunc(found, func(key string) bool { return !strings.Contains(key, text) })
	slices.Sort(found)
	return slices.Compact(found) // a replica has the keys of its master
}

// eventually asks again and again: a server does not tell when something has changed.
func eventually(ctx context.Context, t *testing.T, what string, ready func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ready() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// outcome is what a call that was begun in a goroutine of its own returned, and when.
type outcome[T any] struct {
	value T
	err   error
	at    time.Time
}

// begin starts a call that waits. It ends with its context, which is the test's.
func begin[T any](call func() (T, error)) <-chan outcome[T] {
	ch := make(chan outcome[T], 1)
	go func() {
		value, err := call()
		ch <- outcome[T]{value, err, time.Now()}
	}()
	return ch
}
