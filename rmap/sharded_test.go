package rmap

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// sharding is a sharded map that goes with the test.
func sharding(t testing.TB, e *locking.Engine, name string, n int, opts ...MapOption) *Sharded[string, int] {
	t.Helper()
	m := NewSharded[string, int](e, name, n, append([]MapOption{WithCodec(codec.Text)}, opts...)...)
	t.Cleanup(func() { _, _ = m.Delete(context.Background()) })
	return m
}

// asMap is what a sharded map does with entries, for the tests of those.
func unsharded(m *Sharded[string, int]) *Map[string, int] { return &Map[string, int]{wholeOf(m.m)} }

// TestShardedTellsOfItsLooks for the number of shards: an observer of combined calls hears of each.
func TestShardedTellsOfItsLooks(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		var told enginetest.Batches
		m := sharding(t, enginetest.Texts(t, raw, told.To), redistest.Name(t), 4)
		_, _, err := m.Get(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, []int{1}, told.Take("sharded map"))
		require.Equal(t, []int{1}, told.Take("map"), "the entry")
	})
}

func numbered(n int) map[string]int {
	all := map[string]int{}
	for i := range n {
		all["k"+strconv.Itoa(i)] = i
	}
	return all
}

func allOf(t *testing.T, m Mapping[string, int], opts ...ScanOption) map[string]int {
	t.Helper()
	all := map[string]int{}
	for e, err := range m.All(t.Context(), opts...) {
		require.NoError(t, err)
		all[e.Key] = e.Value
	}
	return all
}

func TestModelOfAShardedMap(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		for name, opts := range map[string][]MapOption{"plain": nil, "with ids": {WithRequestIDs()}, "with locks": {WithEntryLock()}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				key := maptest.Named(t, raw)
				runModel(t, seed, func() Mapping[string, int] { return sharding(t, maptest.EngineOn(t, raw), key, 3, opts...) })
			})
		}
	})
}

// TestAShardedMapInRedis is its format, which stays.
func TestAShardedMapInRedis(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		m := sharding(t, maptest.EngineOn(t, raw), maptest.Named(t, raw), 16)
		require.Equal(t, 16, m.Shards())
		require.NoError(t, m.Put(t.Context(), "abc", 7))
		said, err := raw.Do(t.Context(), raw.B().Get().Key(m.Name()).Build()).ToString()
		require.NoError(t, err)
		require.Equal(t, "rueidisson:sharded 1 16", said)
		stands, err := raw.Do(t.Context(), raw.B().Hget().Key("{"+m.Name()+":6}").Field("abc").Build()).ToString() // 0x…7ad6
		require.NoError(t, err)
		require.Equal(t, "7", stands)
		hold, err := m.Lock("abc").Lock(t.Context())
		require.NoError(t, err)
		n, err := raw.Do(t.Context(), raw.B().Exists().Key("{"+m.Name()+":6}:BhA5LsZVetaLy1jDRVlHJg:lock").Build()).AsInt64()
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		require.NoError(t, hold.Unlock(t.Context()))
	})
}

func TestWhatIsAboutSeveralShards(t *testing.T) {
	t.Parallel()
	entries := redistest.Count(t, 2000, 6000)
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		for _, ids := range [][]MapOption{nil, {WithRequestIDs()}} {
			ctx, m := t.Context(), sharding(t, maptest.EngineOn(t, raw), maptest.Named(t, raw), 100, ids...)
			there, err := m.Exists(ctx)
			require.NoError(t, err)
			require.False(t, there)
			require.NoError(t, m.PutMany(ctx, numbered(entries)))
			n, err := m.Len(ctx)
			require.NoError(t, err)
			require.EqualValues(t, entries, n)
			require.Equal(t, numbered(entries), allOf(t, m))
			require.Equal(t, numbered(entries), allOf(t, m, WithPage(7)))
			require.Len(t, allOf(t, m, WithMatch("k1*")), 1111)
			var ks []string
			for i := range entries + 500 { // some are not there
				ks = append(ks, "k"+strconv.Itoa(i))
			}
			got, err := m.GetMany(ctx, ks...)
			require.NoError(t, err)
			require.Equal(t, numbered(entries), got)
			gone, err := m.Remove(ctx, ks[entries-1000:]...)
			require.NoError(t, err)
			require.EqualValues(t, 1000, gone)
			left, err := m.Remaining(ctx)
			require.NoError(t, err)
			require.EqualValues(t, -1, left)
			there, err = m.Expire(ctx, time.Hour)
			require.NoError(t, err)
			require.True(t, there)
			left, err = m.Remaining(ctx)
			require.NoError(t, err)
			require.InDelta(t, time.Hour, left, float64(time.Minute))
			there, err = m.Persist(ctx)
			require.NoError(t, err)
			require.True(t, there)
			for range m.Keys(ctx) {
				break // leaves it
			}
			require.NoError(t, m.Clear(ctx))
			n, err = m.Len(ctx)
			require.NoError(t, err)
			require.Zero(t, n)
			left, err = m.Remaining(ctx)
			require.NoError(t, err)
			require.Zero(t, left)
			for _, want := range []bool{true, false} { // the number of shards is left
				there, err = m.Delete(ctx)
				require.NoError(t, err)
				require.Equal(t, want, there)
			}
		}
	})
}

// TestAnotherNumberOfShardsIsRefused in every operation, of the same client and of
// another.
func TestAnotherNumberOfShardsIsRefused(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e := maptest.EngineOn(t, raw)
		m := sharding(t, e, maptest.Named(t, raw), 8)
		require.NoError(t, m.PutMany(t.Context(), numbered(100)))
		for _, e := range []*locking.Engine{e, maptest.EngineOn(t, raw)} {
			other := NewSharded[string, int](e, m.Name(), 9, WithCodec(codec.Text))
			for name, op := range operations {
				if name == "lock" || aboutAll[name] {
					continue
				}
				err := op(t.Context(), unsharded(other), "k1", 1)
				require.ErrorIs(t, err, ErrInvalidArgument, name)
				require.ErrorContains(t, err, "it has 8 shards, and this handle was made for 9", name)
			}
			for name, op := range wholes {
				require.ErrorIs(t, op(t.Context(), other), ErrInvalidArgument, name)
			}
		}
		require.Equal(t, numbered(100), allOf(t, m))
	})
}

// aboutAll is the operations that are about all keys of a map.
var aboutAll = map[string]bool{"delete": true, "exists": true, "expire": true, "persist": true, "remaining": true, "rename": true}

var wholes = map[string]func(ctx context.Context, m *Sharded[string, int]) error{
	"clear":  func(ctx context.Context, m *Sharded[string, int]) error { return m.Clear(ctx) },
	"len":    func(ctx context.Context, m *Sharded[string, int]) error { _, err := m.Len(ctx); return err },
	"exists": func(ctx context.Context, m *Sharded[string, int]) error { _, err := m.Exists(ctx); return err },
	"expire": func(ctx context.Context, m *Sharded[string, int]) error {
		_, err := m.Expire(ctx, time.Hour)
		return err
	},
	"persist":   func(ctx context.Context, m *Sharded[string, int]) error { _, err := m.Persist(ctx); return err },
	"remaining": func(ctx context.Context, m *Sharded[string, int]) error { _, err := m.Remaining(ctx); return err },
	"rename": func(ctx context.Context, m *Sharded[string, int]) error {
		_, err := m.Rename(ctx, m.Name()+"-new")
		return err
	},
	"delete": func(ctx context.Context, m *Sharded[string, int]) error { _, err := m.Delete(ctx); return err },
}

// TestOneNumberOfShardsWins where several begin at once.
func TestOneNumberOfShardsWins(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for range 20 {
		name := maptest.Named(t, raw)
		var all sync.WaitGroup
		var errs [8]error
		for i := range errs {
			m := sharding(t, maptest.EngineOn(t, raw), name, i+1)
			all.Go(func() { errs[i] = m.Put(t.Context(), "k", i) })
		}
		all.Wait()
		said, err := raw.Do(t.Context(), raw.B().Get().Key(name).Build()).ToString()
		require.NoError(t, err)
		n, err := mapstore.SaidShards(said)
		require.NoError(t, err)
		for i, err := range errs {
			if i+1 == n {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, ErrInvalidArgument)
			}
		}
	}
}

// TestAHandleLooksAgain: after a second at most it finds that the map is another.
func TestAHandleLooksAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := maptest.Through(t, server)
	e := maptest.EngineOn(t, client)
	m := sharding(t, e, maptest.Named(t, client), 4)
	require.NoError(t, m.Put(t.Context(), "k", 1))
	raw := server.Client(t)
	require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(m.Name()).Value(mapstore.SayShards(5)).Build()).Error())
	asked := redistest.All(redistest.Command("GET"), redistest.Arg(m.Name()))
	redistest.Eventually(t, func() bool {
		_, _, err := m.Get(t.Context(), "k")
		return err != nil
	}, maptest.Soon, time.Millisecond)
	require.Equal(t, 1, proxy.Count(asked), "once a second")
	_, _, err := m.Get(t.Context(), "k")
	require.ErrorContains(t, err, "it has 5 shards")
}

// TestWhereTheNumberIsMissing: reads leave it so, and what adds writes it.
func TestWhereTheNumberIsMissing(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		ctx, e := t.Context(), maptest.EngineOn(t, raw)
		m := sharding(t, e, maptest.Named(t, raw), 4)
		said := func() (n int64) {
			n, err := raw.Do(ctx, raw.B().Exists().Key(m.Name()).Build()).AsInt64()
			require.NoError(t, err)
			return n
		}
		_, _, err := m.Get(ctx, "k")
		require.NoError(t, err)
		_, err = m.Remove(ctx, "k")
		require.NoError(t, err)
		_, err = m.CompareAndRemove(ctx, "k", 1)
		require.NoError(t, err)
		require.NoError(t, m.Clear(ctx))
		there, err := m.Expire(ctx, time.Hour)
		require.NoError(t, err)
		require.False(t, there)
		there, err = m.Rename(ctx, m.Name()+"-new")
		require.NoError(t, err)
		require.False(t, there)
		require.Zero(t, said())
		require.NoError(t, m.Put(ctx, "k", 1))
		require.EqualValues(t, 1, said())
		require.NoError(t, m.Clear(ctx))
		there, err = m.Expire(ctx, time.Hour)
		require.NoError(t, err)
		require.False(t, there)
		left, err := raw.Do(ctx, raw.B().Pttl().Key(m.Name()).Build()).AsInt64()
		require.NoError(t, err)
		require.EqualValues(t, -1, left, "what is put now stays, and so does the number")
		require.NoError(t, m.Put(ctx, "k", 1))
		_, err = m.Expire(ctx, time.Hour)
		require.NoError(t, err)
		left, err = raw.Do(ctx, raw.B().Pttl().Key(m.Name()).Build()).AsInt64()
		require.NoError(t, err)
		require.Greater(t, left, time.Hour.Milliseconds(), "it goes behind the entries")
		require.NoError(t, m.Put(ctx, "l", 1))
		left, err = raw.Do(ctx, raw.B().Pttl().Key(m.Name()).Build()).AsInt64()
		require.NoError(t, err)
		require.EqualValues(t, -1, left, "an entry may stay, and so it does")
	})
}

// TestWhoReadsDoesNotKeepTheNumber for who adds, and who writes in place does not
// say it.
func TestWhoReadsDoesNotKeepTheNumber(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		ctx, m := t.Context(), sharding(t, maptest.EngineOn(t, raw), maptest.Named(t, raw), 64)
		_, err := m.Replace(ctx, "a", 1)
		require.NoError(t, err)
		_, err = m.CompareAndSwap(ctx, "a", 1, 2)
		require.NoError(t, err)
		require.Zero(t, maptest.IntOf(t, raw, "EXISTS", m.Name()), "nothing was added")
		require.NoError(t, m.Put(ctx, "a", 1))
		_, err = m.Expire(ctx, time.Hour)
		require.NoError(t, err)
		_, _, err = m.Get(ctx, "a")
		require.NoError(t, err)
		require.NoError(t, m.Put(ctx, "b", 1))
		require.EqualValues(t, -1, maptest.IntOf(t, raw, "PTTL", m.Name()), "b stays, and so does the number")
	})
}

// TestARenamedShardedMapGoesWhenItWould, with its number, and without one that was
// lost.
func TestARenamedShardedMapGoesWhenItWould(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		ctx, e := t.Context(), maptest.EngineOn(t, raw)
		m := sharding(t, e, maptest.Named(t, raw), 4)
		next := sharding(t, e, m.Name()+"-next", 4)
		last := sharding(t, e, m.Name()+"-last", 4)
		require.NoError(t, m.Put(ctx, "k", 1))
		_, err := m.Expire(ctx, time.Hour)
		require.NoError(t, err)
		done, err := m.Rename(ctx, next.Name())
		require.NoError(t, err)
		require.True(t, done)
		require.Positive(t, maptest.IntOf(t, raw, "PTTL", next.Name()))
		require.NoError(t, raw.Do(ctx, raw.B().Del().Key(next.Name()).Build()).Error())
		done, err = next.Rename(ctx, last.Name())
		require.NoError(t, err)
		require.True(t, done)
		require.Equal(t, map[string]int{"k": 1}, allOf(t, last))
		require.EqualValues(t, 1, maptest.IntOf(t, raw, "EXISTS", last.Name()))
	})
}

// TestWhoTrustsTheNumberOfAMapThatIsToGo may add to a shard that was empty. That
// stays, and so the number does.
func TestWhoTrustsTheNumberOfAMapThatIsToGo(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		ctx, name := t.Context(), maptest.Named(t, raw)
		one, other := sharding(t, maptest.EngineOn(t, raw), name, 64), sharding(t, maptest.EngineOn(t, raw), name, 64)
		require.NoError(t, one.Put(ctx, "a", 1))
		require.NoError(t, other.Put(ctx, "a", 2))
		_, err := one.Expire(ctx, time.Millisecond)
		require.NoError(t, err)
		require.NoError(t, other.Put(ctx, "b", 3), "it has seen the number a moment ago")
		redistest.Eventually(t, func() bool {
			return maptest.IntOf(t, raw, "EXISTS", name) == 0 || maptest.IntOf(t, raw, "PTTL", name) < 0
		}, maptest.Soon, 10*time.Millisecond)
		require.EqualValues(t, 1, maptest.IntOf(t, raw, "EXISTS", name))
		require.Equal(t, map[string]int{"b": 3}, allOf(t, other))
		_, _, err = sharding(t, maptest.EngineOn(t, raw), name, 8).Get(ctx, "b")
		require.ErrorIs(t, err, ErrInvalidArgument)
	})
}

// TestTheNumberStaysWithWhatComesLate: a write that was sent again for seconds adds a
// shard that stays, under whatever name.
func TestTheNumberStaysWithWhatComesLate(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"told once", "told twice", "renamed"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			raw := redistest.Shared(t).Client(t)
			ctx, e := t.Context(), maptest.EngineOn(t, raw)
			m, next := sharding(t, e, maptest.Named(t, raw), 4), sharding(t, e, maptest.Named(t, raw)+"-next", 4)
			require.NoError(t, m.Put(ctx, "k", 1))
			const d = 2500 * time.Millisecond
			_, err := m.Expire(ctx, d)
			require.NoError(t, err)
			since := func(passed time.Duration) { // the name was told
				t.Helper()
				redistest.Eventually(t, func() bool {
					left, err := raw.Do(ctx, raw.B().Pttl().Key(m.Name()).Build()).AsInt64()
					return err == nil && left <= (d+6*mapstore.Glance-passed).Milliseconds()
				}, maptest.Soon, 10*time.Millisecond)
			}
			switch how {
			case "told twice":
				since(1500 * time.Millisecond)
				_, err = m.Expire(ctx, d)
				require.NoError(t, err)
			case "renamed":
				done, err := m.Rename(ctx, next.Name())
				require.NoError(t, err)
				require.True(t, done)
				m = next
			}
			since(2700 * time.Millisecond)
			require.NoError(t, raw.Do(ctx, raw.B().Hset().Key(m.s.Object()[1]).FieldValue().FieldValue("late", "2").Build()).Error())
			redistest.Eventually(t, func() bool {
				left, err := raw.Do(ctx, raw.B().Pttl().Key(m.Name()).Build()).AsInt64()
				return err == nil && left < 0
			}, maptest.Soon, 10*time.Millisecond)
			require.EqualValues(t, 1, maptest.IntOf(t, raw, "EXISTS", m.Name()))
		})
	}
}

func TestAKeyOfAnotherTypeInAShardedMap(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		ctx := t.Context()
		plain := New[string, int](maptest.EngineOn(t, raw), maptest.Named(t, raw), WithCodec(codec.Text))
		require.NoError(t, plain.Put(ctx, "k", 1))
		m := sharding(t, maptest.EngineOn(t, raw), plain.Name(), 2)
		for name, op := range operations {
			if name == "lock" || aboutAll[name] {
				continue
			}
			err := op(ctx, unsharded(m), "k", 1)
			require.ErrorContains(t, err, fmt.Sprintf("key %q is no sharded map", m.Name()), name)
			require.NotErrorIs(t, err, ErrOutcomeUnknown, name)
		}
		for name, op := range wholes {
			require.ErrorContains(t, op(ctx, m), "is no sharded map", name)
		}
		require.Equal(t, map[string]int{"k": 1}, allOf(t, plain))

		require.NoError(t, raw.Do(ctx, raw.B().Set().Key(m.Name()).Value("text").Build()).Error())
		m = sharding(t, maptest.EngineOn(t, raw), plain.Name(), 2)
		require.ErrorIs(t, m.Put(ctx, "k", 1), ErrDecode)
		require.ErrorContains(t, plain.Put(ctx, "k", 1), "no hash")

		// A shard of another type.
		require.NoError(t, raw.Do(ctx, raw.B().Del().Key(m.Name()).Build()).Error())
		m = sharding(t, maptest.EngineOn(t, raw), plain.Name(), 1)
		key := keys.Shard(m.Name(), 0)
		require.NoError(t, raw.Do(ctx, raw.B().Set().Key(key).Value("text").Build()).Error())
		for name, op := range operations {
			if name == "lock" || name == "clear" || aboutAll[name] {
				continue
			}
			require.ErrorContains(t, op(ctx, unsharded(m), "k", 1), fmt.Sprintf("shard %q is no hash", key), name)
		}
	})
}

func TestWhatCannotBeUsedOfAShardedMap(t *testing.T) {
	t.Parallel()
	client, proxy := maptest.Through(t, redistest.Shared(t))
	e := maptest.EngineOn(t, client, func(c *core.Config) { c.MaxValue = 1000 })
	proxy.ResetLog()
	for what, m := range map[string]*Sharded[string, int]{
		"no shards":            NewSharded[string, int](e, "m", 0),
		"fewer":                NewSharded[string, int](e, "m", -1),
		"more than slots":      NewSharded[string, int](e, "m", slots+1),
		"an empty name":        NewSharded[string, int](e, "", 4),
		"a nil option":         NewSharded[string, int](e, "m", 4, nil),
		"a codec of nothing":   NewSharded[string, int](e, "m", 4, WithCodec(codec.Family{})),
		"another type's codec": NewSharded[string, int](e, "m", 4, WithValueCodec(codec.For[string](codec.Text))),
	} {
		for name, op := range operations {
			if !aboutAll[name] {
				require.ErrorIs(t, op(t.Context(), unsharded(m), "k", 1), ErrInvalidArgument, "%s: %s", what, name)
			}
		}
		for name, op := range wholes {
			require.ErrorIs(t, op(t.Context(), m), ErrInvalidArgument, "%s: %s", what, name)
		}
	}
	good := NewSharded[string, int](e, "m", 4)
	for name, op := range wholes {
		var none context.Context
		require.ErrorIs(t, op(none, good), ErrInvalidArgument, name)
	}
	for _, d := range []time.Duration{0, -1, core.LongestLease + 1} {
		_, err := good.Expire(t.Context(), d)
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	_, err := good.Rename(t.Context(), "")
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.ErrorIs(t, good.Put(t.Context(), string(make([]byte, 1001)), 1), ErrInvalidArgument)
	require.Zero(t, proxy.Count(redistest.Arg("m")))
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(assert.AnError)
	for name, op := range wholes {
		require.ErrorIs(t, op(ended, good), assert.AnError, name)
	}
	require.NoError(t, locking.Close(t.Context(), e))
	for name, op := range wholes {
		require.ErrorIs(t, op(t.Context(), good), ErrClosed, name)
	}
}

func TestRenamingAShardedMap(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		ctx, e := t.Context(), maptest.EngineOn(t, raw)
		m, over := sharding(t, e, maptest.Named(t, raw), 8), sharding(t, e, maptest.Named(t, raw)+"-new", 8)
		wider := sharding(t, e, maptest.Named(t, raw)+"-wider", 9)
		for _, each := range []*Sharded[string, int]{m, over, wider} {
			require.NoError(t, each.PutMany(ctx, numbered(50)))
		}
		_, err := m.Remove(ctx, "k1")
		require.NoError(t, err)
		_, err = m.Rename(ctx, wider.Name())
		require.ErrorIs(t, err, ErrInvalidArgument)
		require.ErrorContains(t, err, "it has 9 shards, and this handle was made for 8")
		want := allOf(t, m)
		there, err := m.Rename(ctx, over.Name())
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, want, allOf(t, over))
		require.Empty(t, allOf(t, m))
		left, err := raw.Do(ctx, raw.B().Exists().Key(m.s.Object()...).Build()).AsInt64()
		require.NoError(t, err)
		require.Zero(t, left)
	})
}

// TestAShardedMapIsCopied, and renamed, where nothing has the name. It goes at a time.
func TestAShardedMapIsCopied(t *testing.T) {
	t.Parallel()
	maptest.OnReal(t, func(t *testing.T, raw rueidis.Client) { // the embedded one has no MEMORY USAGE
		ctx, e, name := t.Context(), maptest.EngineOn(t, raw), maptest.Named(t, raw)
		m, other := sharding(t, e, name, 8), sharding(t, e, name+"-b", 8)
		third, wider := sharding(t, e, name+"-c", 8), sharding(t, e, name+"-wider", 9)
		is := func(want bool) func(is bool, err error) {
			return func(is bool, err error) { t.Helper(); require.NoError(t, err); require.Equal(t, want, is) }
		}
		size := func(m *Sharded[string, int]) int64 {
			t.Helper()
			n, err := m.SizeInMemory(ctx)
			require.NoError(t, err)
			return n
		}
		require.Zero(t, size(m))
		is(false)(m.Copy(ctx, other.Name()))
		is(false)(m.ExpireAt(ctx, time.Now().Add(time.Hour)))
		require.NoError(t, m.PutMany(ctx, numbered(50)))
		require.NoError(t, wider.PutMany(ctx, numbered(5)))
		require.Greater(t, size(m), int64(50*4))
		is(false)(m.Copy(ctx, wider.Name()))
		is(false)(m.RenameIfAbsent(ctx, wider.Name()))
		require.Equal(t, numbered(5), allOf(t, wider))
		is(true)(m.ExpireAt(ctx, time.Now().Add(time.Hour)))
		is(true)(m.Copy(ctx, other.Name()))
		left, err := other.Remaining(ctx)
		require.NoError(t, err)
		require.InDelta(t, time.Hour, left, float64(time.Minute))
		require.Equal(t, numbered(50), allOf(t, other))
		require.NoError(t, other.Put(ctx, "k1", 100))
		is(false)(m.Copy(ctx, other.Name()))
		is(false)(m.RenameIfAbsent(ctx, other.Name()))
		require.Equal(t, numbered(50), allOf(t, m), "the copy is another map")
		is(true)(m.RenameIfAbsent(ctx, third.Name()))
		require.Equal(t, numbered(50), allOf(t, third))
		is(false)(m.Exists(ctx))
		is(true)(third.ExpireAt(ctx, time.Now().Add(-time.Hour)))
		redistest.Eventually(t, func() bool {
			there, err := third.Exists(ctx)
			require.NoError(t, err)
			return !there
		}, maptest.Soon, time.Millisecond)
		_, err = other.ExpireAt(ctx, time.Time{})
		require.ErrorIs(t, err, ErrInvalidArgument)
	})
}

// TestALostReplyAboutAllShards: of one of many, without ids; with them nothing is
// seen of it. That of the number is sent again in any case.
func TestALostReplyAboutAllShards(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for name, c := range map[string]struct{ sends, ids redistest.Match }{
		"clear":   {redistest.Command("UNLINK"), redistest.MatchScript(mapstore.DeleteScript.Body())},
		"delete":  {redistest.Command("UNLINK"), redistest.MatchScript(mapstore.DeleteScript.Body())},
		"expire":  {redistest.MatchScript(mapstore.ExpireScript.Body()), redistest.MatchScript(mapstore.ExpireScript.Body())},
		"persist": {redistest.MatchScript(mapstore.ExpireScript.Body()), redistest.MatchScript(mapstore.ExpireScript.Body())},
		"rename":  {redistest.MatchScript(mapstore.RenameScript.Body()), redistest.MatchScript(mapstore.RenameScript.Body())},
	} {
		for _, ids := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, ids %t", name, ids), func(t *testing.T) {
				t.Parallel()
				client, proxy := maptest.Through(t, server)
				sends, opts := c.sends, []MapOption(nil)
				if ids {
					sends, opts = c.ids, []MapOption{WithRequestIDs()}
				}
				m := sharding(t, maptest.EngineOn(t, client), maptest.Named(t, raw), 5, opts...)
				sharding(t, maptest.EngineOn(t, raw), m.Name()+"-new", 5) // which goes with the test
				said := proxy.DropReply(redistest.All(redistest.MatchScript(mapstore.ShardsScript.Body()), redistest.Arg(m.Name())), 1)
				require.NoError(t, m.PutMany(t.Context(), numbered(50)))
				said.Await(t)
				lost := proxy.DropReply(redistest.All(sends, redistest.Arg(keys.Shard(m.Name(), 3))), 1)
				err := wholes[name](t.Context(), m)
				lost.Await(t)
				if ids {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, ErrOutcomeUnknown)
					require.NoError(t, wholes[name](t.Context(), m), "it may be called again")
				}
			})
		}
	}
}

func TestAShardedMapOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	raw := cluster.Client(t)
	t.Run("shards spread over the servers", func(t *testing.T) {
		m := sharding(t, maptest.EngineOn(t, raw), redistest.Name(t), 32)
		require.NoError(t, m.PutMany(t.Context(), numbered(1000)))
		nodes := map[string]bool{}
		for i := range 32 {
			nodes[cluster.Master(keys.Shard(m.Name(), i)).Addr()] = true
		}
		require.Greater(t, len(nodes), 2)
		require.Equal(t, numbered(1000), allOf(t, m))
		n, err := m.Len(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1000, n)
		_, err = m.Rename(t.Context(), m.Name()+"-new")
		require.ErrorIs(t, err, ErrInvalidArgument)
	})
	t.Run("the model", func(t *testing.T) {
		name := redistest.Name(t)
		runModel(t, uint64(time.Now().UnixNano()), func() Mapping[string, int] { return sharding(t, maptest.EngineOn(t, raw), name, 7) })
	})
	t.Run("names with braces are refused", func(t *testing.T) {
		for _, name := range []string{"{a}b", "a}", "{"} {
			require.ErrorIs(t, NewSharded[string, int](maptest.EngineOn(t, raw), name, 4).Put(t.Context(), "k", 1), ErrInvalidArgument)
		}
	})
	t.Run("a shard moves under load and under a walk", func(t *testing.T) {
		m := sharding(t, maptest.EngineOn(t, raw), redistest.Name(t), 4)
		require.NoError(t, m.PutMany(t.Context(), numbered(4000)))
		l := underLoad(t, unsharded(m))
		l.more(t)
		walked := map[string]bool{}
		for e, err := range m.All(t.Context(), WithPage(100)) {
			require.NoError(t, err)
			if walked[e.Key] = true; len(walked) == 300 {
				for _, key := range []string{keys.Shard(m.Name(), 0), m.Name()} {
					migration := cluster.StartMigration(t, key)
					l.more(t)
					migration.Move(t, key)
					l.more(t)
					migration.Finish(t)
				}
			}
		}
		l.more(t)
		l.end()
		require.Empty(t, l.failed)
		for k := range numbered(4000) {
			require.True(t, walked[k], k)
		}
	})
	t.Run("a failover", func(t *testing.T) {
		m := sharding(t, maptest.EngineOn(t, raw, maptest.ShortSends), redistest.Name(t), 4)
		key := m.s.Home("all")
		goesOn(t, unsharded(m), cluster.Master(key), func(addr string) { cluster.AwaitMaster(t, key, addr) })
	})
}
