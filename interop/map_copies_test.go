//go:build interop

package interop

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/rmap"
)

var copyProofs = []proof{
	{row: "map/values_and_draws/both", test: bothDrawFromAMap},
	{row: "map/copies/both", test: bothCopyAMap},
	{row: "map_cache/copies/both", test: bothCopyACache},
}

// bothDrawFromAMap: values, keys and entries that are drawn, and values that are computed where there are none.
func bothDrawFromAMap(t *testing.T, w *world) {
	m := w.sharedMap(t)
	want := map[string]string{"a": "1", "b": "2", "é\n": "ü"}
	require.NoError(t, m.mine.PutMany(m.ctx, want))
	var values []string
	for v, err := range m.mine.Values(m.ctx) {
		require.NoError(t, err)
		values = append(values, v)
	}
	theirs, err := m.theirs.ReadAllValues(m.ctx)
	require.NoError(t, err)
	require.ElementsMatch(t, data(values), theirs)

	ks, err := m.mine.RandomKeys(m.ctx, 9)
	require.NoError(t, err)
	javas, err := m.theirs.RandomKeys(m.ctx, 9)
	require.NoError(t, err)
	require.ElementsMatch(t, data(ks), javas)
	require.Len(t, ks, len(want))
	some, err := m.mine.RandomEntries(m.ctx, 2)
	require.NoError(t, err)
	require.Len(t, some, 2)
	for k, v := range some {
		require.Equal(t, want[k], v)
	}
	entries, err := m.theirs.RandomEntries(m.ctx, 9)
	require.NoError(t, err)
	require.Equal(t, str("ü"), entries[str("é\n")])
	require.Len(t, entries, len(want))

	v, stored, err := m.mine.ComputeIfAbsent(m.ctx, "new", func() (string, error) { return "go", nil })
	require.NoError(t, err)
	require.True(t, stored)
	require.Equal(t, "go", v)
	d, err := m.theirs.ComputeIfAbsent(m.ctx, str("new"), str("java"))
	require.NoError(t, err)
	require.Equal(t, str("go"), d)
	_, err = m.theirs.ComputeIfAbsent(m.ctx, str("newer"), str("java"))
	require.NoError(t, err)
	v, stored, err = m.mine.ComputeIfAbsent(m.ctx, "newer", func() (string, error) { return "", errors.New("not called") })
	require.NoError(t, err)
	require.False(t, stored)
	require.Equal(t, "java", v)
}

// whole is what is done to a map, or a cache, as one.
type whole interface {
	Name() string
	Copy(ctx context.Context, to string) (bool, error)
	RenameIfAbsent(ctx context.Context, to string) (bool, error)
	ExpireAt(ctx context.Context, at time.Time) (bool, error)
	Remaining(ctx context.Context) (time.Duration, error)
	SizeInMemory(ctx context.Context) (int64, error)
	Put(ctx context.Context, k, v string, opts ...rmap.PutOption) error
	Get(ctx context.Context, k string) (string, bool, error)
}

// bothCopy a map and move it away, by each side. Go and Java are the maps of a name.
func bothCopy(ctx context.Context, t *testing.T, w *world, name string, mine func(name string) whole, theirs func(name string) peer.Map) {
	t.Helper()
	yes := func(did bool, err error) { t.Helper(); require.NoError(t, err); require.True(t, did) }
	no := func(did bool, err error) { t.Helper(); require.NoError(t, err); require.False(t, did) }
	from, byGo, byJava, moved := name, "{"+name+"}:go", "{"+name+"}:java", "{"+name+"}:moved"
	t.Cleanup(func() {
		for _, left := range w.keys(context.Background(), t, name) {
			w.del(context.Background(), t, left)
		}
	})
	in := time.Now().Add(time.Hour)
	yes(mine(from).ExpireAt(ctx, in))
	left, err := theirs(from).Remaining(ctx)
	require.NoError(t, err)
	require.InDelta(t, time.Hour.Milliseconds(), left, 60_000)
	yes(theirs(from).ExpireAt(ctx, in.Add(time.Hour)))
	d, err := mine(from).Remaining(ctx)
	require.NoError(t, err)
	require.InDelta(t, 2*time.Hour, d, float64(time.Minute))

	n, err := mine(from).SizeInMemory(ctx)
	require.NoError(t, err)
	javas, err := theirs(from).SizeInMemory(ctx)
	require.NoError(t, err)
	require.Equal(t, javas, n)

	yes(mine(from).Copy(ctx, byGo))
	no(mine(from).Copy(ctx, byGo))
	no(theirs(from).Copy(ctx, byGo))
	yes(theirs(from).Copy(ctx, byJava))
	no(mine(from).Copy(ctx, byJava))
	v, err := theirs(byGo).Get(ctx, str("a"))
	require.NoError(t, err)
	require.Equal(t, str("1"), v)
	text, there, err := mine(byJava).Get(ctx, "a")
	yes(there, err)
	require.Equal(t, "1", text)

	no(mine(byGo).RenameIfAbsent(ctx, byJava))
	no(theirs(byGo).RenameNX(ctx, byJava))
	yes(mine(byGo).RenameIfAbsent(ctx, moved))
	yes(theirs(moved).RenameNX(ctx, byGo))
	for _, gone := range w.keys(ctx, t, moved) {
		t.Errorf("%s is left", gone)
	}
	yes(theirs(byGo).ContainsKey(ctx, str("a")))
}

func bothCopyAMap(t *testing.T, w *world) {
	m, c := w.sharedMap(t), w.client(t, answersMayTakeLong)
	require.NoError(t, m.mine.Put(m.ctx, "a", "1"))
	bothCopy(m.ctx, t, w, m.mine.Name(),
		func(name string) whole { return rmap.New[string, string](c, name, rmap.WithCodec(codec.Text)) },
		func(name string) peer.Map { return w.java.Map(m.mine.Name(), name, "String") })
}

// bothCopyACache: the ends of its entries go along. It has all the keys that a cache may have: where one is missing,
// Redisson's renamenx stops half-way.
func bothCopyACache(t *testing.T, w *world) {
	m, c := w.sharedCache(t), w.client(t, answersMayTakeLong)
	require.NoError(t, m.mine.SetMaxSize(m.ctx, 9, rmap.LRU))
	m.put("a", "1", rmap.WithTTL(time.Hour), rmap.WithMaxIdle(time.Hour))
	cache := func(name string) peer.MapCache { return w.java.MapCache(m.mine.Name(), name, "String") }
	t.Cleanup(func() { // Java sweeps each that it has used, and an object that was renamed has another name
		for _, name := range []string{"go", "java", "moved"} {
			assert.NoError(t, w.java.MapCache(m.mine.Name(), "{"+m.mine.Name()+"}:"+name, "").Destroy(context.Background()))
		}
	})
	bothCopy(m.ctx, t, w, m.mine.Name(),
		func(name string) whole { return rmap.NewCache[string, string](c, name, rmap.WithCodec(codec.Text)) },
		func(name string) peer.Map { return cache(name).Map })
	for _, name := range []string{"go", "java"} {
		name = "{" + m.mine.Name() + "}:" + name
		left, err := cache(name).RemainTimeToLive(m.ctx, str("a"))
		require.NoError(t, err)
		require.Greater(t, left, (50 * time.Minute).Milliseconds(), name)
	}
}
