//go:build interop

package interop

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/nearcache"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
)

var nearProofs = []proof{
	{row: "near/invalidated/go-java", test: javaHearsWhatGoWrites},
	{row: "near/invalidated/java-go", test: goHearsWhatJavaWrites},
	{row: "near/cleared_everywhere/java-go", test: javaClearsAll},
	{row: "near/transaction/java-go", test: javaWritesInATransaction},
	{row: "near/log_of_updates/both", test: bothKeepTheLog},
	{row: "near/tracked/java-go", test: aTrackedOneSeesAPlainRMap},
	{row: "near/loaded/go-java", test: javaHearsWhatGoLoads},
}

// nearMap is a map with near caches on both sides.
type nearMap struct {
	t      *testing.T
	ctx    context.Context
	mine   *nearcache.Cache[string, string]
	theirs peer.NearMap
	plain  peer.Map
}

func (w *world) nearMap(t *testing.T, sync string) *nearMap {
	t.Helper()
	name := redistest.Name(t)
	m := &nearMap{t: t, ctx: within(t), theirs: w.java.NearMap(name, name, "String", sync), plain: w.java.Map(name, name, "String")}
	m.mine = nearcache.New(rmap.New[string, string](w.client(t, answersMayTakeLong), name, rmap.WithCodec(codec.Text), rmap.WithAnnounce()), nearcache.WithAnnounced())
	t.Cleanup(func() {
		m.mine.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		w.del(ctx, t, name)
		w.del(ctx, t, "redisson__cache_updates_log:{"+name+"}")
	})
	_, err := m.theirs.Get(m.ctx, peer.String("nothing")) // it listens
	require.NoError(t, err)
	return m
}

func (m *nearMap) mineBecomes(k, want string) {
	m.t.Helper()
	redistest.Eventually(m.t, func() bool {
		got, _, err := m.mine.Get(m.ctx, k)
		require.NoError(m.t, err)
		return got == want
	}, patience, time.Millisecond)
}

func (m *nearMap) theirsBecomes(k, want string) {
	m.t.Helper()
	redistest.Eventually(m.t, func() bool {
		got, err := m.theirs.Get(m.ctx, peer.String(k))
		require.NoError(m.t, err)
		return got == peer.String(want)
	}, patience, time.Millisecond)
}

// mineKeeps gets until that is a hit.
func (m *nearMap) mineKeeps(k string) {
	m.t.Helper()
	redistest.Eventually(m.t, func() bool {
		before := m.mine.Stats().Hits
		_, _, err := m.mine.Get(m.ctx, k)
		require.NoError(m.t, err)
		return m.mine.Stats().Hits > before
	}, patience, time.Millisecond, "%v", m.mine.Stats().Err)
}

func (m *nearMap) theirsKeeps(k string) {
	m.t.Helper()
	redistest.Eventually(m.t, func() bool {
		_, err := m.theirs.Get(m.ctx, peer.String(k))
		require.NoError(m.t, err)
		cached, err := m.theirs.Cached(m.ctx, peer.String(k))
		require.NoError(m.t, err)
		return cached
	}, patience, time.Millisecond)
}

func javaHearsWhatGoWrites(t *testing.T, w *world) {
	for _, sync := range []string{"invalidate", "update", "load"} {
		m := w.nearMap(t, sync)
		for what, write := range map[string]func() error{
			"put":      func() error { return m.mine.Put(m.ctx, "k", "new") },
			"put many": func() error { return m.mine.PutMany(m.ctx, map[string]string{"k": "new", "l": "x"}) },
			"swap":     func() error { _, _, err := m.mine.Swap(m.ctx, "k", "new"); return err },
			"compute": func() error {
				_, _, err := m.mine.Compute(m.ctx, "k", func(string, bool) (string, rmap.Verdict, error) { return "new", rmap.Store, nil })
				return err
			},
			"clear": func() error {
				if err := m.mine.Clear(m.ctx); err != nil {
					return err
				}
				return m.mine.Put(m.ctx, "k", "new")
			},
		} {
			require.NoError(t, m.mine.Put(m.ctx, "k", "old"))
			m.theirsBecomes("k", "old")
			m.theirsKeeps("k")
			require.NoError(t, write(), what)
			m.theirsBecomes("k", "new")
		}
	}
}

func goHearsWhatJavaWrites(t *testing.T, w *world) {
	k := peer.String("k")
	for _, sync := range []string{"invalidate", "update", "load"} {
		m := w.nearMap(t, sync)
		for what, write := range map[string]func() error{
			"put":     func() error { _, err := m.theirs.Put(m.ctx, k, peer.String("new")); return err },
			"fastPut": func() error { _, err := m.theirs.FastPut(m.ctx, k, peer.String("new")); return err },
			"putAll":  func() error { return m.theirs.PutAll(m.ctx, k, peer.String("new")) },
			"remove": func() error {
				if _, err := m.theirs.FastRemove(m.ctx, k); err != nil {
					return err
				}
				_, err := m.theirs.FastPut(m.ctx, k, peer.String("new"))
				return err
			},
		} {
			_, err := m.theirs.FastPut(m.ctx, k, peer.String("old"))
			require.NoError(t, err)
			m.mineBecomes("k", "old")
			m.mineKeeps("k")
			require.NoError(t, write(), what)
			m.mineBecomes("k", "new")
		}
	}
}

// Java waits for each near cache, 40 s if one does not answer.
func javaClearsAll(t *testing.T, w *world) {
	m := w.nearMap(t, "invalidate")
	require.NoError(t, m.mine.Put(m.ctx, "k", "v"))
	m.mineKeeps("k")
	began := time.Now()
	drops := m.mine.Stats().WholeDrops
	require.NoError(t, m.theirs.ClearLocalCache(m.ctx))
	if took := time.Since(began); took > 20*time.Second {
		t.Fatalf("Java has waited for %v", took)
	}
	require.Greater(t, m.mine.Stats().WholeDrops, drops)
}

func javaWritesInATransaction(t *testing.T, w *world) {
	m := w.nearMap(t, "invalidate")
	require.NoError(t, m.mine.Put(m.ctx, "k", "old"))
	m.mineKeeps("k")
	for _, v := range []string{"1", "2", "3"} {
		require.NoError(t, m.theirs.PutInTransaction(m.ctx, peer.String("k"), peer.String(v)))
		m.mineBecomes("k", v)
		m.mineKeeps("k")
	}
}

func bothKeepTheLog(t *testing.T, w *world) {
	m := w.nearMap(t, "load")
	log := "redisson__cache_updates_log:{" + m.mine.Name() + "}"
	c := w.redis
	entries := func() int64 {
		n, err := c.Do(m.ctx, c.B().Zcard().Key(log).Build()).AsInt64()
		require.NoError(t, err)
		return n
	}
	require.NoError(t, m.mine.Put(m.ctx, "k", "v"))
	require.Zero(t, entries(), "nobody has begun it")
	_, err := m.theirs.FastPut(m.ctx, peer.String("k"), peer.String("w"))
	require.NoError(t, err)
	require.EqualValues(t, 1, entries())
	require.NoError(t, m.mine.Put(m.ctx, "k", "v"))
	require.EqualValues(t, 2, entries())
}

// Java's plain RMap tells nobody, but the server does.
func aTrackedOneSeesAPlainRMap(t *testing.T, w *world) {
	m := w.nearMap(t, "invalidate")
	m.mine.Close()
	m.mine = nearcache.New(rmap.New[string, string](w.client(t, answersMayTakeLong), m.plain.Name(), rmap.WithCodec(codec.Text)))
	t.Cleanup(m.mine.Close)
	for _, v := range []string{"1", "2", "3"} {
		_, err := m.plain.FastPut(m.ctx, peer.String("k"), peer.String(v))
		require.NoError(t, err)
		m.mineBecomes("k", v)
		m.mineKeeps("k")
	}
}

// Java's near cache keeps that there is no entry, until a loader of Go writes one. What nobody announces it does not see.
func javaHearsWhatGoLoads(t *testing.T, w *world) {
	m := w.nearMap(t, "misses")
	k := peer.String("k")
	loading := readthrough.New(rmap.New[string, string](w.client(t, answersMayTakeLong), m.plain.Name(), rmap.WithCodec(codec.Text), rmap.WithAnnounce()),
		func(_ context.Context, k string) (string, bool, error) { return "loaded " + k, true, nil })
	for range 3 {
		m.theirsMisses("k")
		_, err := m.plain.FastPut(m.ctx, k, peer.String("silent"))
		require.NoError(t, err)
		m.theirsMisses("k")
		_, err = m.plain.FastRemove(m.ctx, k)
		require.NoError(t, err)
		v, there, err := loading.Get(m.ctx, "k")
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, "loaded k", v)
		m.theirsBecomes("k", "loaded k")
		n, err := loading.Remove(m.ctx, "k")
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		eventually(m.ctx, t, "Java sees that it is gone", func() bool {
			got, err := m.theirs.Get(m.ctx, k)
			return err == nil && got.IsNull()
		})
	}
}

func (m *nearMap) theirsMisses(k string) {
	m.t.Helper()
	got, err := m.theirs.Get(m.ctx, peer.String(k))
	require.NoError(m.t, err)
	require.True(m.t, got.IsNull(), "%v", got)
}
