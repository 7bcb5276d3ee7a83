package timeseries

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// kit has a handle on one name.
type kit struct {
	name string
	to   string // another name, of the same slot
	s    *Series[string]
}

func kitOn(e *locking.Engine, name string, opts ...Option) kit {
	return kit{name, "to:{" + name + "}", New[string](e, name, append([]Option{WithCodec(codec.Text)}, opts...)...)}
}

// foreign is what an operation does to a key of another type.
type foreign int

const (
	refuses foreign = iota // it returns an error, and changes nothing
	moves                  // it does to any key what it does to a series
)

// effect is what an operation that writes does to a series, see old.
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

// at returns a time.
func at(ms int64) time.Time { return time.UnixMilli(ms) }

// some makes an answer of any type of one.
func some[A any](a A, err error) (any, error) { return a, err }

func last[A any](_ A, err error) error { return err }

func last2[A any](_ A, _ bool, err error) error { return err }

// of returns an operation on a series.
func of(call func(ctx context.Context, s *Series[string]) (any, error)) func(ctx context.Context, k kit) (any, error) {
	return func(ctx context.Context, k kit) (any, error) { return call(ctx, k.s) }
}

// texts returns entries as texts.
func texts(all []Entry[string], err error) (any, error) {
	words := make([]string, len(all))
	for i, e := range all {
		words[i] = shown(e)
	}
	return strings.Join(words, " "), err
}

func shown(e Entry[string]) string {
	text := fmt.Sprint(e.Time.UnixMilli(), "=", e.Value)
	if e.Label != "" {
		text += "/" + e.Label
	}
	return text
}

// one returns an entry as a text.
func one(e Entry[string], there bool, err error) (any, error) {
	if !there {
		return "none", err
	}
	return shown(e), err
}

// walked returns what a walk yields.
func walked(walk iter.Seq2[Entry[string], error]) (any, error) { return texts(collected(walk)) }

func collected[T any](walk iter.Seq2[Entry[T], error]) (all []Entry[T], err error) {
	for e, err := range walk {
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
	return all, nil
}

// first is what is in an old series.
const first = "1000=over:over 2000=a:hour 2000=c:forever 3000=b/l:forever"

// effects is every operation on an old series.
var effects = map[string]effect{
	"add": {
		of(func(ctx context.Context, s *Series[string]) (any, error) { return nil, s.Add(ctx, at(1500), "d") }),
		script(addScript), nil, "1000=over:over 1500=d:forever 2000=a:hour 2000=c:forever 3000=b/l:forever", refuses,
	},
	"add what ends": {
		of(func(ctx context.Context, s *Series[string]) (any, error) {
			return nil, s.Add(ctx, at(-2000), "d", WithTTL(day), WithLabel("é"))
		}),
		script(addScript), nil, "-2000=d/é:day " + first, refuses,
	},
	"add many": {
		of(func(ctx context.Context, s *Series[string]) (any, error) {
			return some(s.AddMany(ctx, []Entry[string]{{at(2000), "d", ""}, {at(1), "d", "x"}}, WithLabel("y"), WithTTL(hour)))
		}),
		script(addScript), int64(2), "1=d/x:hour 1000=over:over 2000=a:hour 2000=c:forever 2000=d/y:hour 3000=b/l:forever", refuses,
	},
	"remove": {
		of(func(ctx context.Context, s *Series[string]) (any, error) { return some(s.Remove(ctx, at(2000))) }),
		script(takeScript), true, "1000=over:over 2000=c:forever 3000=b/l:forever", refuses,
	},
	"remove what has expired": {
		of(func(ctx context.Context, s *Series[string]) (any, error) { return some(s.Remove(ctx, at(1000))) }),
		script(takeScript), false, first, refuses,
	},
	"remove a range": {
		of(func(ctx context.Context, s *Series[string]) (any, error) {
			return some(s.RemoveRange(ctx, at(-9), at(2000)))
		}),
		script(takeScript), int64(2), "1000=over:over 3000=b/l:forever", refuses,
	},
	"take": {
		of(func(ctx context.Context, s *Series[string]) (any, error) { return one(s.Take(ctx, at(3000))) }),
		script(takeScript), "3000=b/l", "1000=over:over 2000=a:hour 2000=c:forever", refuses,
	},
	"take what is not there": {
		of(func(ctx context.Context, s *Series[string]) (any, error) { return one(s.Take(ctx, at(3001))) }),
		script(takeScript), "none", first, refuses,
	},
	"pop the first": {
		of(func(ctx context.Context, s *Series[string]) (any, error) { return texts(s.PopFirst(ctx, 2)) }),
		script(takeScript), "2000=a 2000=c", "1000=over:over 3000=b/l:forever", refuses,
	},
	"pop the last": {
		of(func(ctx context.Context, s *Series[string]) (any, error) { return texts(s.PopLast(ctx, 2)) }),
		script(takeScript), "3000=b/l 2000=c", "1000=over:over 2000=a:hour", refuses,
	},
	"pop all": {
		of(func(ctx context.Context, s *Series[string]) (any, error) { return texts(s.PopLast(ctx, 9)) }),
		script(takeScript), "3000=b/l 2000=c 2000=a", "1000=over:over", refuses,
	},
	"delete": {
		of(func(ctx context.Context, s *Series[string]) (any, error) { return some(s.Delete(ctx)) }),
		redistest.Command("UNLINK"), true, "", moves,
	},
	"expire": {
		of(func(ctx context.Context, s *Series[string]) (any, error) { return some(s.Expire(ctx, day)) }),
		redistest.AnyScript(), true, first, moves,
	},
	"expire at": {
		of(func(ctx context.Context, s *Series[string]) (any, error) {
			return some(s.ExpireAt(ctx, time.Now().Add(day)))
		}),
		redistest.AnyScript(), true, first, moves,
	},
	"persist": {
		of(func(ctx context.Context, s *Series[string]) (any, error) { return some(s.Persist(ctx)) }),
		redistest.AnyScript(), false, first, moves,
	},
	"rename": {
		func(ctx context.Context, k kit) (any, error) { return some(k.s.Rename(ctx, k.to)) },
		redistest.AnyScript(), true, "", moves,
	},
	"rename if absent": {
		func(ctx context.Context, k kit) (any, error) { return some(k.s.RenameIfAbsent(ctx, k.to)) },
		redistest.AnyScript(), true, "", moves,
	},
	"copy": {
		func(ctx context.Context, k kit) (any, error) { return some(k.s.Copy(ctx, k.to)) },
		redistest.AnyScript(), true, first, moves,
	},
}

// look is an operation that only reads, with what it answers, see old.
type look struct {
	do     func(ctx context.Context, k kit) (any, error)
	sends  redistest.Match
	answer any
}

// looking makes a look by page.lua.
func looking(answer string, call func(ctx context.Context, s *Series[string]) (any, error)) look {
	return look{of(call), script(pageScript), answer}
}

var looks = map[string]look{
	"get":              looking("2000=a", func(ctx context.Context, s *Series[string]) (any, error) { return one(s.Get(ctx, at(2000))) }),
	"get nothing":      looking("none", func(ctx context.Context, s *Series[string]) (any, error) { return one(s.Get(ctx, at(2001))) }),
	"get what expired": looking("none", func(ctx context.Context, s *Series[string]) (any, error) { return one(s.Get(ctx, at(1000))) }),
	"walk":             looking("2000=a 2000=c 3000=b/l", func(ctx context.Context, s *Series[string]) (any, error) { return walked(s.All(ctx)) }),
	"walk back": looking("3000=b/l 2000=c 2000=a", func(ctx context.Context, s *Series[string]) (any, error) {
		return walked(s.All(ctx, WithDescending()))
	}),
	"range": looking("2000=a 2000=c", func(ctx context.Context, s *Series[string]) (any, error) {
		return walked(s.Range(ctx, at(1000), at(2999)))
	}),
	"range back": looking("2000=c", func(ctx context.Context, s *Series[string]) (any, error) {
		return walked(s.Range(ctx, at(1000), at(2999), WithDescending(), WithLimit(1)))
	}),
	"range from the end": looking("3000=b/l", func(ctx context.Context, s *Series[string]) (any, error) {
		return walked(s.Range(ctx, at(2001), Latest.Add(day)))
	}),
	"range of nothing": looking("", func(ctx context.Context, s *Series[string]) (any, error) {
		return walked(s.Range(ctx, at(3000), at(2000)))
	}),
	"range beyond": looking("", func(ctx context.Context, s *Series[string]) (any, error) {
		return walked(s.Range(ctx, Latest.Add(1), Latest.Add(day)))
	}),
	"first": looking("2000=a", func(ctx context.Context, s *Series[string]) (any, error) { return texts(s.First(ctx, 1)) }),
	"last":  looking("3000=b/l 2000=c", func(ctx context.Context, s *Series[string]) (any, error) { return texts(s.Last(ctx, 2)) }),
	"count": {
		of(func(ctx context.Context, s *Series[string]) (any, error) { return some(s.Len(ctx)) }),
		script(countScript), int64(3),
	},
	"exists": {
		of(func(ctx context.Context, s *Series[string]) (any, error) { return some(s.Exists(ctx)) }),
		redistest.Command("EXISTS"), true,
	},
	"remaining": {
		of(func(ctx context.Context, s *Series[string]) (any, error) { return some(s.Remaining(ctx)) }),
		redistest.Command("PTTL"), time.Duration(-1),
	},
}

// put writes an entry as another client does. It ends after a time; 0: never.
func put(t testing.TB, raw rueidis.Client, key string, time string, text string, ends string) {
	t.Helper()
	redistest.Do(t, raw, "ZADD", key, time, text)
	redistest.Do(t, raw, "ZADD", keys.SeriesEnds(key), ends, text)
}

// idOf returns an id that begins with a text.
func idOf(text string) string { return (text + strings.Repeat("-", idSize))[:idSize] }

// in returns when an entry ends, as the server takes it.
func in(d time.Duration) string { return decimal(time.Now().Add(d).UnixMilli()) }

const ever = 36500 * day

// old writes a series.
func old(t testing.TB, raw rueidis.Client, key string) {
	t.Helper()
	put(t, raw, key, "1000", packed{value: "over"}.text(idOf("1")), in(-time.Second))
	put(t, raw, key, "2000", packed{value: "a"}.text(idOf("2")), in(hour))
	put(t, raw, key, "2000", packed{value: "c"}.text(idOf("3")), in(ever))
	put(t, raw, key, "3000", packed{"b", "l", true}.text(idOf("4")), in(ever))
}

// state returns the entries in the order of their times, and for how long: "forever", "hour", "day" or "over".
func state(t testing.TB, raw rueidis.Client, key string) string {
	t.Helper()
	scores := func(key string) []rueidis.ZScore {
		msg := redistest.Do(t, raw, "ZRANGE", key, "0", "-1", "WITHSCORES")
		all, err := msg.AsZScores()
		require.NoError(t, err)
		return all
	}
	ends := map[string]float64{}
	for _, z := range scores(keys.SeriesEnds(key)) {
		ends[z.Member] = z.Score
	}
	all := scores(key)
	slices.SortStableFunc(all, func(a, b rueidis.ZScore) int {
		if a.Score != b.Score {
			return int(a.Score - b.Score)
		}
		return strings.Compare(a.Member[18:], b.Member[18:])
	})
	var words []string
	for _, z := range all {
		p, err := unpack(z.Member)
		require.NoError(t, err)
		left := "missing"
		if end, ok := ends[z.Member]; ok {
			switch d := time.Duration(end-float64(time.Now().UnixMilli())) * time.Millisecond; {
			case d <= 0:
				left = "over"
			case d <= hour && d > hour/2:
				left = "hour"
			case d <= day && d > day/2:
				left = "day"
			case d > ever-hour && d < ever+hour:
				left = "forever"
			default:
				left = d.String()
			}
			delete(ends, z.Member)
		}
		words = append(words, shown(Entry[string]{at(int64(z.Score)), p.value, p.label})+":"+left)
	}
	require.Empty(t, ends, "ends of nothing")
	return strings.Join(words, " ")
}

// fresh returns a name whose keys are deleted when the test ends.
func fresh(t testing.TB, raw rueidis.Client) string {
	t.Helper()
	name := redistest.Named(t, raw)
	t.Cleanup(func() {
		for _, key := range slices.Concat(keys.Series(name), keys.Series("to:{"+name+"}"), []string{keys.SweepLatch(name), keys.SweepLatch("to:{" + name + "}")}) {
			raw.Do(context.Background(), raw.B().Del().Key(key).Build())
		}
	})
	return name
}
