package sortedset

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// kit has a handle of each kind on one name, with texts for members.
type kit struct {
	name string
	s    *Set[string]
	l    *Lex
	g    *Geo[string]
}

func kitOn(e *locking.Engine, name string) kit {
	return kit{name, New[string](e, name, WithCodec(codec.Text)), NewLex(e, name), NewGeo[string](e, name, WithCodec(codec.Text))}
}

// at returns the middle of a cell. Those of low numbers are next to each other, far in the south.
func at(cell float64) Position {
	p, _ := positionOf(cell)
	return p
}

func (k kit) to() string { return "to:{" + k.name + "}" }

// effect is what an operation that writes does to a set which is "a=1 b=2 c=3" for an hour.
type effect struct {
	do     func(ctx context.Context, k kit) (any, error)
	sends  redistest.Match
	answer any
	left   string // see state
	any    bool   // it does to a key of any type what it does to a set
	lacks  bool   // miniredis has no such command
}

func script(s *scripts.Script) redistest.Match { return redistest.MatchScript(s.Body()) }

const (
	hour = time.Hour
	day  = 24 * time.Hour
)

// some makes an answer of any type of one.
func some[A any](a A, err error) (any, error) { return a, err }

const (
	before = "a=1 b=2 c=3 hour"
	none   = "none"
)

var effects = map[string]effect{
	"add": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.Add(ctx, 2.5, "d")) },
		sends: redistest.Command("ZADD"), answer: true, left: "a=1 b=2 d=2.5 c=3 hour",
	},
	"add what is there": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.Add(ctx, -1, "c")) },
		sends: redistest.Command("ZADD"), answer: false, left: "c=-1 a=1 b=2 hour",
	},
	"add if absent": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.AddIfAbsent(ctx, 7, "a")) },
		sends: redistest.Command("ZADD"), answer: false, left: before,
	},
	"add if it exists": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.AddIfExists(ctx, 7, "a")) },
		sends: redistest.Command("ZADD"), answer: true, left: "b=2 c=3 a=7 hour",
	},
	"add if less": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.AddIfLess(ctx, 0, "c")) },
		sends: redistest.Command("ZADD"), answer: true, left: "c=0 a=1 b=2 hour",
	},
	"add if greater": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.AddIfGreater(ctx, 0, "c")) },
		sends: redistest.Command("ZADD"), answer: false, left: before,
	},
	"add many": {
		do: func(ctx context.Context, k kit) (any, error) {
			return some(k.s.AddMany(ctx, Entry[string]{"a", 4}, Entry[string]{"d", 5}))
		},
		sends: redistest.Command("ZADD"), answer: int64(1), left: "b=2 c=3 a=4 d=5 hour",
	},
	"add to a score": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.AddScore(ctx, 2.25, "a")) },
		sends: redistest.Command("ZINCRBY"), answer: 3.25, left: "b=2 c=3 a=3.25 hour",
	},
	"add much to a score": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.AddScore(ctx, 1e300, "a")) },
		sends: script(addScoreScript), answer: 1e300, left: "b=2 c=3 a=1e+300 hour",
	},
	"remove": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.Remove(ctx, "a", "x")) },
		sends: redistest.Command("ZREM"), answer: int64(1), left: "b=2 c=3 hour",
	},
	"remove by rank": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.RemoveByRank(ctx, -2, -1)) },
		sends: script(removeScript), answer: int64(2), left: "a=1 hour",
	},
	"remove by score": {
		do: func(ctx context.Context, k kit) (any, error) {
			return some(k.s.RemoveByScore(ctx, Interval{Min: 1, Max: 2, Above: true}))
		},
		sends: script(removeScript), answer: int64(1), left: "a=1 c=3 hour",
	},
	"pop the first": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.PopMin(ctx, 1)) },
		sends: redistest.Command("ZPOPMIN"), answer: []Entry[string]{{"a", 1}}, left: "b=2 c=3 hour",
	},
	"pop the last": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.PopMax(ctx, 1)) },
		sends: redistest.Command("ZPOPMAX"), answer: []Entry[string]{{"c", 3}}, left: "a=1 b=2 hour",
	},
	"pop the first two": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.PopMin(ctx, 2)) },
		sends: script(popScript), answer: []Entry[string]{{"a", 1}, {"b", 2}}, left: "c=3 hour",
	},
	"pop the last two": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.PopMax(ctx, 2)) },
		sends: script(popScript), answer: []Entry[string]{{"c", 3}, {"b", 2}}, left: "a=1 hour",
	},
	"unite": {
		do: func(ctx context.Context, k kit) (any, error) {
			return some(k.s.UnionInto(ctx, k.to(), []string{k.name}))
		},
		sends: redistest.Command("ZUNIONSTORE"), answer: int64(3), left: before,
	},
	"intersect": {
		do: func(ctx context.Context, k kit) (any, error) {
			return some(k.s.InterInto(ctx, k.to(), []string{k.name}))
		},
		sends: redistest.Command("ZINTERSTORE"), answer: int64(3), left: before,
	},
	"subtract": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.DiffInto(ctx, k.to(), nil)) },
		sends: redistest.Command("ZDIFFSTORE"), answer: int64(3), left: before, lacks: true,
	},
	"copy a range": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.RangeInto(ctx, k.to(), 1, -1)) },
		sends: redistest.Command("ZRANGESTORE"), answer: int64(2), left: before, lacks: true,
	},
	"add texts": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.l.Add(ctx, "d", "e")) },
		sends: redistest.Command("ZADD"), answer: int64(2), left: "d=0 e=0 a=1 b=2 c=3 hour",
	},
	"remove texts": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.l.Remove(ctx, "a", "x")) },
		sends: redistest.Command("ZREM"), answer: int64(1), left: "b=2 c=3 hour",
	},
	"remove texts of a span": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.l.RemoveRange(ctx, Span{From: "aa"})) },
		sends: script(removeScript), answer: int64(2), left: "a=1 hour",
	},
	"pop a text": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.l.PopMin(ctx, 1)) },
		sends: redistest.Command("ZPOPMIN"), answer: []string{"a"}, left: "b=2 c=3 hour",
	},
	"pop texts": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.l.PopMin(ctx, 2)) },
		sends: script(popScript), answer: []string{"a", "b"}, left: "c=3 hour",
	},
	"put": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.g.Add(ctx, at(5), "d")) },
		sends: redistest.Command("ZADD"), answer: true, left: "a=1 b=2 c=3 d=5 hour",
	},
	"put what is there": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.g.Add(ctx, at(0), "c")) },
		sends: redistest.Command("ZADD"), answer: false, left: "c=0 a=1 b=2 hour",
	},
	"put if absent": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.g.AddIfAbsent(ctx, at(7), "a")) },
		sends: redistest.Command("ZADD"), answer: false, left: before,
	},
	"put if it exists": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.g.AddIfExists(ctx, at(7), "a")) },
		sends: redistest.Command("ZADD"), answer: true, left: "b=2 c=3 a=7 hour",
	},
	"put many": {
		do: func(ctx context.Context, k kit) (any, error) {
			return some(k.g.AddMany(ctx, Place[string]{"a", at(4)}, Place[string]{"d", at(5)}))
		},
		sends: redistest.Command("ZADD"), answer: int64(1), left: "b=2 c=3 a=4 d=5 hour",
	},
	"remove places": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.g.Remove(ctx, "a", "x")) },
		sends: redistest.Command("ZREM"), answer: int64(1), left: "b=2 c=3 hour",
	},
	"copy what is near": {
		do: func(ctx context.Context, k kit) (any, error) {
			return some(k.g.WithinInto(ctx, k.to(), at(1), Radius(Kilometre), WithLimit(2)))
		},
		sends: script(nearIntoScript), answer: int64(2), left: before, lacks: true,
	},
	"copy what is near a member": {
		do: func(ctx context.Context, k kit) (any, error) {
			return some(k.g.WithinOfInto(ctx, k.to(), "a", Box(Kilometre, Kilometre), WithDistances()))
		},
		sends: script(nearIntoScript), answer: int64(3), left: before, lacks: true,
	},
	"delete": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.Delete(ctx)) },
		sends: redistest.Command("UNLINK"), answer: true, left: none, any: true,
	},
	"expire": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.Expire(ctx, day)) },
		sends: redistest.AnyScript(), answer: true, left: "a=1 b=2 c=3 day", any: true,
	},
	"expire at": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.ExpireAt(ctx, time.Now().Add(day))) },
		sends: redistest.AnyScript(), answer: true, left: "a=1 b=2 c=3 day", any: true,
	},
	"persist": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.Persist(ctx)) },
		sends: redistest.AnyScript(), answer: true, left: "a=1 b=2 c=3 forever", any: true,
	},
	"rename": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.Rename(ctx, k.to())) },
		sends: redistest.AnyScript(), answer: true, left: none, any: true,
	},
	"rename if absent": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.RenameIfAbsent(ctx, k.to())) },
		sends: redistest.AnyScript(), answer: true, left: none, any: true,
	},
	"copy": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.Copy(ctx, k.to())) },
		sends: redistest.AnyScript(), answer: true, left: before, any: true,
	},
}

// reading is an operation that only reads.
type reading struct {
	do     func(ctx context.Context, k kit) (any, error)
	sends  redistest.Match
	answer any  // of a set which is "a=1 b=2 c=3" for an hour; nil: not looked at
	any    bool // it says of a key of any type what it says of a set
	absent error
}

// reads is every operation that only reads.
var reads = map[string]reading{
	"score": {
		do:    func(ctx context.Context, k kit) (any, error) { return found(k.s.Score(ctx, "b")) },
		sends: redistest.Command("ZMSCORE"), answer: 2.0,
	},
	"scores": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.Scores(ctx, "c", "a")) },
		sends: redistest.Command("ZMSCORE"), answer: []float64{3, 1},
	},
	"rank": {
		do:    func(ctx context.Context, k kit) (any, error) { return found(k.s.Rank(ctx, "c")) },
		sends: redistest.Command("ZRANK"), answer: int64(2),
	},
	"reverse rank": {
		do:    func(ctx context.Context, k kit) (any, error) { return found(k.s.RevRank(ctx, "c")) },
		sends: redistest.Command("ZREVRANK"), answer: int64(0),
	},
	"count": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.Count(ctx, AtLeast(2))) },
		sends: redistest.Command("ZCOUNT"), answer: int64(2),
	},
	"length": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.Len(ctx)) },
		sends: redistest.Command("ZCARD"), answer: int64(3),
	},
	"all": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(collect(k.s.All(ctx))) },
		sends: script(pageScript), answer: "a=1 b=2 c=3",
	},
	"range": {
		do: func(ctx context.Context, k kit) (any, error) {
			return some(collect(k.s.Range(ctx, 0, -2, WithDescending())))
		},
		sends: script(pageScript), answer: "c=3 b=2",
	},
	"by score": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(collect(k.s.ByScore(ctx, AtMost(2)))) },
		sends: script(pageScript), answer: "a=1 b=2",
	},
	"texts": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(texts(k.l.Range(ctx, Span{Before: "c"}))) },
		sends: script(pageScript), answer: "a b",
	},
	"number of texts": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.l.Count(ctx, Prefix("b"))) },
		sends: redistest.Command("ZLEXCOUNT"), answer: int64(1),
	},
	"rank of a text": {
		do:    func(ctx context.Context, k kit) (any, error) { return found(k.l.Rank(ctx, "c")) },
		sends: redistest.Command("ZRANK"), answer: int64(2),
	},
	"position": {
		do:    func(ctx context.Context, k kit) (any, error) { return found(k.g.Position(ctx, "b")) },
		sends: redistest.Command("ZMSCORE"), answer: at(2),
	},
	"positions": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.g.Positions(ctx, "c", "a")) },
		sends: redistest.Command("ZMSCORE"), answer: []Position{at(3), at(1)},
	},
	"distance": {
		do:    func(ctx context.Context, k kit) (any, error) { return found(k.g.Distance(ctx, "a", "c")) },
		sends: redistest.Command("ZMSCORE"), answer: Distance(apart(at(1), at(3))),
	},
	"hash": {
		do:    func(ctx context.Context, k kit) (any, error) { return found(k.g.Hash(ctx, "a")) },
		sends: redistest.Command("ZMSCORE"), answer: "00bh0hbj210",
	},
	"places": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(places(k.g.All(ctx))) },
		sends: script(pageScript), answer: []Place[string]{{"a", at(1)}, {"b", at(2)}, {"c", at(3)}},
	},
	"near": {
		do: func(ctx context.Context, k kit) (any, error) {
			return some(values(k.g.Within(ctx, at(0), Box(Metre, Metre), WithDescending(), WithLimit(2))))
		},
		sends: script(nearScript), answer: "c a",
	},
	"near a member": {
		do: func(ctx context.Context, k kit) (any, error) {
			return some(values(k.g.WithinOf(ctx, "a", Radius(Kilometre))))
		},
		sends: script(nearScript), answer: "a c b", absent: ErrNotFound,
	},
	"exists": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.Exists(ctx)) },
		sends: redistest.Command("EXISTS"), answer: true, any: true,
	},
	"remaining": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.Remaining(ctx)) },
		sends: redistest.Command("PTTL"), any: true,
	},
	"size in memory": {
		do:    func(ctx context.Context, k kit) (any, error) { return some(k.s.SizeInMemory(ctx)) },
		sends: redistest.AnyScript(), any: true,
	},
}

// found makes one answer of two.
func found[A any](a A, there bool, err error) (any, error) {
	if !there {
		return nil, err
	}
	return a, err
}

// collect returns what a walk brings, as text.
func collect[T any](all iter.Seq2[Entry[T], error]) (string, error) {
	var got []string
	for e, err := range all {
		if err != nil {
			return strings.Join(got, " "), err
		}
		got = append(got, fmt.Sprintf("%v=%v", e.Value, e.Score))
	}
	return strings.Join(got, " "), nil
}

// places returns what a walk through places brings.
func places[T any](all iter.Seq2[Place[T], error]) (got []Place[T], err error) {
	for p, err := range all {
		if err != nil {
			return got, err
		}
		got = append(got, p)
	}
	return got, nil
}

// values returns the members that a search brings, with spaces in between.
func values[T any](all iter.Seq2[Near[T], error]) (string, error) {
	var got []string
	for n, err := range all {
		if err != nil {
			return strings.Join(got, " "), err
		}
		got = append(got, fmt.Sprint(n.Value))
	}
	return strings.Join(got, " "), nil
}

// texts returns what a walk through texts brings, with spaces in between.
func texts(all iter.Seq2[string, error]) (string, error) {
	var got []string
	for text, err := range all {
		if err != nil {
			return strings.Join(got, " "), err
		}
		got = append(got, text)
	}
	return strings.Join(got, " "), nil
}

// old makes the set of an effect.
func old(t testing.TB, raw rueidis.Client, key string) {
	t.Helper()
	redistest.Do(t, raw, "DEL", key)
	redistest.Do(t, raw, "ZADD", key, "1", "a", "2", "b", "3", "c")
	redistest.Do(t, raw, "PEXPIRE", key, decimal(hour.Milliseconds()))
}

// state returns what a key has, and for how long: "none", or members with their scores, and "forever", "hour" or "day".
func state(t testing.TB, raw rueidis.Client, key string) string {
	t.Helper()
	msg := redistest.Do(t, raw, "ZRANGE", key, "0", "-1", "WITHSCORES")
	all, err := msg.AsZScores()
	require.NoError(t, err)
	if len(all) == 0 {
		return none
	}
	var texts []string
	for _, one := range all {
		texts = append(texts, fmt.Sprintf("%v=%v", one.Member, one.Score))
	}
	return strings.Join(append(texts, ends(t, raw, key)), " ")
}

func ends(t testing.TB, raw rueidis.Client, key string) string {
	t.Helper()
	switch left := redistest.Left(t, raw, key); {
	case left < 0:
		return "forever"
	case left <= hour && left > hour/2:
		return "hour"
	case left <= day && left > day/2:
		return "day"
	default:
		return left.String()
	}
}

// fresh returns a name that is deleted when the test ends.
func fresh(t testing.TB, raw rueidis.Client) string { t.Helper(); return enginetest.Fresh(t, raw) }

func miniredis(t *testing.T) bool { t.Helper(); return strings.Contains(t.Name(), "miniredis") }
