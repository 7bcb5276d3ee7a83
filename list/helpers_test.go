package list

import (
	"context"
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

// effect is what an operation that writes does to a list which has a, b, a, c for an hour.
type effect struct {
	do     func(ctx context.Context, l *List[string]) (any, error)
	sends  redistest.Match
	answer any
	left   string // see state
	moves  bool   // it does to any key what it does to a list
}

func script(s *scripts.Script) redistest.Match { return redistest.MatchScript(s.Body()) }

const (
	hour = time.Hour
	day  = 24 * time.Hour
)

// some makes an answer of any type of one.
func some[A any](a A, err error) (any, error) { return a, err }

// other is the name of a list in the slot of another one.
func other(l *List[string]) string { return "to:{" + l.Name() + "}" }

var effects = map[string]effect{
	"append": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.Append(ctx, "d", "e")) }, sends: redistest.Command("RPUSH"),
		answer: int64(6), left: "abacde hour",
	},
	"prepend": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.Prepend(ctx, "d", "e")) }, sends: redistest.Command("LPUSH"),
		answer: int64(6), left: "deabac hour",
	},
	"insert one": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.Insert(ctx, 2, "d")) }, sends: script(insertScript),
		answer: true, left: "abdac hour",
	},
	"insert several": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.Insert(ctx, 1, "d", "e")) }, sends: script(insertScript),
		answer: true, left: "adebac hour",
	},
	"insert later": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.Insert(ctx, 3, "d", "e")) }, sends: script(insertScript),
		answer: true, left: "abadec hour",
	},
	"insert first": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.Insert(ctx, 0, "d", "e")) }, sends: script(insertScript),
		answer: true, left: "deabac hour",
	},
	"insert last": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.Insert(ctx, 4, "d")) }, sends: script(insertScript),
		answer: true, left: "abacd hour",
	},
	"insert after the end": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.Insert(ctx, 5, "d")) }, sends: script(insertScript),
		answer: false, left: "abac hour",
	},
	"set": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return took(l.Set(ctx, 1, "d")) }, sends: script(setScript),
		answer: "b", left: "adac hour",
	},
	"set from the end": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return took(l.Set(ctx, -1, "d")) }, sends: script(setScript),
		answer: "c", left: "abad hour",
	},
	"set none": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return took(l.Set(ctx, 4, "d")) }, sends: script(setScript),
		answer: nil, left: "abac hour",
	},
	"remove at": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return took(l.RemoveAt(ctx, 2)) }, sends: script(removeAtScript),
		answer: "a", left: "abc hour",
	},
	"remove at from the end": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return took(l.RemoveAt(ctx, -2)) }, sends: script(removeAtScript),
		answer: "a", left: "abc hour",
	},
	"remove the first": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return took(l.RemoveAt(ctx, 0)) }, sends: script(removeAtScript),
		answer: "a", left: "bac hour",
	},
	"remove the last": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return took(l.RemoveAt(ctx, -1)) }, sends: script(removeAtScript),
		answer: "c", left: "aba hour",
	},
	"remove none": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return took(l.RemoveAt(ctx, 9)) }, sends: script(removeAtScript),
		answer: nil, left: "abac hour",
	},
	"remove": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.Remove(ctx, "a", 0)) }, sends: redistest.Command("LREM"),
		answer: int64(2), left: "bc hour",
	},
	"trim": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return nil, l.Trim(ctx, 1, -2) }, sends: redistest.Command("LTRIM"),
		answer: nil, left: "ba hour",
	},
	"delete": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.Delete(ctx)) }, sends: redistest.Command("UNLINK"),
		answer: true, left: "none", moves: true,
	},
	"expire": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.Expire(ctx, day)) }, sends: redistest.AnyScript(),
		answer: true, left: "abac day", moves: true,
	},
	"expire at": {
		do: func(ctx context.Context, l *List[string]) (any, error) {
			return some(l.ExpireAt(ctx, time.Now().Add(day)))
		}, sends: redistest.AnyScript(),
		answer: true, left: "abac day", moves: true,
	},
	"persist": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.Persist(ctx)) }, sends: redistest.AnyScript(),
		answer: true, left: "abac forever", moves: true,
	},
	"rename": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.Rename(ctx, other(l))) }, sends: redistest.AnyScript(),
		answer: true, left: "none", moves: true,
	},
	"copy": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.Copy(ctx, other(l))) }, sends: redistest.AnyScript(),
		answer: true, left: "abac hour", moves: true,
	},
}

// reads is every operation that only reads, with what it answers of a list which has a, b, a, c for an hour.
var reads = map[string]struct {
	do     func(ctx context.Context, l *List[string]) (any, error)
	sends  redistest.Match
	answer any
	any    bool // it reads a key of any type
}{
	"get": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return took(l.Get(ctx, 1)) }, sends: redistest.Command("LINDEX"),
		answer: "b",
	},
	"get from the end": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return took(l.Get(ctx, -1)) }, sends: redistest.Command("LINDEX"),
		answer: "c",
	},
	"get none": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return took(l.Get(ctx, 4)) }, sends: redistest.Command("LINDEX"),
		answer: nil,
	},
	"get many": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.GetMany(ctx, 0, 9, -1)) }, sends: script(getManyScript),
		answer: map[int64]string{0: "a", -1: "c"},
	},
	"index": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return at(l.Index(ctx, "a")) }, sends: redistest.Command("LPOS"),
		answer: int64(0),
	},
	"last index": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return at(l.LastIndex(ctx, "a")) }, sends: redistest.Command("LPOS"),
		answer: int64(2),
	},
	"index of none": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return at(l.Index(ctx, "x")) }, sends: redistest.Command("LPOS"),
		answer: int64(-1),
	},
	"range": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.Range(ctx, 1, 2)) }, sends: script(rangeScript),
		answer: []string{"b", "a"},
	},
	"range from the end": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.Range(ctx, -3, -1)) }, sends: script(rangeScript),
		answer: []string{"b", "a", "c"},
	},
	"range beyond": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.Range(ctx, 3, 99)) }, sends: script(rangeScript),
		answer: []string{"c"},
	},
	"all": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return walked(l.All(ctx)) }, sends: script(rangeScript),
		answer: []string{"a", "b", "a", "c"},
	},
	"len": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.Len(ctx)) }, sends: redistest.Command("LLEN"),
		answer: int64(4),
	},
	"exists": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.Exists(ctx)) }, sends: redistest.Command("EXISTS"),
		answer: true, any: true,
	},
	"remaining": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.Remaining(ctx)) }, sends: redistest.Command("PTTL"),
		answer: nil, any: true,
	},
	"size in memory": {
		do: func(ctx context.Context, l *List[string]) (any, error) { return some(l.SizeInMemory(ctx)) }, sends: redistest.AnyScript(),
		answer: nil, any: true,
	},
}

// took makes one answer of two.
func took(v string, there bool, err error) (any, error) {
	if !there {
		return nil, err
	}
	return v, err
}

// at makes one answer of two: -1 for none.
func at(i int64, there bool, err error) (any, error) {
	if !there {
		i = -1
	}
	return i, err
}

// walked returns what a walk yields, up to an error.
func walked[T any](all iter.Seq2[T, error]) (any, error) {
	var vs []T
	for v, err := range all {
		if err != nil {
			return nil, err
		}
		vs = append(vs, v)
	}
	return vs, nil
}

func listOn(e *locking.Engine, name string) *List[string] {
	return New[string](e, name, WithCodec(codec.Text))
}

// abac makes the list of an effect.
func abac(t testing.TB, raw rueidis.Client, key string) {
	t.Helper()
	redistest.Do(t, raw, "DEL", key)
	redistest.Do(t, raw, "RPUSH", key, "a", "b", "a", "c")
	redistest.Do(t, raw, "PEXPIRE", key, decimal(hour.Milliseconds()))
}

// state returns what a key has, and for how long: "none", or the elements, and "forever", "hour" or "day".
func state(t testing.TB, raw rueidis.Client, key string) string {
	t.Helper()
	msg := redistest.Do(t, raw, "LRANGE", key, "0", "-1")
	all, err := msg.AsStrSlice()
	require.NoError(t, err)
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, "") + " " + ends(t, raw, key)
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
