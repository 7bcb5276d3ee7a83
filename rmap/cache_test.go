package rmap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/sweep"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// cacheOn is a cache of text on a clock that is moved by hand.
func cacheOn(t testing.TB, raw rueidis.Client, opts ...CacheOption) (*Cache[string, string], *maptest.HandClock) {
	t.Helper()
	at := maptest.NewHandClock()
	opts = append([]CacheOption{WithCodec(codec.Text)}, opts...)
	return NewCache[string, string](maptest.EngineOn(t, raw, at.On), maptest.CacheNamed(t, raw), opts...), at
}

func strOf(t testing.TB, raw rueidis.Client, cmd ...string) string {
	t.Helper()
	s, err := raw.Do(t.Context(), raw.B().Arbitrary(cmd[0]).Keys(cmd[1]).Args(cmd[2:]...).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return "-"
	}
	require.NoError(t, err)
	return s
}

func TestTheHandlesTimesAreThoseOfItsWritesUnlessACallHasOthers(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	m, at := cacheOn(t, raw, WithTTL(time.Minute), WithMaxIdle(time.Second))
	ttl := func(key string) time.Duration {
		d, err := m.TTL(t.Context(), key)
		require.NoError(t, err)
		return d
	}
	require.NoError(t, m.Put(t.Context(), "handle", "v"))
	require.NoError(t, m.Put(t.Context(), "call", "v", WithTTL(500*time.Microsecond+time.Millisecond), WithMaxIdle(time.Hour)))
	require.NoError(t, m.PutMany(t.Context(), map[string]string{"a": "1", "b": "2"}, WithMaxIdle(2*time.Second)))
	assert.Equal(t, time.Second, ttl("handle"))
	assert.Equal(t, 2*time.Millisecond, ttl("call"), "rounded up")
	assert.Equal(t, 2*time.Second, ttl("a"))
	at.Forward(500 * time.Millisecond)
	_, _, err := m.Compute(t.Context(), "computed", func(string, bool) (string, Verdict, error) { return "v", Store, nil })
	require.NoError(t, err)
	assert.Equal(t, time.Second, ttl("computed"))
	require.NoError(t, m.Put(t.Context(), "handle", "w", WithKeepTTL()))
	assert.Equal(t, time.Second, ttl("handle"), "its idle time begins anew")
	assert.Equal(t, "1800000060000", strOf(t, raw, "ZSCORE", keys.MapTimes(m.m.Key), "handle"), "its time to live does not")
	assert.Equal(t, time.Duration(0), ttl("no such"))
	ever := NewCache[string, string](m.m.Hub.Engine, m.Name(), WithCodec(codec.Text))
	require.NoError(t, ever.Put(t.Context(), "ever", "v"))
	assert.Equal(t, time.Duration(-1), ttl("ever"))
}

func TestABoundedCacheOfHandles(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		m, at := cacheOn(t, raw)
		for i := range 30 {
			require.NoError(t, m.Put(t.Context(), fmt.Sprint("old", i), "v"))
		}
		require.NoError(t, m.SetMaxSize(t.Context(), 3, LRU))
		require.Eventually(t, func() bool { n, err := m.Len(t.Context()); return err == nil && n == 3 }, maptest.Soon, 5*time.Millisecond)
		for _, k := range []string{"a", "b", "c"} {
			at.Forward(time.Millisecond)
			require.NoError(t, m.Put(t.Context(), k, k))
		}
		at.Forward(time.Millisecond)
		fresh := NewCache[string, string](maptest.EngineOn(t, raw, at.On), m.Name(), WithCodec(codec.Text))
		_, there, err := fresh.Get(t.Context(), "a") // it has never seen the bound
		require.NoError(t, err)
		require.True(t, there)
		at.Forward(time.Millisecond)
		require.NoError(t, fresh.Put(t.Context(), "d", "d"))
		got, err := fresh.GetMany(t.Context(), "a", "b", "c", "d")
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"a": "a", "c": "c", "d": "d"}, got)
		require.NoError(t, m.SetMaxSize(t.Context(), 0, LRU))
		require.NoError(t, m.Put(t.Context(), "e", "e"))
		n, err := m.Len(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 4, n)
	})
}

func TestEventsAreTyped(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		at := maptest.NewHandClock()
		name := maptest.CacheNamed(t, raw)
		writer := NewCache[int, string](maptest.EngineOn(t, raw, at.On), name)
		require.NoError(t, writer.Put(t.Context(), 0, "before anybody listens"))
		e := maptest.EngineOn(t, raw, at.On)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		events := NewCache[int, string](e, name).Events(ctx)
		require.NoError(t, writer.Put(t.Context(), 1, "a", WithTTL(time.Second)))
		_, err := writer.Replace(t.Context(), 1, "b")
		require.NoError(t, err)
		_, err = writer.Remove(t.Context(), 0)
		require.NoError(t, err)
		at.Forward(time.Second)
		want := map[EventKind]Event[int, string]{
			Created: {Created, 1, "a", ""}, Updated: {Updated, 1, "b", "a"},
			Removed: {Removed, 0, "before anybody listens", ""}, Expired: {Expired, 1, "b", ""},
		}
		for ev, err := range events {
			require.NoError(t, err)
			assert.Equal(t, want[ev.Kind], ev, ev.Kind)
			if delete(want, ev.Kind); len(want) == 0 {
				break
			}
		}
		require.Eventually(t, func() bool { return e.Wall() > 0 && sweep.Of(e).Len() == 0 }, maptest.Soon, 5*time.Millisecond)
		for range events {
			break // it does not come to life again
		}
	})
}

// TestALongEntryIsToldOfWhenItExpires, though the server looks first whether somebody listens.
func TestALongEntryIsToldOfWhenItExpires(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		long := strings.Repeat("x", 100<<10)
		for how, hears := range map[string]func(ctx context.Context, e *locking.Engine, name string) iter.Seq2[string, error]{
			"nobody": func(context.Context, *locking.Engine, string) iter.Seq2[string, error] { return nil },
			"events": func(ctx context.Context, e *locking.Engine, name string) iter.Seq2[string, error] {
				events := NewCache[string, string](e, name, textual).Events(ctx, Expired)
				return func(yield func(string, error) bool) {
					for ev, err := range events {
						if !yield(ev.Value, err) {
							return
						}
					}
				}
			},
		} {
			t.Run(how, func(t *testing.T) {
				at := maptest.NewHandClock()
				e, name := maptest.EngineOn(t, raw, at.On), maptest.CacheNamed(t, raw)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				heard := hears(ctx, e, name)
				m := NewCache[string, string](e, name, textual)
				require.NoError(t, m.PutMany(t.Context(), map[string]string{"a": long, "b": long, "c": long}, WithTTL(time.Second)))
				at.Forward(time.Second)
				for n := 0; heard != nil && n < 3; {
					for got, err := range heard {
						require.NoError(t, err)
						require.Equal(t, long, got)
						if n++; n == 3 {
							break
						}
					}
				}
				redistest.Eventually(t, func() bool {
					n, err := raw.Do(t.Context(), raw.B().Hlen().Key(m.m.Key).Build()).AsInt64()
					return err == nil && n == 0
				}, redistest.Soon, 5*time.Millisecond)
			})
		}
	})
}

func TestEventsEnd(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	m, _ := cacheOn(t, raw)
	ctx, cancel := context.WithCancelCause(t.Context())
	events := m.Events(ctx, Created)
	why := errors.New("why")
	cancel(why)
	for _, err := range events {
		require.ErrorIs(t, err, why)
		require.ErrorContains(t, err, m.Name())
	}
	for _, err := range m.Events(t.Context(), Gap) {
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	for _, err := range NewCache[string, string](m.m.Hub.Engine, "").Events(t.Context()) {
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	e := maptest.EngineOn(t, raw)
	events = NewCache[string, string](e, m.Name()).Events(t.Context())
	require.NoError(t, locking.Close(context.Background(), e))
	for _, err := range events {
		require.ErrorIs(t, err, ErrClosed)
	}
}

func TestALostConnectionIsAGap(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := maptest.Through(t, server)
	raw := server.Client(t)
	name := maptest.CacheNamed(t, raw)
	events := NewCache[string, string](maptest.EngineOn(t, client), name).Events(t.Context(), Created)
	writer := NewCache[string, string](maptest.EngineOn(t, raw), name)
	proxy.CutAll()
	var wrote sync.WaitGroup
	done := make(chan struct{})
	defer wrote.Wait()
	defer close(done)
	wrote.Go(func() { // until the reader has heard what it waits for
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
				assert.NoError(t, writer.Put(context.Background(), fmt.Sprint(i), "v"))
			}
		}
	})
	var told []string
	for ev, err := range events {
		if len(told) < 2 && err == nil && ev.Kind == Created {
			continue // it had come by the connection that was cut
		}
		if err != nil {
			require.ErrorIs(t, err, core.ErrNotice)
			ev.Kind = 0
		}
		switch {
		case errors.Is(err, ErrDisconnected):
			told = append(told, "away")
		case errors.Is(err, ErrReconnected):
			told = append(told, "back")
		default:
			told = append(told, ev.Kind.String())
		}
		if len(told) == 4 {
			break
		}
	}
	require.Equal(t, []string{"away", "back", "gap", "created"}, told)
}

// TestCacheEventsOfSeveralKindsAreLostTogether: each kind has a subscription, and the loop is told once.
func TestCacheEventsOfSeveralKindsAreLostTogether(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := maptest.Through(t, server)
	name := maptest.CacheNamed(t, server.Client(t))
	events := NewCache[string, string](maptest.EngineOn(t, client), name).Events(t.Context())
	for range 2 {
		proxy.Refuse()
		proxy.CutAll()
		var told []error
		for ev, err := range events {
			if told = append(told, err); errors.Is(err, ErrDisconnected) {
				proxy.Accept()
			}
			if ev.Kind == Gap {
				break
			}
		}
		require.Len(t, told, 3)
		require.ErrorIs(t, told[0], ErrDisconnected)
		require.ErrorIs(t, told[1], ErrReconnected)
		require.NoError(t, told[2])
		events = NewCache[string, string](maptest.EngineOn(t, client), name).Events(t.Context())
	}
}

// Whoever deletes a cache, or its options, makes nobody deaf for long.
func TestADeletedCacheIsListenedToAgain(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	name := maptest.CacheNamed(t, raw)
	m := NewCache[string, string](maptest.EngineOn(t, raw), name)
	events := m.Events(t.Context(), Created)
	_, err := m.Delete(t.Context())
	require.NoError(t, err)
	redistest.Eventually(t, func() bool { return strOf(t, raw, "HGET", keys.MapOptions(name), "has-listeners") == "1" }, maptest.Soon, 10*time.Millisecond)
	require.NoError(t, m.Put(t.Context(), "k", "v"))
	for ev, err := range events {
		require.NoError(t, err)
		assert.Equal(t, Event[string, string]{Created, "k", "v", ""}, ev)
		break
	}
}

func TestWhatDoesNotDecodeInACacheIsNamed(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	name := maptest.CacheNamed(t, raw)
	m := NewCache[string, int](maptest.EngineOn(t, raw), name, WithCodec(codec.Text))
	require.NoError(t, m.Put(t.Context(), "good", 7))
	events := m.Events(t.Context(), Created)
	for key, packed := range map[string]string{
		"short": "x", "long": string(mapcache.Pack(nil, "1", 0)) + "2", "value": string(mapcache.Pack(nil, "seven", 0)),
	} {
		require.NoError(t, raw.Do(t.Context(), raw.B().Hset().Key(name).FieldValue().FieldValue(key, packed).Build()).Error())
		check := func(err error) {
			t.Helper()
			var undecoded *codec.DecodeError
			require.ErrorAs(t, err, &undecoded, key)
			assert.Equal(t, name, undecoded.Name)
			assert.Equal(t, key, undecoded.Key)
			assert.ErrorIs(t, err, ErrDecode)
		}
		_, _, err := m.Get(t.Context(), key)
		check(err)
		got, err := m.GetMany(t.Context(), key, "good")
		check(err)
		assert.Equal(t, map[string]int{"good": 7}, got)
		_, _, err = m.PutIfAbsent(t.Context(), key, 1)
		check(err)
		_, _, err = m.Compute(t.Context(), key, increment)
		check(err)
		seen := 0
		for e, err := range m.All(t.Context()) {
			if seen++; err != nil {
				check(err)
				assert.ErrorIs(t, err, core.ErrNotice)
			} else {
				assert.Equal(t, Entry[string, int]{"good", 7}, e)
			}
		}
		assert.Equal(t, 2, seen, "and the walk goes on")
		_, _, err = m.Take(t.Context(), key)
		check(err)
	}
	publish := func(payload string) {
		require.NoError(t, raw.Do(t.Context(), raw.B().Publish().Channel(mapcache.Created.Channel(name)).Message(payload).Build()).Error())
	}
	publish("nonsense")
	require.NoError(t, m.Put(t.Context(), "new", 8))
	broken := 0
	for ev, err := range events {
		if err != nil {
			require.ErrorIs(t, err, ErrDecode)
			broken++
			continue
		}
		assert.Equal(t, Event[string, int]{Created, "new", 8, 0}, ev)
		break
	}
	assert.Equal(t, 1, broken)
}

func btoi(is bool) int {
	if is {
		return 1
	}
	return 0
}

func TestWhatACacheRefuses(t *testing.T) {
	t.Parallel()
	client, proxy := maptest.Through(t, redistest.Shared(t))
	e := maptest.EngineOn(t, client)
	m := NewCache[string, int](e, "m")
	proxy.ResetLog()
	for _, d := range []time.Duration{0, -1, time.Millisecond - 1, core.LongestLease + 1, math.MaxInt64} {
		for _, opt := range []IdleOption{WithTTL(d), WithMaxIdle(d)}[btoi(d == 0):] { // WithTTL(0) is no end
			require.ErrorIs(t, m.Put(t.Context(), "k", 1, opt), ErrInvalidArgument, d)
			_, err := m.Touch(t.Context(), "k", opt)
			require.ErrorIs(t, err, ErrInvalidArgument, d)
			_, _, err = NewCache[string, int](e, "m", opt).Get(t.Context(), "k")
			require.ErrorIs(t, err, ErrInvalidArgument, d)
		}
		_, err := m.Expire(t.Context(), d)
		require.ErrorIs(t, err, ErrInvalidArgument, d)
	}
	for _, n := range []int64{-1, math.MaxInt32 + 1, math.MinInt64} {
		require.ErrorIs(t, m.SetMaxSize(t.Context(), n, LRU), ErrInvalidArgument)
	}
	require.ErrorIs(t, m.SetMaxSize(t.Context(), 1, Order(2)), ErrInvalidArgument)
	require.ErrorIs(t, m.SetMaxBytes(t.Context(), -1, LRU), ErrInvalidArgument)
	require.ErrorIs(t, m.SetMaxBytes(t.Context(), 1, Order(2)), ErrInvalidArgument)
	require.ErrorIs(t, New[string, int](e, "m").Put(t.Context(), "k", 1, WithMaxIdle(time.Second)), ErrInvalidArgument)
	require.ErrorIs(t, NewTTLMap[string, int](e, "m").Put(t.Context(), "k", 1, WithMaxIdle(time.Second)), ErrInvalidArgument)
	require.ErrorIs(t, NewCache[string, int](e, "").Put(t.Context(), "k", 1), ErrInvalidArgument)
	var none context.Context
	require.ErrorIs(t, m.SetMaxSize(none, 1, LRU), ErrInvalidArgument)
	assert.Empty(t, proxy.Log(), "nothing was sent")
}

// TestALostReplyOfACache drops the reply to each write once; see TestALostReply.
func TestALostReplyOfACache(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	text := WithCodec(codec.Text)
	for name, c := range map[string]struct {
		sends, ids redistest.Match
		do         func(ctx context.Context, m *Cache[string, int]) (any, error)
		answer     any
		left       map[string]int
	}{
		"put": {redistest.MatchScript(mapcache.Put.Body()), redistest.MatchScript(mapcache.PutMany.Body()), func(ctx context.Context, m *Cache[string, int]) (any, error) {
			return nil, m.Put(ctx, "k", 6)
		}, nil, map[string]int{"k": 6}},
		"put many": {redistest.MatchScript(mapcache.PutMany.Body()), nil, func(ctx context.Context, m *Cache[string, int]) (any, error) {
			return nil, m.PutMany(ctx, map[string]int{"k": 6, "l": 7})
		}, nil, map[string]int{"k": 6, "l": 7}},
		"swap": {redistest.MatchScript(mapcache.Swap.Body()), nil, func(ctx context.Context, m *Cache[string, int]) (any, error) {
			old, _, err := m.Swap(ctx, "k", 6)
			return old, err
		}, 5, map[string]int{"k": 6}},
		"take": {redistest.MatchScript(mapcache.Take.Body()), nil, func(ctx context.Context, m *Cache[string, int]) (any, error) {
			old, _, err := m.Take(ctx, "k")
			return old, err
		}, 5, map[string]int{}},
		"remove": {redistest.MatchScript(mapcache.Remove.Body()), nil, func(ctx context.Context, m *Cache[string, int]) (any, error) {
			return m.Remove(ctx, "k", "l")
		}, int64(1), map[string]int{}},
		"clear": {redistest.Command("UNLINK"), redistest.MatchScript(mapstore.DeleteScript.Body()), func(ctx context.Context, m *Cache[string, int]) (any, error) {
			return nil, m.Clear(ctx)
		}, nil, map[string]int{}},
		"put if absent": {redistest.MatchScript(mapcache.PutIfAbsent.Body()), nil, func(ctx context.Context, m *Cache[string, int]) (any, error) {
			_, stored, err := m.PutIfAbsent(ctx, "l", 7)
			return stored, err
		}, true, map[string]int{"k": 5, "l": 7}},
		"replace": {redistest.MatchScript(mapcache.Replace.Body()), nil, func(ctx context.Context, m *Cache[string, int]) (any, error) {
			return m.Replace(ctx, "k", 6)
		}, true, map[string]int{"k": 6}},
		"compare and swap": {redistest.MatchScript(mapcache.Change.Body()), nil, func(ctx context.Context, m *Cache[string, int]) (any, error) {
			return m.CompareAndSwap(ctx, "k", 5, 6)
		}, true, map[string]int{"k": 6}},
		"compute": {redistest.MatchScript(mapcache.Change.Body()), nil, func(ctx context.Context, m *Cache[string, int]) (any, error) {
			n, _, err := m.Compute(ctx, "k", increment)
			return n, err
		}, 6, map[string]int{"k": 6}},
		"add": {redistest.MatchScript(mapcache.Add.Body()), nil, func(ctx context.Context, m *Cache[string, int]) (any, error) {
			return Add(ctx, m, "k", 2)
		}, 7, map[string]int{"k": 7}},
		"touch": {redistest.MatchScript(mapcache.Touch.Body()), nil, func(ctx context.Context, m *Cache[string, int]) (any, error) {
			return m.Touch(ctx, "k", WithTTL(time.Hour))
		}, true, map[string]int{"k": 5}},
		"expire": {redistest.MatchScript(mapcache.Expire.Body()), nil, func(ctx context.Context, m *Cache[string, int]) (any, error) {
			return m.Expire(ctx, time.Hour)
		}, true, map[string]int{"k": 5}},
		"persist": {redistest.MatchScript(mapcache.Persist.Body()), nil, func(ctx context.Context, m *Cache[string, int]) (any, error) {
			_, err := m.Expire(ctx, time.Hour)
			require.NoError(t, err)
			return m.Persist(ctx)
		}, true, map[string]int{"k": 5}},
		"compare and remove": {redistest.MatchScript(mapcache.Change.Body()), nil, func(ctx context.Context, m *Cache[string, int]) (any, error) {
			return m.CompareAndRemove(ctx, "k", 5)
		}, true, map[string]int{}},
		"delete": {redistest.Command("UNLINK"), redistest.MatchScript(mapstore.DeleteScript.Body()), func(ctx context.Context, m *Cache[string, int]) (any, error) {
			return m.Delete(ctx)
		}, true, map[string]int{}},
		"rename": {redistest.MatchScript(mapstore.RenameScript.Body()), nil, func(ctx context.Context, m *Cache[string, int]) (any, error) {
			to := m.Name() + "-new"
			t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(mapstore.ObjectOf(to)...).Build()) })
			return m.Rename(ctx, to)
		}, true, map[string]int{}},
		"bound": {redistest.MatchScript(mapcache.SetBound.Body()), nil, func(ctx context.Context, m *Cache[string, int]) (any, error) {
			return nil, m.SetMaxSize(ctx, 10, LFU)
		}, nil, map[string]int{"k": 5}},
		"bound by bytes": {redistest.MatchScript(mapcache.SetBytes.Body()), nil, func(ctx context.Context, m *Cache[string, int]) (any, error) {
			return nil, m.SetMaxBytes(ctx, 1000, LFU)
		}, nil, map[string]int{"k": 5}},
		"put that evicts": {redistest.MatchScript(mapcache.PutBounded.Body()), redistest.MatchScript(mapcache.PutMany.Body()), func(ctx context.Context, m *Cache[string, int]) (any, error) {
			require.NoError(t, m.SetMaxSize(ctx, 1, LRU))
			require.NoError(t, raw.Do(ctx, raw.B().Zadd().Key(m.c.Names.Accesses).ScoreMember().ScoreMember(1, "k").Build()).Error())
			return nil, m.Put(ctx, "l", 7)
		}, nil, map[string]int{"l": 7}},
		"put that is told of": {redistest.MatchScript(mapcache.PutMany.Body()), nil, func(ctx context.Context, m *Cache[string, int]) (any, error) {
			require.NoError(t, raw.Do(ctx, raw.B().Hset().Key(m.c.Names.Options).FieldValue().FieldValue("has-listeners", "1").Build()).Error())
			return nil, m.Put(ctx, "k", 7)
		}, nil, map[string]int{"k": 7}},
	} {
		for _, ids := range []bool{false, true} {
			t.Run(name+map[bool]string{false: "", true: " with ids"}[ids], func(t *testing.T) {
				t.Parallel()
				client, proxy := maptest.Through(t, server)
				key := maptest.CacheNamed(t, raw)
				opts, sends := []CacheOption{text}, c.sends
				if ids {
					opts = append(opts, WithRequestIDs())
					if c.ids != nil {
						sends = c.ids
					}
				}
				m := NewCache[string, int](maptest.EngineOn(t, client), key, opts...)
				look := NewCache[string, int](maptest.EngineOn(t, raw), key, text)
				require.NoError(t, look.Put(t.Context(), "k", 5))
				about := key
				if name == "bound" || name == "bound by bytes" {
					about = m.c.Names.Options
				}
				lost := proxy.DropReply(redistest.All(sends, redistest.Arg(about)), 1)
				answer, err := c.do(t.Context(), m)
				lost.Await(t)
				safe := name == "expire" || name == "bound" || name == "bound by bytes" // a second run sets the same
				if ids || safe {
					require.NoError(t, err)
					require.Equal(t, c.answer, answer)
				} else {
					require.ErrorIs(t, err, ErrOutcomeUnknown)
					require.ErrorContains(t, err, key)
				}
				left := map[string]int{}
				for e, err := range look.All(t.Context()) {
					require.NoError(t, err)
					left[e.Key] = e.Value
				}
				require.Equal(t, c.left, left)
			})
		}
	}
}

func TestAReadOfACacheIsSentAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for name, c := range map[string]struct {
		match redistest.Match
		do    func(ctx context.Context, m *Cache[string, int]) error
	}{
		"get": {redistest.MatchScript(mapcache.Get.Body()), func(ctx context.Context, m *Cache[string, int]) error { _, _, err := m.Get(ctx, "k"); return err }},
		"get many": {redistest.MatchScript(mapcache.Get.Body()), func(ctx context.Context, m *Cache[string, int]) error {
			_, err := m.GetMany(ctx, "k", "l")
			return err
		}},
		"has": {redistest.MatchScript(mapcache.Has.Body()), func(ctx context.Context, m *Cache[string, int]) error { _, err := m.Has(ctx, "k"); return err }},
		"ttl": {redistest.MatchScript(mapcache.TTL.Body()), func(ctx context.Context, m *Cache[string, int]) error { _, err := m.TTL(ctx, "k"); return err }},
		"all": {redistest.MatchScript(mapcache.Scan.Body()), func(ctx context.Context, m *Cache[string, int]) error {
			for _, err := range m.All(ctx) {
				return err
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, proxy := maptest.Through(t, server)
			m := NewCache[string, int](maptest.EngineOn(t, client), maptest.CacheNamed(t, client))
			require.NoError(t, m.Put(t.Context(), "k", 5, WithMaxIdle(time.Hour)))
			lost := proxy.DropReply(redistest.All(c.match, redistest.Arg(m.Name())), 1)
			require.NoError(t, c.do(t.Context(), m))
			lost.Await(t)
		})
	}
}

// What may have been written is swept, too.
func TestAWriteOfUnknownOutcomeIsSwept(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := maptest.Through(t, server)
	raw := server.Client(t)
	at := maptest.NewHandClock() // nothing expires until it is told to
	m := NewCache[string, int](maptest.EngineOn(t, client, at.On), maptest.CacheNamed(t, raw))
	lost := proxy.DropReply(redistest.MatchScript(mapcache.Put.Body()), 1)
	require.ErrorIs(t, m.Put(t.Context(), "k", 1, WithTTL(200*time.Millisecond)), ErrOutcomeUnknown)
	lost.Await(t)
	assert.NotEqual(t, "-", strOf(t, raw, "HGET", m.Name(), "k"))
	at.Forward(time.Second)
	redistest.Eventually(t, func() bool { return strOf(t, raw, "HGET", m.Name(), "k") == "-" }, maptest.Soon, 5*time.Millisecond)
}

func TestGetsOfManyGoroutinesGoTogether(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	m, at := cacheOn(t, raw, WithTTL(time.Second))
	ever := NewCache[string, string](m.m.Hub.Engine, m.Name(), WithCodec(codec.Text))
	for i := range 50 {
		require.NoError(t, m.Put(t.Context(), fmt.Sprint("over", i), "v"))
		require.NoError(t, ever.Put(t.Context(), fmt.Sprint("ever", i), fmt.Sprint(i)))
	}
	at.Forward(time.Second - time.Nanosecond) // the sweeper has nothing to do yet
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			for i := range 50 {
				v, there, err := m.Get(t.Context(), fmt.Sprint("ever", i))
				if err != nil || !there || v != fmt.Sprint(i) {
					t.Error(v, there, err)
				}
				_, there, err = m.Get(t.Context(), fmt.Sprint("none", i))
				if err != nil || there {
					t.Error(there, err)
				}
			}
		})
	}
	all.Wait()
}

func TestACacheIsRenamedAndGoes(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	m, _ := cacheOn(t, raw)
	to := NewCache[string, string](m.m.Hub.Engine, maptest.CacheNamed(t, raw)+"to", WithCodec(codec.Text))
	t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(mapstore.ObjectOf(to.Name())...).Build()) })
	require.NoError(t, m.Put(t.Context(), "k", "v", WithTTL(time.Hour), WithMaxIdle(time.Hour)))
	require.NoError(t, to.Put(t.Context(), "old", "v", WithMaxIdle(time.Hour)))
	did, err := m.Expire(t.Context(), time.Minute)
	require.NoError(t, err)
	require.True(t, did)
	left, err := m.Remaining(t.Context())
	require.NoError(t, err)
	assert.Greater(t, left, 30*time.Second, "D4: it is there still")
	did, err = m.Rename(t.Context(), to.Name())
	require.NoError(t, err)
	require.True(t, did)
	for key, err := range to.Keys(t.Context()) {
		require.NoError(t, err)
		assert.Equal(t, "k", key)
	}
	d, err := to.TTL(t.Context(), "k")
	require.NoError(t, err)
	assert.Equal(t, time.Hour, d)
	did, err = to.Persist(t.Context())
	require.NoError(t, err)
	assert.True(t, did)
	left, err = to.Remaining(t.Context())
	require.NoError(t, err)
	assert.Equal(t, time.Duration(-1), left)
	did, err = to.Delete(t.Context())
	require.NoError(t, err)
	assert.True(t, did)
	n, err := raw.Do(t.Context(), raw.B().Exists().Key(append(mapstore.ObjectOf(m.Name()), mapstore.ObjectOf(to.Name())...)...).Build()).AsInt64()
	require.NoError(t, err)
	assert.Zero(t, n)
}

func TestEveryScriptOfACacheIsCalledAsItsHeaderSays(t *testing.T) {
	t.Parallel()
	r := redistest.RecordScripts(t, maptest.MiniredisClient(t))
	e := maptest.EngineOn(t, r)
	for _, name := range []string{"cache", "{u1}:cache", "a{b}c"} {
		for _, opts := range [][]CacheOption{{}, {WithRequestIDs()}} {
			m := NewCache[string, int](e, name, append(opts, WithCodec(codec.Text), WithTTL(time.Hour), WithMaxIdle(time.Hour))...)
			for op, do := range map[string]func() error{
				"put":      func() error { return m.Put(t.Context(), "k", 1) },
				"keep":     func() error { return m.Put(t.Context(), "k", 1, WithKeepTTL()) },
				"put many": func() error { return m.PutMany(t.Context(), map[string]int{"k": 1, "l": 1}) },
				"swap":     func() error { _, _, err := m.Swap(t.Context(), "k", 1); return err },
				"absent":   func() error { _, _, err := m.PutIfAbsent(t.Context(), "k", 1); return err },
				"replace":  func() error { _, err := m.Replace(t.Context(), "k", 1); return err },
				"cas":      func() error { _, err := m.CompareAndSwap(t.Context(), "k", 1, 1); return err },
				"compute":  func() error { _, _, err := m.Compute(t.Context(), "k", increment); return err },
				"add":      func() error { _, err := Add(t.Context(), m, "k", 1); return err },
				"get":      func() error { _, _, err := m.Get(t.Context(), "k"); return err },
				"get many": func() error { _, err := m.GetMany(t.Context(), "k", "l"); return err },
				"has":      func() error { _, err := m.Has(t.Context(), "k"); return err },
				"ttl":      func() error { _, err := m.TTL(t.Context(), "k"); return err },
				"touch":    func() error { _, err := m.Touch(t.Context(), "k"); return err },
				"peek":     func() error { _, err := m.PeekMany(t.Context(), "k", "l"); return err },
				"ttls":     func() error { _, err := m.TTLMany(t.Context(), "k", "l"); return err },
				"expires": func() error {
					_, err := m.ExpireEntries(t.Context(), []string{"k", "l"}, time.Hour, IfLess)
					return err
				},
				"random":  func() error { _, err := m.RandomEntries(t.Context(), 2); return err },
				"if none": func() error { _, err := m.SetMaxSizeIfAbsent(t.Context(), 10, LFU); return err },
				"all": func() error {
					for _, err := range m.All(t.Context(), WithMatch("*")) {
						return err
					}
					return nil
				},
				"take":    func() error { _, _, err := m.Take(t.Context(), "l"); return err },
				"remove":  func() error { _, err := m.Remove(t.Context(), "l", "m"); return err },
				"expire":  func() error { _, err := m.Expire(t.Context(), time.Hour); return err },
				"persist": func() error { _, err := m.Persist(t.Context()); return err },
				"bound":   func() error { return m.SetMaxSize(t.Context(), 10, LFU) },
				"bytes":   func() error { return m.SetMaxBytes(t.Context(), 10_000, LFU) },
			} {
				require.NoError(t, do(), op)
				for _, call := range r.Take() {
					call.Check(t)
					assert.True(t, e.SameSlot(append([]string{name}, call.Keys...)...), call.Keys)
				}
			}
		}
	}
}

func TestTheObserverHearsOfSweepsEvictionsAndEvents(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	at, w := maptest.NewHandClock(), &maptest.Watcher{Events: map[string]int{}}
	name := maptest.CacheNamed(t, raw)
	m := NewCache[string, int](maptest.EngineOn(t, raw, at.On, func(c *core.Config) { c.Caches = w }), name)
	m.Events(t.Context(), Created, Expired)
	require.NoError(t, m.SetMaxSize(t.Context(), 2, LRU))
	for i := range 3 {
		require.NoError(t, m.Put(t.Context(), fmt.Sprint(i), i, WithTTL(time.Second)))
		at.Forward(time.Millisecond)
	}
	at.Forward(time.Second)
	require.Eventually(t, func() bool {
		w.Mu.Lock()
		defer w.Mu.Unlock()
		expired, evicted := int64(0), int64(0)
		for _, s := range w.Sweeps {
			expired, evicted = expired+s.Expired, evicted+s.Evicted
			if s.Cache != name || s.Err != nil || s.Written != (s.Took == 0) {
				return false
			}
		}
		return expired == 2 && evicted == 1 && w.Events[name+" created"] == 3 && w.Events[name+" expired"] == 2
	}, maptest.Soon, 5*time.Millisecond, "%+v", w)
}
