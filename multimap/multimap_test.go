package multimap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/hashscan"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/sweep"
)

func TestAMultimapInRedis(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		at := enginetest.NewClock()
		e, name, ctx := engineOn(t, raw, at.To), redistest.Name(t), t.Context()
		text := WithCodec(codec.Text)
		l, s := NewList[string, int](e, name+"l", text), NewSet[string, int](e, name+"s", text)
		t.Cleanup(func() { _, _ = l.Delete(context.Background()); _, _ = s.Delete(context.Background()) })
		require.NoError(t, l.Put(ctx, "abc", 1))
		require.NoError(t, l.PutAll(ctx, "abc", 1, 2))
		added, err := s.Put(ctx, "abc", 1)
		require.NoError(t, err)
		require.True(t, added)
		n, err := s.PutAll(ctx, "abc", 1, 2)
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		for key, want := range map[string]string{l.Name(): "llen", s.Name(): "scard"} {
			require.Equal(t, "BhA5LsZVetaLy1jDRVlHJg", strOf(t, raw, "HGET", key, "abc"))
			require.Positive(t, intOf(t, raw, want, "{"+key+"}:BhA5LsZVetaLy1jDRVlHJg"))
		}
		got, err := l.Get(ctx, "abc")
		require.NoError(t, err)
		require.Equal(t, []int{1, 1, 2}, got)
		for _, expire := range []func(context.Context, string, time.Duration) (bool, error){l.Expire, s.Expire} {
			there, err := expire(ctx, "abc", time.Minute)
			require.NoError(t, err)
			require.True(t, there)
		}
		require.Equal(t, "1800000060000", strOf(t, raw, "ZSCORE", "{"+l.Name()+"}:redisson_list_multimap_ttl", "abc"))
		require.Equal(t, "1800000060000", strOf(t, raw, "ZSCORE", "{"+s.Name()+"}:redisson_set_multimap_ttl", "abc"))
		hold, err := l.Lock("abc").Lock(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 1, intOf(t, raw, "EXISTS", "{"+l.Name()+"}:BhA5LsZVetaLy1jDRVlHJg:lock"))
		require.NoError(t, hold.Unlock(ctx))
	})
}

// TestAKeyWithoutValuesIsNone (D17): Redisson's replaceValues with none leaves such
// a field. So does nothing here, and what Redisson has left counts for nothing and
// goes.
func TestAKeyWithoutValuesIsNone(t *testing.T) {
	t.Parallel()
	onKinds(t, func(t *testing.T, raw rueidis.Client, kind string) {
		ctx, g := t.Context(), multiOn(t, kind, engineOn(t, raw), redistest.Name(t))
		index := g.names.index
		for _, empties := range []func() error{
			func() error { _, err := g.replace(ctx, "replace", "k"); return err },
			func() error { _, err := g.Remove(ctx, "k", "v"); return err },
			func() error { _, err := g.RemoveKeys(ctx, "k"); return err },
		} {
			_, err := g.put(ctx, "k", "v")
			require.NoError(t, err)
			_, err = g.expire(ctx, "expire", "k", time.Hour)
			require.NoError(t, err)
			require.NoError(t, empties())
			require.Zero(t, intOf(t, raw, "EXISTS", index))
			require.Zero(t, intOf(t, raw, "EXISTS", g.names.ends))
		}
		left := func() {
			raws(t, raw, "HSET "+index+" k "+keys.GroupField("k"), "ZADD "+g.names.ends+" 9000000000001 k")
		}
		left()
		n, err := g.Count(ctx, "k")
		require.NoError(t, err)
		require.Zero(t, n)
		for range g.All(ctx) {
			require.Fail(t, "it has no entry")
		}
		there, err := g.expire(ctx, "expire", "k", time.Hour)
		require.NoError(t, err)
		require.False(t, there)
		for range g.Keys(ctx) {
			require.Fail(t, "it is no key")
		}
		n, err = g.Len(ctx)
		require.NoError(t, err)
		require.Zero(t, n)
		require.EqualValues(t, 2, intOf(t, raw, "EXISTS", index, g.names.ends), "reads write nothing")
		_, err = g.put(ctx, "k", "v")
		require.NoError(t, err)
		require.Equal(t, "-", strOf(t, raw, "ZSCORE", g.names.ends, "k"), "it begins anew")
	})
}

// TestWhatIsPutToAKeyThatHasEnded (D18) is seen, alone, and stays. Redisson adds it
// to what has ended, and sweeps it.
func TestWhatIsPutToAKeyThatHasEnded(t *testing.T) {
	t.Parallel()
	onKinds(t, func(t *testing.T, raw rueidis.Client, kind string) {
		for what, write := range map[string]func(g *multi[string, string]) error{
			"put": func(g *multi[string, string]) error { _, err := g.put(t.Context(), "k", "new"); return err },
			"replace": func(g *multi[string, string]) error {
				_, err := g.replace(t.Context(), "replace", "k", "new")
				return err
			},
		} {
			ctx, at := t.Context(), enginetest.NewClock()
			e := engineOn(t, raw, at.To)
			g := multiOn(t, kind, e, redistest.Name(t)+what)
			push := map[string]string{"list": "RPUSH ", "set": "SADD "}[kind]
			// As Java leaves it: ended, not swept, and added to.
			raws(t, raw, "HSET "+g.names.index+" k "+keys.GroupField("k"), push+keys.Values(g.names.index, "k")+" old late",
				"ZADD "+g.names.ends+" 1799999999999 k")
			got, err := g.Get(ctx, "k")
			require.NoError(t, err)
			require.Empty(t, got)
			has, err := g.HasEntry(ctx, "k", "late")
			require.NoError(t, err)
			require.False(t, has)
			had, err := g.Remove(ctx, "k", "late")
			require.NoError(t, err)
			require.False(t, had)
			require.NoError(t, write(g))
			g.names.sweep(e)
			got, err = g.Get(ctx, "k")
			require.NoError(t, err)
			require.Equal(t, []string{"new"}, got)
			require.Equal(t, "-", strOf(t, raw, "ZSCORE", g.names.ends, "k"))

			// What has ended is not returned as what was there, either.
			raws(t, raw, "ZADD "+g.names.ends+" 1799999999999 k")
			old, err := g.replace(ctx, "replace", "k", "newer")
			require.NoError(t, err)
			require.Empty(t, old)
			// An end that Redisson's fastRemove has left is none of the next key's.
			raws(t, raw, "DEL "+g.names.index, "DEL "+keys.Values(g.names.index, "k"), "ZADD "+g.names.ends+" 1900000000001 k")
			require.NoError(t, write(g))
			require.Equal(t, "-", strOf(t, raw, "ZSCORE", g.names.ends, "k"))
		}
	})
}

// TestANameWithBracesIsSwept (D19): Redisson leaves the values. What it has left is
// not seen here, and not added to.
func TestANameWithBracesIsSwept(t *testing.T) {
	t.Parallel()
	onKinds(t, func(t *testing.T, raw rueidis.Client, kind string) {
		ctx, at := t.Context(), enginetest.NewClock()
		e := engineOn(t, raw, at.To)
		g := multiOn(t, kind, e, "{"+redistest.Name(t)+"}:m")
		_, err := g.put(ctx, "k", "a", "b")
		require.NoError(t, err)
		_, err = g.expire(ctx, "expire", "k", time.Second)
		require.NoError(t, err)
		at.Forward(time.Second)
		values := keys.Values(g.names.index, "k")
		redistest.Eventually(t, func() bool {
			return intOf(t, raw, "EXISTS", g.names.index)+intOf(t, raw, "EXISTS", g.names.ends)+intOf(t, raw, "EXISTS", values) == 0
		}, soon, time.Millisecond)
		push := map[string]string{"list": "RPUSH ", "set": "SADD "}[kind]
		raws(t, raw, push+values+" leaked")
		got, err := g.Get(ctx, "k")
		require.NoError(t, err)
		require.Empty(t, got)
		n, err := g.put(ctx, "k", "leaked", "new")
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		n, err = g.Count(ctx, "k")
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
	})
}

// TestManyKeysThatEndAreSwept at once, and no others.
func TestManyKeysThatEndAreSwept(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	at := enginetest.NewClock()
	g := multiOn(t, "list", engineOn(t, raw, at.To), redistest.Name(t))
	for i := range 1000 {
		k := strconv.Itoa(i)
		_, err := g.put(t.Context(), k, "v", "w")
		require.NoError(t, err)
		if i%2 == 0 {
			_, err = g.expire(t.Context(), "expire", k, time.Hour)
			require.NoError(t, err)
		}
	}
	at.Forward(time.Hour)
	redistest.Eventually(t, func() bool { n, err := g.KeyLen(t.Context()); return err == nil && n == 500 }, soon, time.Millisecond)
	n, err := g.Len(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1000, n)
	redistest.Eventually(t, func() bool { return sweep.Of(g.e).Len() == 0 }, soon, time.Millisecond)
}

func TestTheServerKeepsTheTimesOfKeys(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
		ctx, g := t.Context(), multiOn(t, kind, engineOn(t, raw), redistest.Name(t)+kind, WithNativeExpiry())
		_, err := g.put(ctx, "k", "v")
		require.NoError(t, err)
		there, err := g.expire(ctx, "expire", "k", time.Hour)
		require.NoError(t, err)
		require.True(t, there)
		require.Zero(t, intOf(t, raw, "EXISTS", g.names.ends))
		values := keys.Values(g.names.index, "k")
		_, err = g.put(ctx, "k", "w")
		require.NoError(t, err)
		require.Positive(t, intOf(t, raw, "PTTL", values), "it keeps its end")
		there, err = g.expire(ctx, "persist", "k", 0)
		require.NoError(t, err)
		require.True(t, there)
		require.EqualValues(t, -1, intOf(t, raw, "PTTL", values))
		there, err = g.expire(ctx, "expire", "k", time.Millisecond)
		require.NoError(t, err)
		require.True(t, there)
		redistest.Eventually(t, func() bool { n, err := g.Count(ctx, "k"); return err == nil && n == 0 }, soon, time.Millisecond)
		redistest.Eventually(t, func() bool { return intOf(t, raw, "EXISTS", values) == 0 }, soon, time.Millisecond)
		_, err = g.put(ctx, "k", "x")
		require.NoError(t, err)
		require.EqualValues(t, -1, intOf(t, raw, "PTTL", values), "a new one has none")

		old := multiOn(t, kind, engineOn(t, redistest.Shared(t, redistest.Version("7.0")).Client(t)), redistest.Name(t)+kind, WithNativeExpiry())
		_, err = old.put(ctx, "k", "v")
		require.NoError(t, err)
		_, err = old.expire(ctx, "expire", "k", time.Hour)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, "7.0")
	}
}

func TestTheWholeOfAMultimap(t *testing.T) {
	t.Parallel()
	onKinds(t, func(t *testing.T, raw rueidis.Client, kind string) {
		for _, opts := range [][]Option{nil, {WithRequestIDs()}} {
			ctx, g := t.Context(), multiOn(t, kind, engineOn(t, raw), redistest.Name(t), opts...)
			there, err := g.ExpireAll(ctx, time.Hour)
			require.NoError(t, err)
			require.False(t, there)
			for i := range 2500 {
				if i%500 == 0 { // the others by hand, at once
					_, err = g.put(ctx, strconv.Itoa(i), "v", "w")
					require.NoError(t, err)
				}
			}
			there, err = g.ExpireAll(ctx, time.Hour)
			require.NoError(t, err)
			require.True(t, there)
			_, err = g.put(ctx, "late", "v")
			require.NoError(t, err)
			_, err = g.expire(ctx, "expire", "late", time.Minute)
			require.NoError(t, err)
			for _, key := range g.names.of("0", "500", "late") {
				require.Positive(t, intOf(t, raw, "PTTL", key), key)
			}
			had, err := g.PersistAll(ctx)
			require.NoError(t, err)
			require.True(t, had)
			for _, key := range g.names.of("0", "late") {
				require.EqualValues(t, -1, intOf(t, raw, "PTTL", key), key)
			}
			there, err = g.clear(ctx, "delete")
			require.NoError(t, err)
			require.True(t, there)
			for _, key := range g.names.of("0", "500", "late") {
				require.Zero(t, intOf(t, raw, "EXISTS", key), key)
			}
			there, err = g.clear(ctx, "delete")
			require.NoError(t, err)
			require.False(t, there)
		}
	})
}

// TestWhatHasFailedInTheMiddleIsDoneAgain, and what was lost is swept.
func TestWhatHasFailedInTheMiddleIsDoneAgain(t *testing.T) {
	t.Parallel()
	onKinds(t, func(t *testing.T, raw rueidis.Client, kind string) {
		ctx, g := t.Context(), multiOn(t, kind, engineOn(t, raw), redistest.Name(t))
		_, err := g.put(ctx, "k", "v")
		require.NoError(t, err)
		_, err = g.ExpireAll(ctx, time.Hour)
		require.NoError(t, err)
		raws(t, raw, "PERSIST "+g.names.index) // so far it came
		had, err := g.PersistAll(ctx)
		require.NoError(t, err)
		require.True(t, had)
		require.EqualValues(t, -1, intOf(t, raw, "PTTL", g.names.of("k")[2]))
		n, err := g.RemoveKeys(ctx, "k", "l", "k")
		require.NoError(t, err)
		require.EqualValues(t, 1, n, "it was there once")

		raws(t, raw, "SET "+g.names.ends+" text")
		_, err = g.put(ctx, "new", "v")
		require.ErrorContains(t, err, "is of another type")
		require.Zero(t, intOf(t, raw, "EXISTS", g.names.index))
		require.Zero(t, intOf(t, raw, "EXISTS", g.names.of("new")[2]), "nothing was written")
		raws(t, raw, "DEL "+g.names.ends)
	})
}

func TestAKeyWhoseEndWasNotAnsweredIsSwept(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw, at := server.Client(t), enginetest.NewClock()
	client, proxy := through(t, server)
	ctx, g := t.Context(), multiOn(t, "list", engineOn(t, client, at.To), redistest.Name(t))
	_, err := g.put(ctx, "k", "v")
	require.NoError(t, err)
	lost := proxy.DropReply(redistest.All(redistest.MatchScript(expireScript.Body()), redistest.Arg(g.name)), 1)
	_, err = g.expire(ctx, "expire", "k", time.Second)
	lost.Await(t)
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	at.Forward(time.Second)
	redistest.Eventually(t, func() bool { return intOf(t, raw, "EXISTS", g.names.index) == 0 }, soon, time.Millisecond)
}

// multiOperations is every operation of a multimap.
var multiOperations = map[string]func(ctx context.Context, g *multi[string, string]) error{
	"put":   func(ctx context.Context, g *multi[string, string]) error { _, err := g.put(ctx, "k", "v"); return err },
	"get":   func(ctx context.Context, g *multi[string, string]) error { _, err := g.Get(ctx, "k"); return err },
	"count": func(ctx context.Context, g *multi[string, string]) error { _, err := g.Count(ctx, "k"); return err },
	"ttl":   func(ctx context.Context, g *multi[string, string]) error { _, err := g.TTL(ctx, "k"); return err },
	"has value": func(ctx context.Context, g *multi[string, string]) error {
		_, err := g.HasValue(ctx, "v")
		return err
	},
	"has": func(ctx context.Context, g *multi[string, string]) error {
		_, err := g.HasEntry(ctx, "k", "v")
		return err
	},
	"remove": func(ctx context.Context, g *multi[string, string]) error {
		_, err := g.Remove(ctx, "k", "v")
		return err
	},
	"replace": func(ctx context.Context, g *multi[string, string]) error {
		_, err := g.replace(ctx, "replace", "k", "v")
		return err
	},
	"removeall": func(ctx context.Context, g *multi[string, string]) error {
		_, err := g.replace(ctx, "remove all of", "k")
		return err
	},
	"expire": func(ctx context.Context, g *multi[string, string]) error {
		_, err := g.expire(ctx, "expire", "k", time.Hour)
		return err
	},
	"persist": func(ctx context.Context, g *multi[string, string]) error {
		_, err := g.expire(ctx, "persist", "k", 0)
		return err
	},
	"removekeys": func(ctx context.Context, g *multi[string, string]) error {
		_, err := g.RemoveKeys(ctx, "k")
		return err
	},
	"len":    func(ctx context.Context, g *multi[string, string]) error { _, err := g.Len(ctx); return err },
	"keylen": func(ctx context.Context, g *multi[string, string]) error { _, err := g.KeyLen(ctx); return err },
	"keys": func(ctx context.Context, g *multi[string, string]) error {
		for _, err := range g.Keys(ctx) {
			return err
		}
		return nil
	},
	"all": func(ctx context.Context, g *multi[string, string]) error {
		for _, err := range g.All(ctx) {
			return err
		}
		return nil
	},
	"delete": func(ctx context.Context, g *multi[string, string]) error {
		_, err := g.clear(ctx, "delete")
		return err
	},
	"exists": func(ctx context.Context, g *multi[string, string]) error { _, err := g.Exists(ctx); return err },
	"expireall": func(ctx context.Context, g *multi[string, string]) error {
		_, err := g.ExpireAll(ctx, time.Hour)
		return err
	},
	"persistall": func(ctx context.Context, g *multi[string, string]) error { _, err := g.PersistAll(ctx); return err },
	"remaining":  func(ctx context.Context, g *multi[string, string]) error { _, err := g.Remaining(ctx); return err },
}

func TestWhatCannotBeUsedOfAMultimap(t *testing.T) {
	t.Parallel()
	client, proxy := through(t, redistest.Shared(t))
	e := engineOn(t, client, func(c *core.Config) { c.MaxValue = 1000 })
	proxy.ResetLog()
	var none context.Context
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(assert.AnError)
	for _, newOne := range kinds {
		good := newOne(e, "m")
		for name, op := range multiOperations {
			for what, opts := range map[string][]Option{
				"a nil option":         {nil},
				"another type's codec": {WithValueCodec(codec.For[int](codec.Text))},
			} {
				g := newOne(e, "m")
				*g = newMulti[string, string](e, g.names.kind, "m", keys.ListEnds, opts)
				require.ErrorIs(t, op(t.Context(), g), ErrInvalidArgument, "%s: %s", what, name)
			}
			require.ErrorIs(t, op(t.Context(), newOne(e, "")), ErrInvalidArgument, name)
			require.ErrorIs(t, op(none, good), ErrInvalidArgument, name)
			require.ErrorIs(t, op(ended, good), assert.AnError, name)
		}
		for _, d := range []time.Duration{0, -1, core.LongestLease + 1} {
			_, err := good.expire(t.Context(), "expire", "k", d)
			require.ErrorIs(t, err, ErrInvalidArgument)
			_, err = good.ExpireAll(t.Context(), d)
			require.ErrorIs(t, err, ErrInvalidArgument)
		}
		for what, vs := range map[string][]string{"too many": make([]string, mostValues+1), "too long": {strings.Repeat("v", 1001)},
			"too long together": {strings.Repeat("v", 600), strings.Repeat("w", 600)}, "no text": {"\xff"}} {
			_, err := good.put(t.Context(), "k", vs...)
			require.ErrorIs(t, err, ErrInvalidArgument, what)
			_, err = good.replace(t.Context(), "replace", "k", vs...)
			require.ErrorIs(t, err, ErrInvalidArgument, what)
		}
		_, err := good.put(t.Context(), strings.Repeat("k", 1001), "v")
		require.ErrorIs(t, err, ErrInvalidArgument)
		_, err = good.put(t.Context(), "k")
		require.NoError(t, err, "no values are no work")
	}
	require.Zero(t, proxy.Count(redistest.Arg("m")), "nothing was sent")
	require.NoError(t, locking.Close(t.Context(), e))
	for name, op := range multiOperations {
		require.ErrorIs(t, op(t.Context(), kinds["set"](e, "m")), ErrClosed, name)
	}
}

func TestAKeyOfAnotherTypeInAMultimap(t *testing.T) {
	t.Parallel()
	wholly := map[string]bool{"exists": true, "expireall": true, "persistall": true, "remaining": true}
	onKinds(t, func(t *testing.T, raw rueidis.Client, kind string) {
		for which, untouched := range map[int]string{
			0: "", 1: "exists keylen remaining persistall expireall", 2: "exists keylen remaining persistall expireall removekeys delete removeall",
		} {
			g := multiOn(t, kind, engineOn(t, raw), redistest.Name(t)+strconv.Itoa(which))
			key := g.names.of("k")[which]
			for name, op := range multiOperations {
				if wholly[name] || slicesHas(untouched, name) {
					continue
				}
				_, err := g.clear(t.Context(), "delete")
				if err != nil {
					raws(t, raw, "DEL "+key)
				}
				_, err = g.put(t.Context(), "k", "v")
				require.NoError(t, err)
				if name == "put" || name == "replace" { // of a key that is there, they may write less
					raws(t, raw, "DEL "+g.names.index)
				}
				raws(t, raw, "SET "+key+" text")
				before := bytesIn(t, raw, g.names.of("k")...)
				err = op(t.Context(), g)
				if which == 1 && err == nil { // an end that is not asked for
					continue
				}
				require.Equal(t, before, bytesIn(t, raw, g.names.of("k")...), "%s of %d has written", name, which)
				require.ErrorContains(t, err, "is of another type", "%s of %d", name, which)
				require.ErrorContains(t, err, g.names.index)
				require.NotErrorIs(t, err, ErrOutcomeUnknown, name)
				require.Equal(t, "text", strOf(t, raw, "GET", key), name)
				raws(t, raw, "DEL "+key)
			}
			raws(t, raw, "DEL "+key)
		}
	})
}

// bytesIn is what there is in keys of Redis.
func bytesIn(t testing.TB, raw rueidis.Client, keys ...string) (all []any) {
	t.Helper()
	reads := map[string][]string{
		"string": {"GET"}, "hash": {"HGETALL"}, "zset": {"ZRANGE", "0", "-1", "WITHSCORES"}, "list": {"LRANGE", "0", "-1"}, "set": {"SMEMBERS"},
	}
	for _, key := range keys {
		is, err := raw.Do(t.Context(), raw.B().Type().Key(key).Build()).ToString()
		require.NoError(t, err)
		var there any
		if read := reads[is]; read != nil {
			there, err = raw.Do(t.Context(), raw.B().Arbitrary(read[0]).Keys(key).Args(read[1:]...).Build()).ToAny()
			require.NoError(t, err)
		}
		all = append(all, there)
	}
	return all
}

func slicesHas(words, word string) bool { return strings.Contains(" "+words+" ", " "+word+" ") }

func TestWhatDoesNotDecodeInAMultimap(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e, name := engineOn(t, raw), redistest.Name(t)
	text := NewList[string, string](e, name, WithCodec(codec.Text))
	t.Cleanup(func() { _, _ = text.Delete(context.Background()) })
	require.NoError(t, text.PutAll(t.Context(), "k", "1", "secret", "3"))
	m := NewList[string, int](e, name, WithCodec(codec.Text))
	check := func(err error) {
		t.Helper()
		var undecoded *codec.DecodeError
		require.ErrorAs(t, err, &undecoded)
		require.Equal(t, "k", undecoded.Key)
		require.Equal(t, "secret", string(undecoded.Bytes))
		require.NotContains(t, err.Error(), "secret")
	}
	got, err := m.Get(t.Context(), "k")
	check(err)
	require.Equal(t, []int{1, 3}, got)
	var seen []int
	for e, err := range m.All(t.Context()) {
		if err != nil {
			check(err)
			continue
		}
		seen = append(seen, e.Value)
	}
	require.Equal(t, []int{1, 3}, seen)
	got, err = m.RemoveAll(t.Context(), "k")
	check(err)
	require.Equal(t, []int{1, 3}, got)
}

func TestValuesOfAllLengths(t *testing.T) {
	t.Parallel()
	onKinds(t, func(t *testing.T, raw rueidis.Client, kind string) {
		g := multiOn(t, kind, engineOn(t, raw), redistest.Name(t))
		var many []string
		n := 12_001 // more than a server takes at once in a script
		if onEmbedded(t) {
			n = 1_501 // it takes its time
		}
		for i := range n {
			many = append(many, strconv.Itoa(i)+":")
		}
		added, err := g.put(t.Context(), "", many...)
		require.NoError(t, err)
		require.EqualValues(t, n, added)
		half := append(many[:n/2:n/2], "new")
		old, err := g.replace(t.Context(), "replace", "", half...)
		require.NoError(t, err)
		slices.Sort(old) // as sets are in no order, and ElementsMatch compares each with each
		require.Equal(t, slices.Sorted(slices.Values(many)), old)
		got, err := g.Get(t.Context(), "")
		require.NoError(t, err)
		slices.Sort(got)
		require.Equal(t, slices.Sorted(slices.Values(half)), got)
	})
}

// multiEffects is every write to {k: a, b}, and what it makes of it.
var multiEffects = map[string]struct {
	sends  *scripts.Script
	do     func(ctx context.Context, g *multi[string, string]) (any, error)
	answer any
	left   []string
}{
	"put": {putScript, func(ctx context.Context, g *multi[string, string]) (any, error) { return g.put(ctx, "k", "c") },
		int64(1), []string{"a", "b", "c"}},
	"replace": {replaceScript, func(ctx context.Context, g *multi[string, string]) (any, error) {
		return g.replace(ctx, "replace", "k", "c")
	},
		[]string{"a", "b"}, []string{"c"}},
	"remove all": {replaceScript, func(ctx context.Context, g *multi[string, string]) (any, error) {
		return g.replace(ctx, "remove all of", "k")
	},
		[]string{"a", "b"}, []string{}},
	"remove": {removeScript, func(ctx context.Context, g *multi[string, string]) (any, error) { return g.Remove(ctx, "k", "a") },
		true, []string{"b"}},
	"remove keys": {dropScript, func(ctx context.Context, g *multi[string, string]) (any, error) {
		return g.RemoveKeys(ctx, "k")
	},
		int64(1), []string{}},
	"delete": {dropScript, func(ctx context.Context, g *multi[string, string]) (any, error) { return g.clear(ctx, "delete") },
		true, []string{}},
	"expire": {expireScript, func(ctx context.Context, g *multi[string, string]) (any, error) {
		return g.expire(ctx, "expire", "k", time.Hour)
	},
		true, []string{"a", "b"}},
	"expire all": {expireWholeScript, func(ctx context.Context, g *multi[string, string]) (any, error) { return g.ExpireAll(ctx, time.Hour) },
		true, []string{"a", "b"}},
}

// TestALostReplyOfAMultimap drops the reply to each write once.
func TestALostReplyOfAMultimap(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for name, c := range multiEffects {
		for _, ids := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, ids %t", name, ids), func(t *testing.T) {
				t.Parallel()
				client, proxy := through(t, server)
				var opts []Option
				if ids {
					opts = append(opts, WithRequestIDs())
				}
				g := multiOn(t, "list", engineOn(t, client), redistest.Name(t), opts...)
				look := multiOn(t, "list", engineOn(t, raw), g.name)
				_, err := look.put(t.Context(), "k", "a", "b")
				require.NoError(t, err)
				lost := proxy.DropReply(redistest.All(redistest.MatchScript(c.sends.Body()), redistest.Arg(g.name)), 1)
				answer, err := c.do(t.Context(), g)
				lost.Await(t)
				if ids {
					require.NoError(t, err)
					require.Equal(t, c.answer, answer)
				} else {
					require.ErrorIs(t, err, ErrOutcomeUnknown)
				}
				got, err := look.Get(t.Context(), "k")
				require.NoError(t, err)
				require.Equal(t, c.left, got)
			})
		}
	}
}

func TestAReadOfAMultimapIsSentAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for name, script := range map[string]*scripts.Script{
		"get": getScript, "count": countsScript, "has": hasScript, "len": countsScript, "keys": countsScript, "all": pageScript,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, proxy := through(t, server)
			g := multiOn(t, "set", engineOn(t, client), redistest.Name(t))
			_, err := g.put(t.Context(), "k", "v")
			require.NoError(t, err)
			lost := proxy.DropReply(redistest.All(redistest.MatchScript(script.Body()), redistest.Arg(g.name)), 1)
			require.NoError(t, multiOperations[name](t.Context(), g))
			lost.Await(t)
		})
	}
}

func TestAMultimapOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	raw := cluster.Client(t)
	for _, name := range []string{"{}m", "a}", "{"} {
		for op, do := range multiOperations {
			require.ErrorIs(t, do(t.Context(), kinds["list"](engineOn(t, raw), name)), ErrInvalidArgument, op)
		}
	}
	for kind := range kinds {
		t.Run(kind+": operations, and a slot that moves", func(t *testing.T) {
			g := multiOn(t, kind, engineOn(t, raw), redistest.Name(t), WithRequestIDs())
			for name, op := range multiOperations {
				require.NoError(t, op(t.Context(), g), name)
			}
			_, err := g.clear(t.Context(), "delete")
			require.NoError(t, err)
			// While the slot moves, calls may be put off and fail; none is half done, and
			// none that was answered is lost.
			done := map[string]bool{}
			var stop atomic.Bool
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for i := 0; !stop.Load(); i++ {
					v := strconv.Itoa(i)
					if _, err := g.put(t.Context(), "k", v); err == nil {
						done[v] = true
					}
				}
			}()
			migration := cluster.StartMigration(t, g.name)
			migration.Move(t, g.name)
			migration.Move(t, keys.Values(g.name, "k"))
			migration.Finish(t)
			stop.Store(true)
			<-ended
			_, err = g.put(t.Context(), "k", "last")
			require.NoError(t, err)
			got, err := g.Get(t.Context(), "k")
			require.NoError(t, err)
			for v := range done {
				require.Contains(t, got, v)
			}
			require.Contains(t, got, "last")
		})
	}
	t.Run("a failover", func(t *testing.T) {
		g := multiOn(t, "list", engineOn(t, raw, shortSends), redistest.Name(t))
		master := cluster.Master(g.name)
		_, err := g.put(t.Context(), "k", "v")
		require.NoError(t, err)
		master.Kill()
		cluster.AwaitMaster(t, g.name, master.Addr())
		redistest.Eventually(t, func() bool { _, err := g.put(t.Context(), "k", "w"); return err == nil }, soon, 10*time.Millisecond)
		has, err := g.HasEntry(t.Context(), "k", "w")
		require.NoError(t, err)
		require.True(t, has)
	})
}

// TestEveryCallOfAMultimapPassesWhatTheHeaderNames, and its keys are in one slot.
func TestEveryCallOfAMultimapPassesWhatTheHeaderNames(t *testing.T) {
	t.Parallel()
	r := redistest.RecordScripts(t, redistest.Shared(t).Client(t))
	all := map[string]*scripts.Script{
		"get.lua": getScript, "counts.lua": countsScript, "has.lua": hasScript, "put.lua": putScript, "replace.lua": replaceScript,
		"remove.lua": removeScript, "drop.lua": dropScript, "expire.lua": expireScript, "expire_all.lua": expireAllScript, "finish.lua": finishScript, "ended.lua": endedScript, "ttl.lua": ttlScript, "range.lua": rangeScript, "has_any.lua": hasAnyScript, "expire_whole.lua": expireWholeScript,
	}
	for _, one := range all {
		r.Learn(one.Body())
	}
	r.Learn(hashscan.Script.Body())
	e := engineOn(t, r)
	for _, name := range []string{redistest.Name(t), "{u1}:" + redistest.Name(t)} {
		for _, opts := range [][]Option{nil, {WithRequestIDs()}} {
			g := multiOn(t, "list", e, name, opts...)
			for op, do := range multiOperations {
				_, err := g.put(t.Context(), "k", "v")
				require.NoError(t, err)
				require.NoError(t, do(t.Context(), g), op)
			}
			_, err := (&List[string, string]{*g}).Range(t.Context(), "k", 0, -1) // a list's alone
			require.NoError(t, err)
			g.names.sweep(e)
		}
	}
	seen := map[string]bool{}
	for _, call := range r.Take() {
		call.Check(t)
		require.True(t, e.SameSlot(call.Keys...), call.Keys)
		seen[call.Script] = true
	}
	for name := range all {
		require.True(t, seen[name], name)
	}
}
