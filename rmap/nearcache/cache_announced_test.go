package nearcache

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
	"github.com/rueidisson/rueidisson/rmap/writethrough"
)

// announcedCache is a cache whose writes are announced, and a near cache of it in another
// process.
func announcedCache(t *testing.T, raw, reader rueidis.Client, change []func(*core.Config), opts ...rmap.CacheOption) (*rmap.Cache[string, string], *Cache[string, string]) {
	t.Helper()
	name := maptest.CacheNamed(t, raw)
	opts = append(opts, rmap.WithAnnounce(), rmap.WithValueCodec(maptest.TextCodec()))
	m := rmap.NewCache[string, string](maptest.EngineOn(t, raw, change...), name, opts...)
	n := New(rmap.NewCache[string, string](maptest.EngineOn(t, reader), name, opts...), WithAnnounced(), WithMisses(time.Hour), WithMaxSilence(30*time.Second))
	t.Cleanup(n.Close)
	return m, n
}

// hearsAll waits until a near cache, which has a subscription, has heard what was said until now, by a Clear that
// comes last.
func hearsAll(t *testing.T, raw rueidis.Client, n *Cache[string, string]) {
	t.Helper()
	before := n.Stats().WholeDrops
	says(t, raw, n.Name(), "00"+someID+someID+"00")
	redistest.Eventually(t, func() bool { return n.Stats().WholeDrops > before }, maptest.Soon, time.Millisecond)
}

// cacheWrites is every operation that changes what a copy of k shows, or when it ends.
// What has no single entry drops all.
var cacheWrites = map[string]struct {
	do   func(ctx context.Context, m *rmap.Cache[string, string]) error
	want string
	all  bool
}{
	"put": {do: func(ctx context.Context, m *rmap.Cache[string, string]) error { return m.Put(ctx, "k", "new") }, want: "new"},
	"keep ttl": {do: func(ctx context.Context, m *rmap.Cache[string, string]) error {
		return m.Put(ctx, "k", "new", rmap.WithKeepTTL())
	}, want: "new"},
	"put many": {do: func(ctx context.Context, m *rmap.Cache[string, string]) error {
		return m.PutMany(ctx, map[string]string{"k": "new", "l": "x"})
	}, want: "new"},
	"swap": {do: func(ctx context.Context, m *rmap.Cache[string, string]) error {
		_, _, err := m.Swap(ctx, "k", "new")
		return err
	}, want: "new"},
	"replace": {do: func(ctx context.Context, m *rmap.Cache[string, string]) error {
		_, err := m.Replace(ctx, "k", "new")
		return err
	}, want: "new"},
	"compare and swap": {do: func(ctx context.Context, m *rmap.Cache[string, string]) error {
		_, err := m.CompareAndSwap(ctx, "k", "old", "new")
		return err
	}, want: "new"},
	"compare and remove": {do: func(ctx context.Context, m *rmap.Cache[string, string]) error {
		_, err := m.CompareAndRemove(ctx, "k", "old")
		return err
	}},
	"compute": {do: func(ctx context.Context, m *rmap.Cache[string, string]) error {
		_, _, err := m.Compute(ctx, "k", func(string, bool) (string, rmap.Verdict, error) { return "new", rmap.Store, nil })
		return err
	}, want: "new"},
	"remove": {do: func(ctx context.Context, m *rmap.Cache[string, string]) error {
		_, err := m.Remove(ctx, "k", "none")
		return err
	}},
	"take": {do: func(ctx context.Context, m *rmap.Cache[string, string]) error {
		_, _, err := m.Take(ctx, "k")
		return err
	}},
	"clear":  {do: func(ctx context.Context, m *rmap.Cache[string, string]) error { return m.Clear(ctx) }, all: true},
	"delete": {do: func(ctx context.Context, m *rmap.Cache[string, string]) error { _, err := m.Delete(ctx); return err }, all: true},
	"rename": {do: func(ctx context.Context, m *rmap.Cache[string, string]) error {
		_, err := m.Rename(ctx, m.Name()+"{2}")
		return err
	}, all: true},
	"expire": {do: func(ctx context.Context, m *rmap.Cache[string, string]) error {
		_, err := m.Expire(ctx, 100*time.Millisecond)
		return err
	}, all: true},
	"touch": {do: func(ctx context.Context, m *rmap.Cache[string, string]) error {
		_, err := m.Touch(ctx, "k", rmap.WithTTL(100*time.Millisecond))
		return err
	}},
	"idle": {do: func(ctx context.Context, m *rmap.Cache[string, string]) error {
		_, err := m.Touch(ctx, "k", rmap.WithMaxIdle(100*time.Millisecond))
		return err
	}},
	"expire entries": {do: func(ctx context.Context, m *rmap.Cache[string, string]) error {
		_, err := m.ExpireEntries(ctx, []string{"k", "none"}, 100*time.Millisecond)
		return err
	}},
}

func TestACacheTellsWhatItChanges(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		for _, opts := range [][]rmap.CacheOption{nil, {rmap.WithRequestIDs()}} {
			m, n := announcedCache(t, raw, raw, nil, opts...)
			for what, write := range cacheWrites {
				require.NoError(t, m.Put(t.Context(), "k", "old", rmap.WithTTL(time.Hour)), what)
				require.NoError(t, m.Put(t.Context(), "other", what), what)
				becomes(t, n, "k", "old")
				hot(t, n, "k", "old") // it has a subscription
				hearsAll(t, raw, n)
				hot(t, n, "k", "old")
				hot(t, n, "other", what)
				before := n.Stats().WholeDrops
				require.NoError(t, write.do(t.Context(), m), what)
				becomes(t, n, "k", write.want)
				if !write.all {
					assert.Equal(t, before, n.Stats().WholeDrops, what)
					_, counts := n.hit("other")
					assert.True(t, counts, "%s drops no other", what)
				}
				raw.Do(t.Context(), raw.B().Del().Key(mapstore.ObjectOf(m.Name()+"{2}")...).Build())
			}
		}
	})
}

// TestACacheTellsOfWhatComes to near caches that keep misses: whoever writes it.
func TestACacheTellsOfWhatComes(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		m, n := announcedCache(t, raw, raw, nil)
		l := readthrough.New(m, func(context.Context, string) (string, bool, error) { return "loaded", true, nil })
		require.NoError(t, m.Put(t.Context(), "other", "o"))
		for want, write := range map[string]func() error{
			"absent": func() error { _, _, err := m.PutIfAbsent(t.Context(), "k", "absent"); return err },
			"computed": func() error {
				_, _, err := m.ComputeIfAbsent(t.Context(), "k", func() (string, error) { return "computed", nil })
				return err
			},
			"loaded": func() error { _, _, err := l.Get(t.Context(), "k"); return err },
		} {
			missed(t, n, "k")
			require.NoError(t, write())
			becomes(t, n, "k", want)
			_, err := m.Remove(t.Context(), "k")
			require.NoError(t, err)
			becomes(t, n, "k", "")
		}
	})
}

// TestACacheTellsOfWhatAddMakes of a number.
func TestACacheTellsOfWhatAddMakes(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		opts := []rmap.CacheOption{rmap.WithAnnounce(), rmap.WithValueCodec(maptest.TextCodecOf[int]())}
		m := rmap.NewCache[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw), opts...)
		n := New(rmap.NewCache[string, int](maptest.EngineOn(t, raw), m.Name(), opts...), WithAnnounced())
		defer n.Close()
		require.NoError(t, m.Put(t.Context(), "k", 5))
		hot(t, n, "k", 5)
		sum, err := rmap.Add(t.Context(), m, "k", 2)
		require.NoError(t, err)
		require.Equal(t, 7, sum)
		redistest.Eventually(t, func() bool {
			v, _, err := n.Get(t.Context(), "k")
			require.NoError(t, err)
			return v == 7
		}, maptest.Soon, time.Millisecond)
	})
}

// TestACacheTellsOfWhatItEvicts: by a write that is one too many, and by the sweeper where
// a bound comes later.
func TestACacheTellsOfWhatItEvicts(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		for _, by := range []rmap.Order{rmap.LRU, rmap.LFU} {
			m, n := announcedCache(t, raw, raw, nil)
			require.NoError(t, m.SetMaxSize(t.Context(), 3, by))
			for _, k := range []string{"a", "b", "c"} {
				require.NoError(t, m.Put(t.Context(), k, k))
			}
			hot(t, n, "a", "a")
			for range 3 { // b and c were used later, and more often
				_, err := m.GetMany(t.Context(), "b", "c")
				require.NoError(t, err)
			}
			redistest.Eventually(t, func() bool { // an exchange at the first look at the bound notes no use
				_, err := m.GetMany(t.Context(), "b", "c")
				require.NoError(t, err)
				return maptest.IntOf(t, raw, "ZRANK", keys.MapAccesses(m.Name()), "a") == 0
			}, maptest.Soon, time.Millisecond)
			before := n.Stats().WholeDrops
			require.NoError(t, m.Put(t.Context(), "d", "d"))
			becomes(t, n, "a", "")
			assert.Equal(t, before, n.Stats().WholeDrops)
			hot(t, n, "b", "b")
			hot(t, n, "c", "c")
			hot(t, n, "d", "d")
			require.NoError(t, m.SetMaxBytes(t.Context(), 45, by)) // of which one entry takes 18
			redistest.Eventually(t, func() bool {
				got, err := n.GetMany(t.Context(), "b", "c", "d")
				require.NoError(t, err)
				return len(got) == 2
			}, maptest.Soon, time.Millisecond)
			require.NoError(t, m.SetMaxSize(t.Context(), 1, by))
			redistest.Eventually(t, func() bool {
				got, err := n.GetMany(t.Context(), "b", "c", "d")
				require.NoError(t, err)
				return len(got) == 1
			}, maptest.Soon, time.Millisecond)
			require.NoError(t, m.Put(t.Context(), "large", strings.Repeat("x", 100)))
			becomes(t, n, "large", "") // which is more than all may be
			assert.Equal(t, before, n.Stats().WholeDrops)
		}
	})
}

// TestACacheTellsOfWhatItSweeps: a process whose clock is ahead sweeps early.
func TestACacheTellsOfWhatItSweeps(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		at := maptest.NewHandClock()
		at.Set(time.Now())
		m, n := announcedCache(t, raw, raw, []func(*core.Config){at.On})
		require.NoError(t, m.Put(t.Context(), "other", "o"))
		require.NoError(t, m.Put(t.Context(), "k", "v", rmap.WithTTL(time.Hour)))
		require.NoError(t, m.Put(t.Context(), "l", "v", rmap.WithMaxIdle(time.Hour)))
		hot(t, n, "other", "o")
		hearsAll(t, raw, n)
		hot(t, n, "other", "o")
		hot(t, n, "k", "v")
		hot(t, n, "l", "v")
		before := n.Stats().WholeDrops
		at.Forward(2 * time.Hour)
		becomes(t, n, "k", "")
		becomes(t, n, "l", "")
		_, counts := n.hit("other")
		assert.True(t, counts)
		assert.Equal(t, before, n.Stats().WholeDrops)
	})
}

// TestLongKeysThatGoTogetherDropAll, so that no message is huge.
func TestLongKeysThatGoTogetherDropAll(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	at := maptest.NewHandClock()
	at.Set(time.Now())
	m, n := announcedCache(t, raw, raw, []func(*core.Config){at.On})
	require.NoError(t, m.Put(t.Context(), "other", "o"))
	for i := range 3 {
		require.NoError(t, m.Put(t.Context(), strings.Repeat("x", 100_000)+fmt.Sprint(i), "v", rmap.WithTTL(time.Hour)))
	}
	hot(t, n, "other", "o")
	before := n.Stats().WholeDrops
	at.Forward(2 * time.Hour)
	redistest.Eventually(t, func() bool { return n.Stats().WholeDrops > before }, maptest.Soon, time.Millisecond)
}

// TestACopyOfACacheEndsWithItsEntry, by its time to live and by its idle time: nobody says so.
func TestACopyOfACacheEndsWithItsEntry(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for what, opt := range map[string]rmap.PutOption{"ttl": rmap.WithTTL(700 * time.Millisecond), "idle": rmap.WithMaxIdle(700 * time.Millisecond)} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, n := announcedCache(t, raw, raw, nil)
			require.NoError(t, n.Put(t.Context(), "other", "v"))
			hot(t, n, "other", "v")
			require.NoError(t, n.Put(t.Context(), "k", "v", opt))
			redistest.Eventually(t, func() bool {
				_, there, err := n.Get(t.Context(), "k")
				require.NoError(t, err)
				if !there { // it has ended before it was a copy
					require.NoError(t, n.Put(t.Context(), "k", "v", opt))
				}
				_, counts := n.hit("k")
				return counts
			}, maptest.Soon, time.Microsecond)
			for { // what is a copy now was read before, and ends no later than its entry
				_, counts := n.hit("k")
				got, err := n.m.(*rmap.Cache[string, string]).TTL(t.Context(), "k")
				require.NoError(t, err)
				if got == 0 {
					time.Sleep(5 * time.Millisecond) // clocks are read in milliseconds
					_, counts = n.hit("k")
					require.False(t, counts, "the entry has ended")
					return
				}
				if !counts {
					return // a little earlier
				}
			}
		})
	}
}

// announcingCache is the script that each write of a cache which announces is.
var announcingCache = map[string]*scripts.Script{
	"put": mapcache.PutMany, "put many": mapcache.PutMany, "swap": mapcache.Swap, "replace": mapcache.Replace,
	"compare and swap": mapcache.Change, "remove": mapcache.Remove, "take": mapcache.Take, "clear": mapcache.Clear,
	"delete": mapcache.Clear, "touch": mapcache.Touch, "expire entries": mapcache.ExpireEntries, "expire": mapcache.Expire,
}

// TestALostReplyOfAnAnnouncedWriteOfACache drops the reply to each write once: what was done
// was told. With an id it is done and told once.
func TestALostReplyOfAnAnnouncedWriteOfACache(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for what, script := range announcingCache {
		for with, opts := range map[string][]rmap.CacheOption{"": nil, " with ids": {rmap.WithRequestIDs()}} {
			t.Run(what+with, func(t *testing.T) {
				t.Parallel()
				client, proxy := maptest.Through(t, server)
				m, n := announcedCache(t, client, raw, nil, opts...)
				require.NoError(t, m.Put(t.Context(), "k", "old", rmap.WithTTL(time.Hour)))
				hot(t, n, "k", "old")
				lost := proxy.DropReply(redistest.All(redistest.MatchScript(script.Body()), redistest.Arg(m.Name())), 1)
				err := cacheWrites[what].do(t.Context(), m)
				lost.Await(t)
				if len(opts) > 0 || script.Header().Replay >= scripts.Safe {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, ErrOutcomeUnknown)
				}
				becomes(t, n, "k", cacheWrites[what].want)
			})
		}
	}
}

// TestAUserWhoMayNotAnnounceChangesNothing of a cache, and evicts nothing either.
func TestAUserWhoMayNotAnnounceChangesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	require.NoError(t, admin.Do(t.Context(), admin.B().Arbitrary(strings.Fields("ACL SETUSER orders on >password ~* resetchannels +@all")...).Build()).Error())
	user := server.Client(t, func(o *rueidis.ClientOption) { o.Username, o.Password = "orders", "password" })
	m := rmap.NewCache[string, string](maptest.EngineOn(t, user), "m", rmap.WithAnnounce(), rmap.WithValueCodec(maptest.TextCodec()))
	own := rmap.NewCache[string, string](maptest.EngineOn(t, admin), "m", rmap.WithValueCodec(maptest.TextCodec()))
	require.NoError(t, own.Put(t.Context(), "k", "old", rmap.WithTTL(time.Hour)))
	before, err := own.TTL(t.Context(), "k")
	require.NoError(t, err)
	for what, write := range cacheWrites {
		if what == "rename" {
			continue // which names both maps
		}
		err := write.do(t.Context(), m)
		require.ErrorContains(t, err, "publish", what)
		require.NotErrorIs(t, err, ErrOutcomeUnknown, what)
		v, there, err := own.Get(t.Context(), "k")
		require.NoError(t, err)
		require.True(t, there, what)
		require.Equal(t, "old", v, what)
	}
	left, err := own.TTL(t.Context(), "k")
	require.NoError(t, err)
	require.InDelta(t, before.Minutes(), left.Minutes(), 1)
	require.NoError(t, own.Put(t.Context(), "l", "old"))
	require.NoError(t, admin.Do(t.Context(), admin.B().Arbitrary("ACL", "LOG", "RESET").Build()).Error())
	require.NoError(t, m.SetMaxSize(t.Context(), 1, rmap.LRU))
	redistest.Eventually(t, func() bool { // the sweeper of m may not say so
		denied, err := admin.Do(t.Context(), admin.B().Arbitrary("ACL", "LOG").Build()).ToArray()
		return err == nil && len(denied) > 0
	}, maptest.Soon, time.Millisecond)
	n, err := own.Len(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
}

// TestWhatIsWrittenBehindAndThroughIsAnnounced in the step that changes the map.
func TestWhatIsWrittenBehindAndThroughIsAnnounced(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		for kind, on := range map[string]func(e *locking.Engine, name string, opts ...rmap.CacheOption) rmap.Mapping[string, string]{
			"map": func(e *locking.Engine, name string, opts ...rmap.CacheOption) rmap.Mapping[string, string] {
				return rmap.New[string, string](e, name, maptest.As[rmap.MapOption](opts)...)
			},
			"cache": func(e *locking.Engine, name string, opts ...rmap.CacheOption) rmap.Mapping[string, string] {
				return rmap.NewCache[string, string](e, name, opts...)
			},
		} {
			for how, with := range map[string][]writethrough.Option{"through": nil, "behind": {writethrough.WithBehind(10), writethrough.WithWriteDelay(time.Millisecond)}} {
				for _, ids := range [][]rmap.CacheOption{nil, {rmap.WithRequestIDs()}} {
					name := maptest.CacheNamed(t, raw)
					opts := append(ids, rmap.WithAnnounce(), rmap.WithValueCodec(maptest.TextCodec()))
					w := writethrough.New(on(maptest.EngineOn(t, raw), name, opts...), func(context.Context, []writethrough.Change[string, string]) error { return nil }, with...)
					n := New(on(maptest.EngineOn(t, raw), name, opts...), WithAnnounced(), WithMisses(time.Hour))
					require.NoError(t, w.Put(t.Context(), "other", "o"), how)
					hot(t, n, "other", "o")
					hearsAll(t, raw, n)
					hot(t, n, "other", "o")
					missed(t, n, "k")
					require.NoError(t, w.Put(t.Context(), "k", "1"))
					becomes(t, n, "k", "1")
					hot(t, n, "k", "1")
					require.NoError(t, w.PutMany(t.Context(), map[string]string{"k": "2", "l": "2"}))
					becomes(t, n, "k", "2")
					hot(t, n, "k", "2")
					_, err := w.CompareAndSwap(t.Context(), "k", "2", "3")
					require.NoError(t, err)
					becomes(t, n, "k", "3")
					hot(t, n, "k", "3")
					_, err = w.Remove(t.Context(), "k")
					require.NoError(t, err)
					becomes(t, n, "k", "")
					_, counts := n.hit("other")
					assert.True(t, counts, "%s %s drops no other", kind, how)
					n.Close()
					require.NoError(t, w.Close(t.Context()))
				}
			}
		}
	})
}
