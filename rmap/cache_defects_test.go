package rmap

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// leftCache is a cache in a state that somebody else has left.
type leftCache struct {
	*Cache[string, int]
	t   *testing.T
	raw rueidis.Client
	at  *maptest.HandClock
	e   *locking.Engine
}

func newLeft(t *testing.T) *leftCache {
	raw, at := redistest.Shared(t).Client(t), maptest.NewHandClock()
	e := maptest.EngineOn(t, raw, at.On)
	return &leftCache{NewCache[string, int](e, maptest.CacheNamed(t, raw), WithCodec(codec.Text)), t, raw, at, e}
}

func (l *leftCache) do(args ...string) {
	l.t.Helper()
	err := l.raw.Do(context.Background(), l.raw.B().Arbitrary(args[0]).Keys(args[1]).Args(args[2:]...).Build()).Error()
	if !rueidis.IsRedisNil(err) {
		require.NoError(l.t, err, args)
	}
}

func (l *leftCache) entry(key string, n int, idle time.Duration) {
	l.do("HSET", l.Name(), key, string(mapcache.Pack(nil, strconv.Itoa(n), idle)))
}

func (l *leftCache) score(set, key string, d time.Duration) {
	l.do("ZADD", set, strconv.FormatInt(l.e.Wall()+d.Milliseconds(), 10), key)
}

// living is what a walk and Gets say that there is.
func (l *leftCache) living() map[string]int {
	l.t.Helper()
	all := map[string]int{}
	for e, err := range l.All(l.t.Context()) {
		require.NoError(l.t, err)
		all[e.Key] = e.Value
		got, there, err := l.Get(l.t.Context(), e.Key)
		require.NoError(l.t, err)
		require.Equal(l.t, []any{e.Value, true}, []any{got, there})
	}
	return all
}

// swept waits until nothing of the cache is due any more, as a fleet would see to it.
func (l *leftCache) swept(left int64) {
	l.t.Helper()
	ctx, cancel := context.WithCancel(l.t.Context())
	defer cancel()
	l.Events(ctx, Expired)
	require.Eventually(l.t, func() bool { n, err := l.Len(context.Background()); return err == nil && n == left }, maptest.Soon, 5*time.Millisecond)
}

// TestNoneOfRedissonsDefects leaves a cache as Redisson does, and goes on from there.
func TestNoneOfRedissonsDefects(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string]func(*leftCache, context.Context){
		"D1: an idle time's member of an entry that has none": func(l *leftCache, ctx context.Context) {
			l.entry("k", 1, 0)
			l.score(keys.MapRests(l.Name()), "k", -time.Second)
			l.entry("over", 1, time.Second)
			l.score(keys.MapRests(l.Name()), "over", -time.Second)
			assert.Equal(l.t, map[string]int{"k": 1}, l.living())
			l.swept(1)
			assert.Equal(l.t, map[string]int{"k": 1}, l.living())
			left, err := l.TTL(ctx, "k")
			require.NoError(l.t, err)
			assert.EqualValues(l.t, -1, left)
		},
		"D2: what is written over the expired is not born expired": func(l *leftCache, ctx context.Context) {
			for i, write := range []func(k string) error{
				func(k string) error { _, stored, err := l.PutIfAbsent(ctx, k, 2); assert.True(l.t, stored); return err },
				func(k string) error { n, err := Add(ctx, l.Cache, k, 2); assert.Equal(l.t, 2, n); return err },
				func(k string) error { return l.PutMany(ctx, map[string]int{k: 2, k + "'": 2}) },
				func(k string) error { return l.Put(ctx, k, 2) },
				func(k string) error { _, had, err := l.Swap(ctx, k, 2); assert.False(l.t, had); return err },
				func(k string) error {
					_, _, err := l.Compute(ctx, k, func(int, bool) (int, Verdict, error) { return 2, Store, nil })
					return err
				},
			} {
				k := fmt.Sprint("k", i)
				l.entry(k, 1, time.Second)
				l.score(keys.MapTimes(l.Name()), k, -time.Second)
				l.score(keys.MapRests(l.Name()), k, -time.Second)
				require.NoError(l.t, write(k))
				n, there, err := l.Get(ctx, k)
				require.NoError(l.t, err)
				assert.Equal(l.t, []any{2, true}, []any{n, there}, i)
			}
			l.swept(7)
		},
		"D3: nothing replaces what has expired": func(l *leftCache, ctx context.Context) {
			l.entry("k", 1, 0)
			l.score(keys.MapTimes(l.Name()), "k", -time.Second)
			did, err := l.Replace(ctx, "k", 2)
			require.NoError(l.t, err)
			assert.False(l.t, did)
			did, err = l.CompareAndSwap(ctx, "k", 1, 2)
			require.NoError(l.t, err)
			assert.False(l.t, did)
			assert.Empty(l.t, l.living())
			l.swept(0)
		},
		"D4: a cache that is to go in an hour is there until then": func(l *leftCache, ctx context.Context) {
			l.entry("k", 1, 0)
			there, err := l.Expire(ctx, time.Hour)
			require.NoError(l.t, err)
			assert.True(l.t, there)
			assert.Equal(l.t, map[string]int{"k": 1}, l.living())
			l.do("PERSIST", l.Name())
			l.do("PERSIST", keys.MapTimes(l.Name())) // Redisson's tag is left behind
			l.swept(1)
			assert.Equal(l.t, map[string]int{"k": 1}, l.living(), "and the tag is no entry")
		},
		"D5: what was there takes no room": func(l *leftCache, ctx context.Context) {
			l.do("HSET", keys.MapOptions(l.Name()), "max-size", "2", "mode", "LRU")
			for i, k := range []string{"a", "b"} {
				l.entry(k, 1, 0)
				l.do("ZADD", keys.MapAccesses(l.Name()), strconv.Itoa(i), k)
			}
			require.NoError(l.t, l.Put(ctx, "b", 2, WithTTL(time.Hour)))
			_, _, err := l.Swap(ctx, "b", 2, WithTTL(time.Hour))
			require.NoError(l.t, err)
			assert.Equal(l.t, map[string]int{"a": 1, "b": 2}, l.living())
		},
		"D6: a walk sees each page, and what lives behind what has expired": func(l *leftCache, ctx context.Context) {
			const n = 900 // more than a server keeps in one piece
			want := map[string]int{}
			for i := range n {
				k := fmt.Sprint("key", i)
				l.entry(k, 7, 0) // all the same bytes
				if i%3 > 0 {
					l.score(keys.MapTimes(l.Name()), k, -time.Second)
				} else {
					want[k] = 7
				}
			}
			got := map[string]int{}
			for e, err := range l.All(ctx, WithMatch("key*"), WithPage(10)) {
				require.NoError(l.t, err)
				got[e.Key] = e.Value
			}
			assert.Equal(l.t, want, got)
			var names []string
			for k, err := range l.Keys(ctx, WithMatch("key*9"), WithPage(100)) {
				require.NoError(l.t, err)
				names = append(names, k)
			}
			slices.Sort(names)
			names = slices.Compact(names)
			count := 0
			for k := range want {
				if strings.HasSuffix(k, "9") {
					count++
				}
			}
			assert.Len(l.t, names, count)
		},
		"D20: an idle time without a member": func(l *leftCache, ctx context.Context) {
			l.entry("k", 1, time.Hour)
			did, err := l.Replace(ctx, "k", 2)
			require.NoError(l.t, err)
			assert.True(l.t, did)
			left, err := l.TTL(ctx, "k")
			require.NoError(l.t, err)
			assert.Equal(l.t, time.Hour, left, "it begins anew")
		},
		"D23: a bound that came to a filled cache": func(l *leftCache, ctx context.Context) {
			for i := range 20 {
				l.entry(fmt.Sprint("old", i), 1, 0)
			}
			l.do("HSET", keys.MapOptions(l.Name()), "max-size", "5", "mode", "LRU") // without the order, as Java does
			want := map[string]int{}
			for i := range 5 {
				k := fmt.Sprint("new", i)
				want[k] = 2
				l.at.Forward(time.Millisecond)
				require.NoError(l.t, l.Put(ctx, k, 2))
			}
			require.Eventually(l.t, func() bool { n, err := l.Len(context.Background()); return err == nil && n == 5 }, maptest.Soon, 5*time.Millisecond)
			assert.Equal(l.t, want, l.living())
		},
		"D26: what Redisson has not got round to": func(l *leftCache, ctx context.Context) {
			const n = 2000
			for i := range n {
				k := strconv.Itoa(i)
				l.entry(k, 1, 0)
				l.score(keys.MapTimes(l.Name()), k, -time.Hour)
			}
			require.NoError(l.t, l.Put(ctx, "k", 1, WithTTL(time.Hour)))
			l.swept(1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLeft(t)
			attack(l, t.Context())
		})
	}
}

// TestHeadersThatNobodyWrites: whatever stands before a value, no script fails by it, nor does what is beside it.
func TestHeadersThatNobodyWrites(t *testing.T) {
	t.Parallel()
	l := newLeft(t)
	ctx := t.Context()
	header := func(idle float64) string {
		p := mapcache.Pack(nil, "1", 0)
		bits := math.Float64bits(idle)
		for i := range 8 {
			p[i] = byte(bits >> (8 * i))
		}
		return string(p)
	}
	wrong := map[string]string{
		"nan": header(math.NaN()), "inf": header(math.Inf(1)), "-inf": header(math.Inf(-1)), "negative": header(-5),
		"tiny": header(math.SmallestNonzeroFloat64), "huge": header(math.MaxFloat64), "empty": "", "short": "1234567", "half": "123456789",
		"length": string(mapcache.Pack(nil, "1", 0)[:16]),
	}
	for key, packed := range wrong {
		for _, times := range []bool{false, true} {
			put := func() {
				l.do("HSET", l.Name(), key, packed)
				for _, set := range []string{keys.MapTimes(l.Name()), keys.MapRests(l.Name())} {
					if times {
						l.score(set, key, time.Hour)
					} else {
						l.do("ZREM", set, key)
					}
				}
			}
			refused := func(what string, err error) {
				t.Helper()
				if err != nil {
					require.ErrorIs(t, err, ErrDecode, "%s of %s", what, key)
				}
			}
			put()
			_, _, err := l.Get(ctx, key)
			refused("get", err)
			_, err = l.GetMany(ctx, key, "other")
			refused("get many", err)
			_, err = l.Has(ctx, key)
			require.NoError(t, err)
			_, err = l.TTL(ctx, key)
			require.NoError(t, err)
			for _, err := range l.AllTimed(ctx) {
				refused("all", err)
			}
			_, _, err = l.PutIfAbsent(ctx, key, 1)
			refused("put if absent", err)
			_, err = l.CompareAndSwap(ctx, key, 5, 6)
			refused("cas", err)
			_, err = l.Touch(ctx, key, WithTTL(time.Hour))
			require.NoError(t, err)
			put()
			_, err = l.Replace(ctx, key, 2)
			refused("replace", err)
			put()
			_, _, err = l.Swap(ctx, key, 2)
			refused("swap", err)
			put()
			_, _, err = l.Take(ctx, key)
			refused("take", err)
			put()
			_, err = l.Remove(ctx, key)
			require.NoError(t, err)
			put()
			require.NoError(t, l.Put(ctx, key, 2))
			require.NoError(t, l.Put(ctx, key, 2, WithKeepTTL()))
			n, there, err := l.Get(ctx, key)
			require.NoError(t, err)
			require.Equal(t, []any{2, true}, []any{n, there}, key)
			_, err = l.Remove(ctx, key)
			require.NoError(t, err)
		}
	}
}

// TestEachKeyOfACacheMayBeGone, as a server that is full evicts whole keys: what is left goes on.
func TestEachKeyOfACacheMayBeGone(t *testing.T) {
	t.Parallel()
	for i, what := range []string{"hash", "times", "idle times", "accesses", "options"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l, ctx := newLeft(t), t.Context()
			all := mapstore.ObjectOf(l.Name())
			require.NoError(t, l.SetMaxSize(ctx, 3, LRU))
			events := l.Events(ctx)
			for n := range 3 {
				require.NoError(t, l.Put(ctx, fmt.Sprint(n), n, WithTTL(time.Hour), WithMaxIdle(time.Hour)))
			}
			l.do("DEL", all[i])
			want := 3
			if what == "hash" {
				want = 0
			}
			assert.Len(t, l.living(), want)
			l.at.Forward(time.Millisecond)
			require.NoError(t, l.Put(ctx, "new", 7, WithTTL(time.Hour), WithMaxIdle(time.Hour)))
			if what == "hash" || what == "options" {
				want++
			}
			require.Eventually(t, func() bool { n, err := l.Len(context.Background()); return err == nil && n == int64(want) }, maptest.Soon, 5*time.Millisecond)
			assert.Equal(t, 7, l.living()["new"])
			require.Eventually(t, func() bool { // whoever listens is told again
				l.do("HGET", l.Name(), "k")
				_, err := l.Remove(context.Background(), "new")
				if err == nil {
					err = l.Put(context.Background(), "new", 7)
				}
				n, err2 := l.raw.Do(context.Background(), l.raw.B().Hexists().Key(all[4]).Field("has-listeners").Build()).AsBool()
				return err == nil && err2 == nil && n
			}, maptest.Soon, 20*time.Millisecond)
			for ev, err := range events {
				require.NoError(t, err)
				if ev.Key == "new" {
					break
				}
			}
			l.at.Forward(2 * time.Hour)
			// What has lost its end stays; all else goes, and what the sets name beyond that.
			require.Eventually(t, func() bool {
				left := int64(0)
				for _, set := range all[1:3] {
					n, err := l.raw.Do(context.Background(), l.raw.B().Zcard().Key(set).Build()).AsInt64()
					if err != nil {
						return false
					}
					left += n
				}
				return left == 0
			}, maptest.Soon, 20*time.Millisecond)
		})
	}
}

// TestAClockThatGoesBack ends nothing early, and what is swept is swept when it is due by the clock as it is then.
func TestAClockThatGoesBack(t *testing.T) {
	t.Parallel()
	l, ctx := newLeft(t), t.Context()
	require.NoError(t, l.Put(ctx, "a", 1, WithTTL(time.Minute)))
	require.NoError(t, l.Put(ctx, "b", 2, WithMaxIdle(time.Minute)))
	l.at.Forward(-time.Hour)
	require.NoError(t, l.Put(ctx, "c", 3, WithTTL(time.Minute), WithMaxIdle(time.Second)))
	assert.Equal(t, map[string]int{"a": 1, "b": 2, "c": 3}, l.living())
	left, err := l.TTL(ctx, "a")
	require.NoError(t, err)
	assert.Equal(t, time.Hour+time.Minute, left)
	l.at.Forward(2 * time.Minute)
	l.swept(1) // b was used by the clock that went back, and so rests since then
	assert.Equal(t, map[string]int{"a": 1}, l.living())
	l.at.Forward(2 * time.Hour)
	l.swept(0)
}
