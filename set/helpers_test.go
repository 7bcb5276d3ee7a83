package set

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// kit has a handle of each kind on one name.
type kit struct {
	name string
	to   string // another name, of the same slot
	s    *Set[string]
	c    *Cache[string]
}

func kitOn(e *locking.Engine, name string) kit {
	return kit{name, "to:{" + name + "}", New[string](e, name), NewCache[string](e, name)}
}

// foreign is what an operation does to a key of another type.
type foreign int

const (
	refuses foreign = iota // it returns an error, and changes nothing
	moves                  // it does to any key what it does to a set
)

// effect is what an operation that writes does to a set, see old.
type effect struct {
	do      func(ctx context.Context, k kit) (any, error)
	sends   redistest.Match
	answer  any
	left    string // see state
	foreign foreign
}

func script(s *scripts.Script) redistest.Match { return redistest.MatchScript(s.Body()) }

const (
	hour = time.Hour
	day  = 24 * time.Hour
)

// some makes an answer of any type of one.
func some[A any](a A, err error) (any, error) { return a, err }

// setEffects is every operation on a set of a and b.
var setEffects = map[string]effect{
	"add": {
		func(ctx context.Context, k kit) (any, error) { return some(k.s.Add(ctx, "b", "c")) },
		redistest.Command("SADD"), int64(1), "a b c", refuses,
	},
	"remove": {
		func(ctx context.Context, k kit) (any, error) { return some(k.s.Remove(ctx, "a", "x")) },
		redistest.Command("SREM"), int64(1), "b", refuses,
	},
	"add all": {
		func(ctx context.Context, k kit) (any, error) { return some(k.s.AddAllIfAbsent(ctx, "c", "d")) },
		script(addAllScript), true, "a b c d", refuses,
	},
	"add all and one is there": {
		func(ctx context.Context, k kit) (any, error) { return some(k.s.AddAllIfAbsent(ctx, "c", "a")) },
		script(addAllScript), false, "a b", refuses,
	},
	"move": {
		func(ctx context.Context, k kit) (any, error) { return some(k.s.Move(ctx, k.to, "a")) },
		redistest.Command("SMOVE"), true, "b", refuses,
	},
	"move what is not there": {
		func(ctx context.Context, k kit) (any, error) { return some(k.s.Move(ctx, k.to, "x")) },
		redistest.Command("SMOVE"), false, "a b", refuses,
	},
	"pop": {
		func(ctx context.Context, k kit) (any, error) {
			got, err := k.s.Pop(ctx, 1)
			return len(got), err
		},
		redistest.Command("SPOP"), 1, "one", refuses,
	},
	"retain": {
		func(ctx context.Context, k kit) (any, error) { return some(k.s.Retain(ctx, "b", "x")) },
		redistest.Command("SREM"), int64(1), "b", refuses,
	},
	"unite": {
		func(ctx context.Context, k kit) (any, error) { return some(k.s.UnionInto(ctx, k.to)) },
		redistest.Command("SUNIONSTORE"), int64(2), "a b", refuses,
	},
	"intersect": {
		func(ctx context.Context, k kit) (any, error) { return some(k.s.InterInto(ctx, k.to, k.name)) },
		redistest.Command("SINTERSTORE"), int64(2), "a b", refuses,
	},
	"subtract": {
		func(ctx context.Context, k kit) (any, error) { return some(k.s.DiffInto(ctx, k.to, k.name)) },
		redistest.Command("SDIFFSTORE"), int64(0), "a b", refuses,
	},
	"delete": {
		func(ctx context.Context, k kit) (any, error) { return some(k.s.Delete(ctx)) },
		redistest.Command("UNLINK"), true, "", moves,
	},
	"expire": {
		func(ctx context.Context, k kit) (any, error) { return some(k.s.Expire(ctx, day)) },
		redistest.AnyScript(), true, "a b", moves,
	},
	"expire at": {
		func(ctx context.Context, k kit) (any, error) { return some(k.s.ExpireAt(ctx, time.Now().Add(day))) },
		redistest.AnyScript(), true, "a b", moves,
	},
	"persist": {
		func(ctx context.Context, k kit) (any, error) { return some(k.s.Persist(ctx)) },
		redistest.AnyScript(), false, "a b", moves,
	},
	"rename": {
		func(ctx context.Context, k kit) (any, error) { return some(k.s.Rename(ctx, k.to)) },
		redistest.AnyScript(), true, "", moves,
	},
	"copy": {
		func(ctx context.Context, k kit) (any, error) { return some(k.s.Copy(ctx, k.to)) },
		redistest.AnyScript(), true, "a b", moves,
	},
}

// added makes an effect of a call that adds members to a cache.
func added(call func(ctx context.Context, c *Cache[string]) (any, error), sends redistest.Match, answer any, left string) effect {
	return effect{func(ctx context.Context, k kit) (any, error) { return call(ctx, k.c) }, sends, answer, left, refuses}
}

// cacheEffects is every operation on a cache of a, which ends in an hour, b, which has no end, and over, which has expired.
var cacheEffects = map[string]effect{
	"add": added(func(ctx context.Context, c *Cache[string]) (any, error) { return some(c.Add(ctx, "c", WithTTL(day))) },
		redistest.Command("EXEC"), true, "a:hour b:forever c:day over:over"),
	"add what is there": added(func(ctx context.Context, c *Cache[string]) (any, error) { return some(c.Add(ctx, "a")) },
		redistest.Command("EXEC"), false, "a:forever b:forever over:over"),
	"add what has expired": added(func(ctx context.Context, c *Cache[string]) (any, error) {
		return some(c.Add(ctx, "over", WithTTL(day)))
	},
		redistest.Command("EXEC"), true, "a:hour b:forever over:day"),
	"add many": added(func(ctx context.Context, c *Cache[string]) (any, error) {
		return some(c.AddMany(ctx, []string{"a", "c", "over", "c"}, WithTTL(day)))
	}, redistest.Command("EXEC"), int64(2), "a:day b:forever c:day over:day"),
	"add if absent": added(func(ctx context.Context, c *Cache[string]) (any, error) { return some(c.AddIfAbsent(ctx, "over")) },
		script(cacheAddIfScript), true, "a:hour b:forever over:forever"),
	"add if absent what is there": added(func(ctx context.Context, c *Cache[string]) (any, error) {
		return some(c.AddIfAbsent(ctx, "a", WithTTL(day)))
	}, script(cacheAddIfScript), false, "a:hour b:forever over:over"),
	"add if present": added(func(ctx context.Context, c *Cache[string]) (any, error) {
		return some(c.AddIfPresent(ctx, "a", WithTTL(day)))
	}, script(cacheAddIfScript), true, "a:day b:forever over:over"),
	"add if present what has expired": added(func(ctx context.Context, c *Cache[string]) (any, error) {
		return some(c.AddIfPresent(ctx, "over", WithTTL(day)))
	}, script(cacheAddIfScript), false, "a:hour b:forever over:over"),
	"add if shorter": added(func(ctx context.Context, c *Cache[string]) (any, error) {
		return some(c.AddIfShorter(ctx, "b", WithTTL(day)))
	}, script(cacheAddIfScript), true, "a:hour b:day over:over"),
	"add if shorter what is longer": added(func(ctx context.Context, c *Cache[string]) (any, error) {
		return some(c.AddIfShorter(ctx, "a", WithTTL(day)))
	}, script(cacheAddIfScript), false, "a:hour b:forever over:over"),
	"add if longer": added(func(ctx context.Context, c *Cache[string]) (any, error) {
		return some(c.AddIfLonger(ctx, "a", WithTTL(day)))
	}, script(cacheAddIfScript), true, "a:day b:forever over:over"),
	"add if longer what is shorter": added(func(ctx context.Context, c *Cache[string]) (any, error) {
		return some(c.AddIfLonger(ctx, "b", WithTTL(day)))
	}, script(cacheAddIfScript), false, "a:hour b:forever over:over"),
	"add if longer what has expired": added(func(ctx context.Context, c *Cache[string]) (any, error) {
		return some(c.AddIfLonger(ctx, "over", WithTTL(day)))
	}, script(cacheAddIfScript), false, "a:hour b:forever over:over"),
	"add all": added(func(ctx context.Context, c *Cache[string]) (any, error) {
		return some(c.AddAllIfAbsent(ctx, []string{"c", "over"}, WithTTL(day)))
	}, script(cacheAddAllScript), true, "a:hour b:forever c:day over:day"),
	"add all and one is there": added(func(ctx context.Context, c *Cache[string]) (any, error) {
		return some(c.AddAllIfAbsent(ctx, []string{"c", "a"}))
	}, script(cacheAddAllScript), false, "a:hour b:forever over:over"),
	"remove": added(func(ctx context.Context, c *Cache[string]) (any, error) { return some(c.Remove(ctx, "a", "x")) },
		redistest.Command("ZREM"), int64(1), "b:forever over:over"),
	"retain": added(func(ctx context.Context, c *Cache[string]) (any, error) { return some(c.Retain(ctx, "b", "x")) },
		redistest.Command("ZREM"), int64(1), "b:forever over:over"),
	"delete": {
		func(ctx context.Context, k kit) (any, error) { return some(k.c.Delete(ctx)) },
		redistest.Command("UNLINK"), true, "", moves,
	},
	"rename": {
		func(ctx context.Context, k kit) (any, error) { return some(k.c.Rename(ctx, k.to)) },
		redistest.AnyScript(), true, "", moves,
	},
	"copy": {
		func(ctx context.Context, k kit) (any, error) { return some(k.c.Copy(ctx, k.to)) },
		redistest.AnyScript(), true, "a:hour b:forever over:over", moves,
	},
}

// look is an operation that only reads, with what it answers, see old.
type look struct {
	do     func(ctx context.Context, k kit) (any, error)
	sends  redistest.Match
	answer any
}

// all returns what a walk yields, sorted.
func all(walk iter.Seq2[string, error]) (any, error) {
	var vs []string
	for v, err := range walk {
		if err != nil {
			return nil, err
		}
		vs = append(vs, v)
	}
	return sorted(vs, nil)
}

func sorted(vs []string, err error) (any, error) {
	slices.Sort(vs)
	return strings.Join(vs, " "), err
}

var setLooks = map[string]look{
	"has":      {func(ctx context.Context, k kit) (any, error) { return some(k.s.Has(ctx, "a")) }, redistest.Command("SMISMEMBER"), true},
	"has not":  {func(ctx context.Context, k kit) (any, error) { return some(k.s.Has(ctx, "x")) }, redistest.Command("SMISMEMBER"), false},
	"has each": {func(ctx context.Context, k kit) (any, error) { return some(k.s.HasEach(ctx, "x", "b")) }, redistest.Command("SMISMEMBER"), []bool{false, true}},
	"random":   {func(ctx context.Context, k kit) (any, error) { return sorted(k.s.Random(ctx, 9)) }, redistest.Command("SRANDMEMBER"), "a b"},
	"count":    {func(ctx context.Context, k kit) (any, error) { return some(k.s.Len(ctx)) }, redistest.Command("SCARD"), int64(2)},
	"walk":     {func(ctx context.Context, k kit) (any, error) { return all(k.s.All(ctx)) }, script(scanSetScript), "a b"},
	"union":    {func(ctx context.Context, k kit) (any, error) { return all(k.s.Union(ctx, k.name, k.to)) }, script(scanSetScript), "a b"},
	"inter":    {func(ctx context.Context, k kit) (any, error) { return all(k.s.Inter(ctx, k.name)) }, redistest.Command("SMISMEMBER"), "a b"},
	"diff":     {func(ctx context.Context, k kit) (any, error) { return all(k.s.Diff(ctx, k.name)) }, redistest.Command("SMISMEMBER"), ""},
	"exists":   {func(ctx context.Context, k kit) (any, error) { return some(k.s.Exists(ctx)) }, redistest.Command("EXISTS"), true},
	"remaining": {
		func(ctx context.Context, k kit) (any, error) { return some(k.s.Remaining(ctx)) },
		redistest.Command("PTTL"), time.Duration(-1),
	},
}

var cacheLooks = map[string]look{
	"has":     {func(ctx context.Context, k kit) (any, error) { return some(k.c.Has(ctx, "a")) }, redistest.Command("ZMSCORE"), true},
	"has not": {func(ctx context.Context, k kit) (any, error) { return some(k.c.Has(ctx, "over")) }, redistest.Command("ZMSCORE"), false},
	"has each": {
		func(ctx context.Context, k kit) (any, error) { return some(k.c.HasEach(ctx, "x", "b", "over")) },
		redistest.Command("ZMSCORE"), []bool{false, true, false},
	},
	"remaining": {
		func(ctx context.Context, k kit) (any, error) { return some(k.c.Remaining(ctx, "b")) },
		redistest.Command("ZMSCORE"), time.Duration(-1),
	},
	"random": {func(ctx context.Context, k kit) (any, error) { return sorted(k.c.Random(ctx, 9)) }, script(cacheRandomScript), "a b"},
	"count":  {func(ctx context.Context, k kit) (any, error) { return some(k.c.Len(ctx)) }, redistest.Command("ZCOUNT"), int64(2)},
	"walk":   {func(ctx context.Context, k kit) (any, error) { return all(k.c.All(ctx)) }, script(scanCacheScript), "a b"},
	"remaining all": {
		func(ctx context.Context, k kit) (any, error) { return some(k.c.RemainingAll(ctx)) },
		redistest.Command("PTTL"), time.Duration(-1),
	},
}

// kinds are both kinds of sets: their operations, how they are filled, and what is there.
var kinds = map[string]struct {
	effects map[string]effect
	looks   map[string]look
	old     func(t testing.TB, raw rueidis.Client, key string)
	state   func(t testing.TB, raw rueidis.Client, key string) string
	first   string
}{
	"set":   {setEffects, setLooks, oldSet, stateOfSet, "a b"},
	"cache": {cacheEffects, cacheLooks, oldCache, stateOfCache, "a:hour b:forever over:over"},
}

func oldSet(t testing.TB, raw rueidis.Client, key string) {
	t.Helper()
	redistest.Do(t, raw, "SADD", key, "a", "b")
}

func oldCache(t testing.TB, raw rueidis.Client, key string) {
	t.Helper()
	now := time.Now()
	redistest.Do(t, raw, "ZADD", key, decimal(now.Add(hour).UnixMilli()), "a", permanent, "b", decimal(now.Add(-time.Second).UnixMilli()), "over")
}

// stateOfSet returns the members.
func stateOfSet(t testing.TB, raw rueidis.Client, key string) string {
	t.Helper()
	msg := redistest.Do(t, raw, "SMEMBERS", key)
	vs, err := msg.AsStrSlice()
	require.NoError(t, err)
	text, _ := sorted(vs, nil)
	return text.(string)
}

// stateOfCache returns the members, and for how long: "forever", "hour", "day" or "over".
func stateOfCache(t testing.TB, raw rueidis.Client, key string) string {
	t.Helper()
	msg := redistest.Do(t, raw, "ZRANGE", key, "0", "-1", "WITHSCORES")
	scores, err := msg.AsZScores()
	require.NoError(t, err)
	var vs []string
	for _, z := range scores {
		left := time.Duration(z.Score-float64(time.Now().UnixMilli())) * time.Millisecond
		switch {
		case z.Score == 92233720368547760:
			vs = append(vs, z.Member+":forever")
		case left <= 0:
			vs = append(vs, z.Member+":over")
		case left <= hour && left > hour/2:
			vs = append(vs, z.Member+":hour")
		case left <= day && left > day/2:
			vs = append(vs, z.Member+":day")
		default:
			vs = append(vs, z.Member+":"+strconv.FormatFloat(z.Score, 'f', -1, 64))
		}
	}
	text, _ := sorted(vs, nil)
	return text.(string)
}

// requireState compares what is left; "one" is any one member.
func requireState(t testing.TB, want, got, what string) {
	t.Helper()
	if want == "one" {
		require.Contains(t, []string{"a", "b"}, got, what)
		return
	}
	require.Equal(t, want, got, what)
}

// fresh returns a name that is deleted when the test ends.
func fresh(t testing.TB, raw rueidis.Client) string { t.Helper(); return enginetest.Fresh(t, raw) }
