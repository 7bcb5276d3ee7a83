package nearcache

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/tracking"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// tracked matches the connection that is told of changes.
var tracked = redistest.Arg("TRACKING")

// nearBehind is a near cache behind a proxy, and a client that is not.
func nearBehind(t *testing.T, opts ...Option) (*Cache[string, string], *redistest.Proxy, rueidis.Client) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	behind, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{proxy.Addr()}, DisableCache: true, ForceSingleClient: true})
	require.NoError(t, err)
	t.Cleanup(behind.Close)
	n := New(rmap.New[string, string](maptest.EngineOn(t, behind), "m", rmap.WithValueCodec(maptest.TextCodec())), opts...)
	t.Cleanup(n.Close)
	return n, proxy, server.Client(t)
}

func puts(t testing.TB, raw rueidis.Client, key, field, v string) {
	t.Helper()
	require.NoError(t, raw.Do(t.Context(), raw.B().Hset().Key(key).FieldValue().FieldValue(field, v).Build()).Error())
}

func TestASilentConnectionTellsNothing(t *testing.T) {
	t.Parallel()
	const silence = 300 * time.Millisecond
	n, proxy, raw := nearBehind(t, WithMaxSilence(silence))
	require.NoError(t, n.Put(t.Context(), "k", "old"))
	hot(t, n, "k", "old")
	require.Equal(t, 1, proxy.BlackHoleConns(proxy.LastCarrier(tracked)))
	puts(t, raw, "m", "k", "new")
	written := time.Now()
	for {
		asked := time.Now()
		v, _, err := n.Get(t.Context(), "k")
		require.NoError(t, err)
		if v == "new" {
			break
		}
		require.Less(t, asked.Sub(written), silence, "a read that began then is too old")
	}
	puts(t, raw, "m", "k", "newer")
	v, _, err := n.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, "newer", v, "it is the map")
	require.Error(t, n.Stats().Err)
	hot(t, n, "k", "newer") // by another connection, while the first one is silent still
	puts(t, raw, "m", "k", "newest")
	becomes(t, n, "k", "newest")
	proxy.Restore()
}

func TestAConnectionThatEndsDropsAll(t *testing.T) {
	t.Parallel()
	n, proxy, raw := nearBehind(t)
	require.NoError(t, n.Put(t.Context(), "k", "old"))
	for i := range 5 {
		last, _, err := n.Get(t.Context(), "k")
		require.NoError(t, err)
		hot(t, n, "k", last)
		before := n.Stats().WholeDrops
		proxy.CutAll()
		redistest.Eventually(t, func() bool { return n.Stats().WholeDrops > before }, maptest.Soon, time.Millisecond)
		want := strconv.Itoa(i)
		puts(t, raw, "m", "k", want)
		redistest.Eventually(t, func() bool {
			v, _, err := n.Get(t.Context(), "k")
			return err == nil && v == want
		}, maptest.Soon, time.Millisecond)
		hot(t, n, "k", want)
	}
}

// A server that is stopped, as one that is far away, does not make each reader wait
// for the tracked connection.
func TestReadersDoNotWaitForASilentConnectionEachTime(t *testing.T) {
	t.Parallel()
	n, proxy, _ := nearBehind(t, WithMaxSilence(300*time.Millisecond))
	require.NoError(t, n.Put(t.Context(), "k", "v"))
	hot(t, n, "k", "v")
	require.Equal(t, 1, proxy.BlackHoleConns(proxy.LastCarrier(tracked)))
	redistest.Eventually(t, func() bool {
		_, _, err := n.Get(t.Context(), "k")
		require.NoError(t, err)
		return n.Stats().Err != nil
	}, maptest.Soon, time.Millisecond)
	began := time.Now()
	for range 50 {
		_, _, err := n.Get(t.Context(), "k")
		require.NoError(t, err)
	}
	if took := time.Since(began); took > 20*time.Second { // 50 waits of a second each
		t.Fatalf("took %v", took)
	}
	proxy.Restore()
}

var _ tracking.Listener = (*origin)(nil)
