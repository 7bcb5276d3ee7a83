//go:build interop

package interop

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/rmap"
)

var cacheProofs = []proof{
	{row: "map_cache/operations/go-java", test: goWritesACache},
	{row: "map_cache/operations/java-go", test: javaWritesACache},
	{row: "map_cache/times/go-java", test: goGivesAnEntryTimes},
	{row: "map_cache/times/java-go", test: javaGivesAnEntryTimes},
	{row: "map_cache/events/go-java", test: goTellsJava},
	{row: "map_cache/events/java-go", test: javaTellsGo},
	{row: "map_cache/bytes_of_events/both", test: bothTellTheSame},
	{row: "map_cache/bound/go-java", test: goBoundsACache},
	{row: "map_cache/bound/java-go", test: javaBoundsACache},
	{row: "map_cache/the_whole_of_it/both", test: theWholeOfACache},
}

var cacheEssentials = []proof{
	{row: "map_cache/operations/go-java", test: goWritesACache},
	{row: "map_cache/operations/java-go", test: javaWritesACache},
	{row: "map_cache/events/go-java", test: goTellsJava},
	{row: "map_cache/events/java-go", test: javaTellsGo},
}

// sharedCache is a cache of texts as both sides see it.
type sharedCache struct {
	*world
	t      *testing.T
	ctx    context.Context
	mine   *rmap.Cache[string, string]
	theirs peer.MapCache
}

func (w *world) sharedCache(t *testing.T, opts ...rueidisson.Option) *sharedCache {
	t.Helper()
	name := redistest.Name(t)
	m := &sharedCache{world: w, t: t, ctx: within(t)}
	m.mine = rmap.NewCache[string, string](w.client(t, append(opts, answersMayTakeLong)...), name, rmap.WithCodec(codec.Text))
	m.theirs = w.java.MapCache(name, name, "String")
	t.Cleanup(func() { // it has no end of its own
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		assert.NoError(t, m.theirs.Destroy(ctx))
		_, err := m.mine.Delete(ctx)
		assert.NoError(t, err)
		for _, left := range w.keys(ctx, t, name) {
			w.del(ctx, t, left)
		}
	})
	return m
}

func str(s string) peer.Datum { return peer.String(s) }

// holds is what lives for both sides.
func (m *sharedCache) holds(want map[string]string) {
	m.t.Helper()
	got := map[string]string{}
	for e, err := range m.mine.All(m.ctx) {
		require.NoError(m.t, err)
		got[e.Key] = e.Value
	}
	require.Equal(m.t, want, got)
	theirs, err := m.theirs.ReadAllMap(m.ctx)
	require.NoError(m.t, err)
	require.Len(m.t, theirs, len(want))
	for k, v := range want {
		require.Equal(m.t, str(v), theirs[str(k)])
	}
}

func (m *sharedCache) put(k, v string, opts ...rmap.PutOption) {
	m.t.Helper()
	require.NoError(m.t, m.mine.Put(m.ctx, k, v, opts...))
}

func (m *sharedCache) putByJava(k, v string, ttl, idle time.Duration) {
	m.t.Helper()
	_, err := m.theirs.FastPutFor(m.ctx, str(k), str(v), ttl, idle)
	require.NoError(m.t, err)
}

func goWritesACache(t *testing.T, w *world) {
	m := w.sharedCache(t)
	yes := func(did bool, err error) { t.Helper(); require.NoError(t, err); require.True(t, did) }
	m.put("a", "1")
	require.NoError(t, m.mine.PutMany(m.ctx, map[string]string{"b": "2", "é\n": "ü"}, rmap.WithTTL(time.Hour), rmap.WithMaxIdle(time.Hour)))
	m.holds(map[string]string{"a": "1", "b": "2", "é\n": "ü"})
	v, err := m.theirs.Get(m.ctx, str("é\n"))
	require.NoError(t, err)
	require.Equal(t, str("ü"), v)
	old, had, err := m.mine.Swap(m.ctx, "a", "3")
	yes(had, err)
	require.Equal(t, "1", old)
	yes(m.mine.CompareAndSwap(m.ctx, "b", "2", "4"))
	_, did, err := m.mine.PutIfAbsent(m.ctx, "c", "5", rmap.WithTTL(time.Hour))
	yes(did, err)
	yes(m.mine.Replace(m.ctx, "c", "6"))
	_, did, err = m.mine.Compute(m.ctx, "d", func(string, bool) (string, rmap.Verdict, error) { return "7", rmap.Store, nil })
	yes(did, err)
	m.holds(map[string]string{"a": "3", "b": "4", "c": "6", "d": "7", "é\n": "ü"})
	_, did, err = m.mine.Take(m.ctx, "a")
	yes(did, err)
	n, err := m.mine.Remove(m.ctx, "b", "é\n", "none")
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	yes(m.mine.CompareAndRemove(m.ctx, "c", "6"))
	requireTruth(m.ctx, t, false, func(ctx context.Context) (bool, error) { return m.theirs.ContainsKey(ctx, str("a")) })
	m.holds(map[string]string{"d": "7"})
}

func javaWritesACache(t *testing.T, w *world) {
	m := w.sharedCache(t)
	a := str("a")
	_, err := m.theirs.Put(m.ctx, a, str("1"))
	require.NoError(t, err)
	m.putByJava("b", "2", time.Hour, time.Hour)
	require.NoError(t, m.theirs.PutAllFor(m.ctx, time.Hour, str("c"), str("3"), str("d"), str("4")))
	m.holds(map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"})
	got, err := m.mine.GetMany(m.ctx, "a", "c", "none")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "1", "c": "3"}, got)
	requireTruth(m.ctx, t, true, func(ctx context.Context) (bool, error) { return m.theirs.ReplaceExact(ctx, a, str("1"), str("5")) })
	requireTruth(m.ctx, t, false, func(ctx context.Context) (bool, error) { return m.theirs.FastPutIfAbsent(ctx, a, str("6")) })
	text, there, err := m.mine.Get(m.ctx, "a")
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, "5", text)
	_, err = m.theirs.Remove(m.ctx, a)
	require.NoError(t, err)
	n, err := m.theirs.FastRemove(m.ctx, str("b"), str("c"))
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	there, err = m.mine.Has(m.ctx, "a")
	require.NoError(t, err)
	require.False(t, there)
	m.holds(map[string]string{"d": "4"})
}

const blink = 30 * time.Millisecond

// goGivesAnEntryTimes: what Go says of an entry's end, Java says, too, and whoever uses an entry puts off its end.
func goGivesAnEntryTimes(t *testing.T, w *world) {
	m := w.sharedCache(t)
	left := func(k string) time.Duration {
		t.Helper()
		ms, err := m.theirs.RemainTimeToLive(m.ctx, str(k))
		require.NoError(t, err)
		return time.Duration(ms) * time.Millisecond
	}
	m.put("ttl", "v", rmap.WithTTL(time.Hour))
	require.InDelta(t, time.Hour, left("ttl"), float64(time.Minute))
	m.put("idle", "v", rmap.WithTTL(2*time.Hour), rmap.WithMaxIdle(time.Hour))
	require.InDelta(t, time.Hour, left("idle"), float64(time.Minute))
	did, err := m.mine.Touch(m.ctx, "idle", rmap.WithMaxIdle(time.Minute))
	require.NoError(t, err)
	require.True(t, did)
	require.InDelta(t, time.Minute, left("idle"), float64(10*time.Second))
	_, err = m.theirs.Replace(m.ctx, str("idle"), str("w")) // which keeps the times, as Go wrote them
	require.NoError(t, err)
	d, err := m.mine.TTL(m.ctx, "idle")
	require.NoError(t, err)
	require.InDelta(t, time.Minute, d, float64(10*time.Second))
	m.put("idle", "v")
	require.Equal(t, noEnd, left("idle"))
	m.put("short", "v", rmap.WithTTL(blink))
	m.put("rests", "v", rmap.WithMaxIdle(blink))
	eventually(m.ctx, t, "both have expired for Java", func() bool { return left("short") == 2*noEnd && left("rests") == 2*noEnd })
	for _, k := range []string{"short", "rests"} {
		v, err := m.theirs.Get(m.ctx, str(k))
		require.NoError(t, err)
		require.True(t, v.IsNull())
	}
	m.holds(map[string]string{"ttl": "v", "idle": "v"})
}

func javaGivesAnEntryTimes(t *testing.T, w *world) {
	m := w.sharedCache(t)
	left := func(k string) time.Duration {
		t.Helper()
		d, err := m.mine.TTL(m.ctx, k)
		require.NoError(t, err)
		return d
	}
	m.putByJava("ttl", "v", time.Hour, 0)
	require.InDelta(t, time.Hour, left("ttl"), float64(time.Minute))
	m.putByJava("idle", "v", 2*time.Hour, time.Hour)
	require.InDelta(t, time.Hour, left("idle"), float64(time.Minute))
	requireTruth(m.ctx, t, true, func(ctx context.Context) (bool, error) {
		return m.theirs.ExpireEntry(ctx, str("idle"), 0, time.Minute)
	})
	require.InDelta(t, time.Minute, left("idle"), float64(10*time.Second))
	did, err := m.mine.Replace(m.ctx, "idle", "w")
	require.NoError(t, err)
	require.True(t, did)
	ms, err := m.theirs.RemainTimeToLive(m.ctx, str("idle"))
	require.NoError(t, err)
	require.InDelta(t, time.Minute.Milliseconds(), ms, 10_000)
	_, err = m.theirs.Put(m.ctx, str("idle"), str("v"))
	require.NoError(t, err)
	require.EqualValues(t, -1, left("idle"))
	m.putByJava("short", "v", blink, 0)
	m.putByJava("rests", "v", 0, blink)
	eventually(m.ctx, t, "both have expired for Go", func() bool { return left("short") == 0 && left("rests") == 0 })
	for _, k := range []string{"short", "rests"} {
		_, there, err := m.mine.Get(m.ctx, k)
		require.NoError(t, err)
		require.False(t, there)
	}
	m.holds(map[string]string{"ttl": "v", "idle": "v"})
}

func goTellsJava(t *testing.T, w *world) {
	m := w.sharedCache(t)
	require.NoError(t, m.theirs.Listen(m.ctx))
	m.put("k", "v")
	m.put("k", "w")
	_, err := m.mine.Remove(m.ctx, "k")
	require.NoError(t, err)
	m.put("e", "v", rmap.WithTTL(time.Millisecond)) // Go sweeps it
	events, err := m.theirs.Events(m.ctx, 5, 10*time.Second)
	require.NoError(t, err)
	removed := peer.Event{Kind: "REMOVED", Key: str("k"), Old: str("w")}
	if w.jvm.Version == peer.Oldest {
		removed.Value, removed.Old = removed.Old, removed.Value
	}
	require.ElementsMatch(t, []peer.Event{
		{Kind: "CREATED", Key: str("k"), Value: str("v")},
		{Kind: "UPDATED", Key: str("k"), Value: str("w"), Old: str("v")},
		removed,
		{Kind: "CREATED", Key: str("e"), Value: str("v")},
		{Kind: "EXPIRED", Key: str("e"), Value: str("v")},
	}, events)
	require.NoError(t, m.theirs.Unlisten(m.ctx))
}

func javaTellsGo(t *testing.T, w *world) {
	m := w.sharedCache(t)
	events := m.mine.Events(m.ctx)
	m.putByJava("k", "v", 0, 0)
	_, err := m.theirs.Put(m.ctx, str("k"), str("w"))
	require.NoError(t, err)
	_, err = m.theirs.FastRemove(m.ctx, str("k"))
	require.NoError(t, err)
	m.putByJava("e", "v", time.Millisecond, 0)
	require.ElementsMatch(t, []rmap.Event[string, string]{
		{Kind: rmap.Created, Key: "k", Value: "v"},
		{Kind: rmap.Updated, Key: "k", Value: "w", Old: "v"},
		{Kind: rmap.Removed, Key: "k", Value: "w"},
		{Kind: rmap.Created, Key: "e", Value: "v"},
		{Kind: rmap.Expired, Key: "e", Value: "v"},
	}, first(t, events, 5))
}

func first(t *testing.T, events iter.Seq2[rmap.Event[string, string], error], n int) (all []rmap.Event[string, string]) {
	t.Helper()
	for ev, err := range events {
		require.NoError(t, err)
		if all = append(all, ev); len(all) == n {
			break
		}
	}
	return all
}

// heardRaw hears what is published about a cache, as it stands there. Channels are spelled here once more.
func (w *world) heardRaw(ctx context.Context, t *testing.T, name string) func(n int) map[string][]string {
	t.Helper()
	var mu sync.Mutex
	all, count := map[string][]string{}, 0
	for _, kind := range []string{"created", "updated", "removed", "expired"} {
		c, release := w.redis.Dedicate()
		t.Cleanup(release)
		ready := make(chan struct{}, 8)
		c.SetPubSubHooks(rueidis.PubSubHooks{
			OnMessage: func(m rueidis.PubSubMessage) {
				mu.Lock()
				defer mu.Unlock()
				all[kind] = append(all[kind], m.Message)
				count++
			},
			OnSubscription: func(rueidis.PubSubSubscription) { ready <- struct{}{} },
		})
		on := "redisson_map_cache_" + kind + ":{" + name + "}"
		subscribe := c.B().Subscribe().Channel(on).Build()
		if w.spublish() {
			subscribe = c.B().Ssubscribe().Channel(on).Build()
		}
		require.NoError(t, c.Do(ctx, subscribe).Error())
		select {
		case <-ready:
		case <-ctx.Done():
			t.Fatal("no subscription")
		}
	}
	return func(n int) map[string][]string {
		t.Helper()
		eventually(ctx, t, fmt.Sprint(n, " events"), func() bool { mu.Lock(); defer mu.Unlock(); return count >= n })
		mu.Lock()
		defer mu.Unlock()
		got := all
		all, count = map[string][]string{}, 0
		return got
	}
}

func bothTellTheSame(t *testing.T, w *world) {
	m := w.sharedCache(t)
	require.NoError(t, m.theirs.Listen(m.ctx)) // writers tell from now on
	heard := w.heardRaw(m.ctx, t, m.mine.Name())
	m.putByJava("ké", "v", time.Hour, time.Hour)
	_, err := m.theirs.Put(m.ctx, str("ké"), str("würde"))
	require.NoError(t, err)
	_, err = m.theirs.Remove(m.ctx, str("ké"))
	require.NoError(t, err)
	java := heard(3)
	m.put("ké", "v", rmap.WithTTL(time.Hour), rmap.WithMaxIdle(time.Hour))
	_, _, err = m.mine.Swap(m.ctx, "ké", "würde")
	require.NoError(t, err)
	_, _, err = m.mine.Take(m.ctx, "ké")
	require.NoError(t, err)
	require.Equal(t, java, heard(3))
	require.Len(t, java, 3, "each is of another kind")
	m.put("ké", "v", rmap.WithTTL(time.Millisecond))
	require.Equal(t, map[string][]string{"created": java["created"], "expired": java["created"]}, heard(2))
	require.NoError(t, m.theirs.Unlisten(m.ctx))
}

func goBoundsACache(t *testing.T, w *world) {
	m := w.sharedCache(t)
	require.NoError(t, m.mine.SetMaxSize(m.ctx, 3, rmap.LRU))
	requireTruth(m.ctx, t, false, func(ctx context.Context) (bool, error) { return m.theirs.TrySetMaxSize(ctx, 9, "LRU") })
	for _, k := range []string{"a", "b", "c"} {
		m.putByJava(k, k, 0, 0)
		distinctTime(m.ctx, t)
	}
	_, _, err := m.mine.Get(m.ctx, "a") // a use that Java's eviction sees
	require.NoError(t, err)
	distinctTime(m.ctx, t)
	m.putByJava("d", "d", time.Hour, 0)
	m.holds(map[string]string{"a": "a", "c": "c", "d": "d"})
	goBoundsACacheByBytes(t, w)
}

func javaBoundsACache(t *testing.T, w *world) {
	m := w.sharedCache(t)
	require.NoError(t, m.theirs.SetMaxSize(m.ctx, 3, "LRU"))
	for _, k := range []string{"a", "b", "c"} {
		m.put(k, k)
		distinctTime(m.ctx, t)
	}
	_, err := m.theirs.Get(m.ctx, str("a"))
	require.NoError(t, err)
	distinctTime(m.ctx, t)
	m.put("d", "d", rmap.WithTTL(time.Hour))
	m.holds(map[string]string{"a": "a", "c": "c", "d": "d"})
	require.NoError(t, m.theirs.SetMaxSize(m.ctx, 2, "LFU"))
	require.NoError(t, m.mine.SetMaxSize(m.ctx, 1, rmap.LRU)) // Go's sweeper brings it down to that
	eventually(m.ctx, t, "one is left", func() bool {
		n, err := m.theirs.Size(m.ctx)
		return err == nil && n == 1
	})
}

// goBoundsACacheByBytes: Redisson neither sees that bound nor is bound by it, and reads what it leaves.
func goBoundsACacheByBytes(t *testing.T, w *world) {
	m := w.sharedCache(t)
	require.NoError(t, m.mine.SetMaxBytes(m.ctx, 250, rmap.LRU))
	value := strings.Repeat("v", 40)
	for _, k := range []string{"a", "b", "c", "d", "e", "f"} { // 57 bytes each
		m.putByJava(k, value, 0, 0)
	}
	n, err := m.theirs.Size(m.ctx)
	require.NoError(t, err)
	require.EqualValues(t, 6, n, "Java is not bound by it")
	require.NoError(t, m.theirs.SetMaxSize(m.ctx, 100, "LRU"))
	most, _, err := m.mine.MaxBytes(m.ctx)
	require.NoError(t, err)
	require.EqualValues(t, 250, most, "Java keeps what it does not know")
	m.put("mine", value) // after which the sweeper counts what Java has written
	eventually(m.ctx, t, "four are left", func() bool {
		n, err := m.theirs.Size(m.ctx)
		return err == nil && n == 4
	})
	got, err := m.theirs.Get(m.ctx, str("mine"))
	require.NoError(t, err)
	require.Equal(t, str(value), got)
}

// distinctTime lets a millisecond pass, as uses are ordered by those.
func distinctTime(ctx context.Context, t *testing.T) {
	t.Helper()
	now := time.Now().UnixMilli()
	eventually(ctx, t, "time passes", func() bool { return time.Now().UnixMilli() > now+1 })
}

func theWholeOfACache(t *testing.T, w *world) {
	m := w.sharedCache(t)
	m.put("a", "1", rmap.WithTTL(time.Hour))
	requireTruth(m.ctx, t, true, func(ctx context.Context) (bool, error) { return m.theirs.Expire(ctx, time.Hour) })
	left, err := m.mine.Remaining(m.ctx)
	require.NoError(t, err)
	require.Greater(t, left, 50*time.Minute)
	did, err := m.mine.Persist(m.ctx)
	require.NoError(t, err)
	require.True(t, did)
	did, err = m.mine.Expire(m.ctx, time.Hour)
	require.NoError(t, err)
	require.True(t, did)
	m.holds(map[string]string{"a": "1"})
	requireTruth(m.ctx, t, true, m.theirs.ClearExpire)
	left, err = m.mine.Remaining(m.ctx)
	require.NoError(t, err)
	require.EqualValues(t, -1, left)
	require.NoError(t, m.theirs.Clear(m.ctx))
	there, err := m.mine.Exists(m.ctx)
	require.NoError(t, err)
	require.False(t, there)
}
