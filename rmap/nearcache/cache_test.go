package nearcache

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// trackingServers are the kinds of servers that tell of changes.
var trackingServers = redistest.OnReal

// hot gets k until its copy is what is returned.
func hot[V any](t testing.TB, n *Cache[string, V], k string, want V) {
	t.Helper()
	redistest.Eventually(t, func() bool {
		before := n.Stats().Hits
		v, there, err := n.Get(t.Context(), k)
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, want, v)
		return n.Stats().Hits > before
	}, maptest.Soon, time.Millisecond, "no hit: %v", n.Stats().Err)
}

// hit is the copy of k, if it counts.
func (n *Cache[K, V]) hit(k K) (v V, counts bool) {
	if it := n.kept.Load().get(k); it != nil && !it.none {
		return it.v, true
	}
	return v, false
}

// becomes waits until Get returns what somebody else has written.
func becomes(t testing.TB, n *Cache[string, string], k, want string) {
	t.Helper()
	last := ""
	if !redistest.InTime(func() bool {
		v, _, err := n.Get(t.Context(), k)
		require.NoError(t, err)
		last = v
		return v == want
	}, maptest.Soon, 100*time.Microsecond) {
		direct, _, err := n.m.Get(t.Context(), k)
		t.Fatalf("%q is %q and not %q after %v; in Redis %q, %v; %+v", k, last, want, maptest.Soon, direct, err, n.Stats())
	}
}

func TestANearCacheAnswersByItself(t *testing.T) {
	t.Parallel()
	trackingServers(t, func(t *testing.T, raw rueidis.Client) {
		m := rmap.New[string, string](maptest.EngineOn(t, raw), maptest.Named(t, raw))
		n := New(m)
		defer n.Close()
		require.NoError(t, n.Put(t.Context(), "k", "v"))
		hot(t, n, "k", "v")
		before := n.Stats()
		require.NoError(t, before.Err)
		for range 10 {
			v, there, err := n.Get(t.Context(), "k")
			require.NoError(t, err)
			require.True(t, there)
			require.Equal(t, "v", v)
		}
		has, err := n.Has(t.Context(), "k")
		require.NoError(t, err)
		assert.True(t, has)
		all, err := n.GetMany(t.Context(), "k", "none")
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"k": "v"}, all)
		after := n.Stats()
		assert.EqualValues(t, 12, after.Hits-before.Hits)
		assert.EqualValues(t, 1, after.Misses-before.Misses)
		assert.Equal(t, 1, after.Size)
	})
}

func TestATrackedCacheSeesEveryWriter(t *testing.T) {
	t.Parallel()
	trackingServers(t, func(t *testing.T, raw rueidis.Client) {
		name := maptest.Named(t, raw)
		n := New(rmap.New[string, string](maptest.EngineOn(t, raw), name, rmap.WithValueCodec(maptest.TextCodec())))
		defer n.Close()
		do := func(words ...string) {
			require.NoError(t, raw.Do(t.Context(), raw.B().Arbitrary(words...).Build()).Error())
		}
		for what, write := range map[string][][]string{
			"HSET":   {{"HSET", name, "k", "new"}},
			"DEL":    {{"DEL", name}, {"HSET", name, "k", "new"}},
			"HDEL":   {{"HDEL", name, "k"}, {"HSET", name, "k", "new"}},
			"RENAME": {{"HSET", name + "{2}", "k", "new"}, {"RENAME", name + "{2}", name}},
		} {
			do("HSET", name, "k", "old")
			becomes(t, n, "k", "old")
			hot(t, n, "k", "old")
			for _, words := range write {
				do(words...)
			}
			becomes(t, n, "k", "new")
			hot(t, n, "k", "new")
			t.Log(what, n.Stats())
		}
		do("PEXPIRE", name, "50")
		becomes(t, n, "k", "")
	})
}

func TestAFlushDropsAll(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"7.0", "8.0", "valkey-8.1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			raw := redistest.Start(t, redistest.Version(version)).Client(t)
			n := New(rmap.New[string, string](maptest.EngineOn(t, raw), "m"))
			defer n.Close()
			require.NoError(t, n.Put(t.Context(), "k", "v"))
			hot(t, n, "k", "v")
			require.NoError(t, raw.Do(t.Context(), raw.B().Flushall().Build()).Error())
			becomes(t, n, "k", "")
		})
	}
}

// The whole map goes by the server's clock, which need not have swept it.
func TestWhatExpiresIsNoHit(t *testing.T) {
	t.Parallel()
	trackingServers(t, func(t *testing.T, raw rueidis.Client) {
		name := maptest.Named(t, raw)
		m := rmap.New[string, string](maptest.EngineOn(t, raw), name)
		n := New(m)
		defer n.Close()
		require.NoError(t, n.Put(t.Context(), "k", "v"))
		_, err := m.Expire(t.Context(), time.Second)
		require.NoError(t, err)
		began := time.Now()
		for {
			took := time.Since(began)
			_, there, err := n.Get(t.Context(), "k")
			require.NoError(t, err)
			if took > time.Second+100*time.Millisecond {
				require.False(t, there, "after %v", took)
				break
			}
		}
		assert.NotZero(t, n.Stats().Hits)
	})
}

func TestOwnWritesAreSeenAtOnce(t *testing.T) {
	t.Parallel()
	trackingServers(t, func(t *testing.T, raw rueidis.Client) {
		n := New(rmap.New[string, int](maptest.EngineOn(t, raw), maptest.Named(t, raw), rmap.WithValueCodec(maptest.TextCodecOf[int]())))
		defer n.Close()
		ctx := t.Context()
		require.NoError(t, n.Put(ctx, "k", 0))
		hot(t, n, "k", 0)
		want := 0
		writes := []func(){
			func() { want++; require.NoError(t, n.Put(ctx, "k", want)) },
			func() { want++; require.NoError(t, n.PutMany(ctx, map[string]int{"k": want, "l": 1})) },
			func() { want++; _, _, err := n.Swap(ctx, "k", want); require.NoError(t, err) },
			func() { want++; _, err := n.Replace(ctx, "k", want); require.NoError(t, err) },
			func() { want++; _, err := n.CompareAndSwap(ctx, "k", want-1, want); require.NoError(t, err) },
			func() { want++; _, err := rmap.Add(ctx, n, "k", 1); require.NoError(t, err) },
			func() {
				_, err := n.Remove(ctx, "k")
				require.NoError(t, err)
				want++
				_, _, err = n.PutIfAbsent(ctx, "k", want)
				require.NoError(t, err)
			},
			func() {
				_, _, err := n.Take(ctx, "k")
				require.NoError(t, err)
				_, there, err := n.Get(ctx, "k")
				require.NoError(t, err)
				require.False(t, there)
				require.NoError(t, n.Put(ctx, "k", want))
			},
			func() {
				require.NoError(t, n.Clear(ctx))
				_, there, err := n.Get(ctx, "k")
				require.NoError(t, err)
				require.False(t, there)
				require.NoError(t, n.Put(ctx, "k", want))
			},
			func() {
				_, _, err := n.Compute(ctx, "k", func(old int, _ bool) (int, rmap.Verdict, error) { return old + 1, rmap.Store, nil })
				require.NoError(t, err)
				want++
			},
		}
		for round := range 200 {
			hot(t, n, "k", want)
			writes[round%len(writes)]()
			v, _, err := n.Get(ctx, "k")
			require.NoError(t, err)
			require.Equal(t, want, v)
		}
	})
}

func TestAnEntryOfACacheIsNoHitWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	trackingServers(t, func(t *testing.T, raw rueidis.Client) {
		n := New(rmap.NewCache[string, string](maptest.EngineOn(t, raw), maptest.Named(t, raw)))
		defer n.Close()
		require.NoError(t, n.Put(t.Context(), "other", "v"))
		hot(t, n, "other", "v")
		require.NoError(t, n.Put(t.Context(), "k", "v", rmap.WithTTL(2*time.Second)))
		over := time.Now().Add(2 * time.Second)
		for {
			asked := time.Now()
			_, there, err := n.Get(t.Context(), "k")
			require.NoError(t, err)
			if asked.After(over.Add(20 * time.Millisecond)) {
				require.False(t, there)
				break
			}
		}
		assert.NotZero(t, n.Stats().Hits)
	})
}

// A copy that was read before an own write, and comes after it, is not kept.
func TestWhatIsReadWhileItIsWrittenIsNotKept(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	n := New(rmap.New[string, string](maptest.EngineOn(t, raw), maptest.Named(t, raw)))
	defer n.Close()
	require.NoError(t, n.Put(t.Context(), "k", "old"))
	hot(t, n, "k", "old")
	n.wrote("k")
	p := n.place(t.Context(), "k", nil)
	require.True(t, p.ok)
	n.wrote("k")
	n.keep(t.Context(), "k", "old", p)
	_, counts := n.hit("k")
	assert.False(t, counts)
	n.wroteAll()
	p = n.place(t.Context(), "k", nil)
	require.True(t, p.ok)
	n.wroteAll()
	n.keep(t.Context(), "k", "old", p)
	_, counts = n.hit("k")
	assert.False(t, counts)
}

func TestWithoutTrackingANearCacheIsTheMap(t *testing.T) {
	t.Parallel()
	resp2, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{redistest.Shared(t).Addr()}, AlwaysRESP2: true, DisableCache: true,
	})
	require.NoError(t, err)
	t.Cleanup(resp2.Close)
	for what, raw := range map[string]rueidis.Client{"RESP2": resp2, "miniredis": maptest.MiniredisClient(t)} {
		n := New(rmap.New[string, string](maptest.EngineOn(t, raw), maptest.Named(t, raw)))
		require.NoError(t, n.Put(t.Context(), "k", "v"))
		for range 10 {
			v, there, err := n.Get(t.Context(), "k")
			require.NoError(t, err)
			require.True(t, there)
			require.Equal(t, "v", v)
		}
		assert.Zero(t, n.Stats().Hits)
		assert.Zero(t, n.Stats().Size)
		assert.ErrorIs(t, n.Stats().Err, errors.ErrUnsupported, what)
		t.Log(what, n.Stats().Err)
		n.Close()
	}
}

func TestANearCacheNests(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	inner := New(rmap.New[string, string](maptest.EngineOn(t, raw), maptest.Named(t, raw)))
	n := New(inner, WithMaxEntries(10))
	require.NoError(t, n.Put(t.Context(), "k", "v"))
	hot(t, n, "k", "v")
	require.NoError(t, inner.Put(t.Context(), "k", "w"))
	becomes(t, n, "k", "w")
	inner.Close()
	n.Close()
}

func TestAClosedNearCacheIsTheMap(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	n := New(rmap.New[string, string](maptest.EngineOn(t, raw), maptest.Named(t, raw)))
	require.NoError(t, n.Put(t.Context(), "k", "v"))
	hot(t, n, "k", "v")
	n.Close()
	n.Close()
	require.NoError(t, raw.Do(t.Context(), raw.B().Del().Key(n.Name()).Build()).Error())
	_, there, err := n.Get(t.Context(), "k")
	require.NoError(t, err)
	assert.False(t, there)
	assert.Zero(t, n.Stats())
}

func TestWhatANearCacheCannotUse(t *testing.T) {
	t.Parallel()
	raw := maptest.MiniredisClient(t)
	m := rmap.New[string, string](maptest.EngineOn(t, raw), maptest.Named(t, raw))
	for _, opt := range []Option{nil, WithMaxEntries(0), WithMaxAge(0), WithMaxSilence(time.Millisecond), WithMaxSilence(time.Hour),
		WithMaxBytes(999), WithMisses(0), both{WithMaxBytes(1000), WithMaxEntries(10)}} {
		n := New(m, opt)
		_, _, err := n.Get(t.Context(), "k")
		require.ErrorIs(t, err, ErrInvalidArgument)
		require.ErrorIs(t, n.Put(t.Context(), "k", "v"), ErrInvalidArgument)
		for _, err := range n.All(t.Context()) {
			require.ErrorIs(t, err, ErrInvalidArgument)
		}
	}
	n := New(m)
	//lint:ignore SA1012 what is asked for
	_, _, err := n.Get(nil, "k")
	require.ErrorIs(t, err, ErrInvalidArgument)
	bad := New(rmap.New[string, string](maptest.EngineOn(t, raw), ""))
	_, _, err = bad.Get(context.Background(), "k")
	require.ErrorIs(t, err, ErrInvalidArgument)
}

func TestAnOldCopyIsNoHit(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	n := New(rmap.New[string, string](maptest.EngineOn(t, raw), maptest.Named(t, raw)), WithMaxAge(200*time.Millisecond))
	defer n.Close()
	require.NoError(t, n.Put(t.Context(), "k", "v"))
	hot(t, n, "k", "v")
	time.Sleep(200 * time.Millisecond)
	_, counts := n.hit("k")
	assert.False(t, counts)
	hot(t, n, "k", "v")
}

func TestANearCacheIsBounded(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	n := New(rmap.New[string, string](maptest.EngineOn(t, raw), maptest.Named(t, raw)), WithMaxEntries(10))
	defer n.Close()
	all := map[string]string{}
	for i := range redistest.Count(t, 100, 1000) {
		all[strconv.Itoa(i)] = "v"
	}
	require.NoError(t, n.PutMany(t.Context(), all))
	for k := range all {
		_, _, err := n.Get(t.Context(), k)
		require.NoError(t, err)
	}
	redistest.Eventually(t, func() bool { // what the last of them left over goes with the next one
		_, _, err := n.Get(t.Context(), "0")
		return err == nil && n.Stats().Size <= 10
	}, maptest.Soon, time.Millisecond)
}
