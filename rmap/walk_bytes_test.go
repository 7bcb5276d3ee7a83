package rmap

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/hashscan"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// walked is a map of any kind: what fills it, and what goes through it.
type walked struct {
	fill func(t *testing.T, key, text string)
	all  iter.Seq2[Entry[string, string], error]
	keys iter.Seq2[string, error]
	many func(t *testing.T, keys []string) map[string]string // nil: it has none
}

func walkedMap(m Mapping[string, string]) walked {
	return walked{
		fill: func(t *testing.T, key, text string) { t.Helper(); require.NoError(t, m.Put(t.Context(), key, text)) },
		all:  m.All(context.Background()),
		keys: m.Keys(context.Background()),
		many: func(t *testing.T, keys []string) map[string]string {
			t.Helper()
			got, err := m.GetMany(t.Context(), keys...)
			require.NoError(t, err)
			return got
		},
	}
}

// walkedKinds are maps of each kind.
var walkedKinds = map[string]func(e *locking.Engine, name string) walked{
	"map": func(e *locking.Engine, name string) walked { return walkedMap(New[string, string](e, name, textual)) },
	"sharded": func(e *locking.Engine, name string) walked {
		return walkedMap(NewSharded[string, string](e, name, 2, textual))
	},
	"native": func(e *locking.Engine, name string) walked {
		return walkedMap(NewTTLMap[string, string](e, name, textual))
	},
	"cache": func(e *locking.Engine, name string) walked {
		return walkedMap(NewCache[string, string](e, name, textual))
	},
	"cache with times": func(e *locking.Engine, name string) walked {
		m := NewCache[string, string](e, name, textual)
		w := walkedMap(m)
		w.all = func(yield func(Entry[string, string], error) bool) {
			for entry, err := range m.AllTimed(context.Background()) {
				if !yield(entry.Entry, err) {
					return
				}
			}
		}
		return w
	},
}

// textual is the option that all of them take.
var textual = WithCodec(codec.Text)

// mostWeighed is how large an answer may be: a page, and what may come beyond it, as a
// large entry comes whole.
const mostWeighed = 2 << 20

// TestAnAnswerOfAWalkIsBoundedByBytes: a thousand entries of these are 50 MB.
func TestAnAnswerOfAWalkIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"7.0", "8.0", "valkey-8.1"} {
		for kind, of := range walkedKinds {
			if kind == "native" && version != "8.0" {
				continue // it has none
			}
			t.Run(version+"/"+kind, func(t *testing.T) {
				t.Parallel()
				raw := redistest.Shared(t, redistest.Version(version)).Client(t)
				name := redistest.Name(t)
				in, want := of(maptest.EngineOn(t, raw), name), map[string]string{}
				for i := range redistest.Count(t, 60, 1000) {
					for _, size := range []int{100, 50_000} { // what comes first is likely to be short
						key := strconv.Itoa(size) + "-" + strconv.Itoa(i)
						want[key] = key + strings.Repeat("x", size-len(key))
						in.fill(t, key, want[key])
					}
				}
				c := &redistest.Weighed{Client: raw}
				m := of(maptest.EngineOn(t, c), name)
				got := map[string]string{}
				for e, err := range m.all {
					require.NoError(t, err)
					got[e.Key] = e.Value
				}
				require.Equal(t, want, got)
				require.Less(t, c.Most.Swap(0), int64(mostWeighed))
				keys := map[string]string{}
				for k, err := range m.keys {
					require.NoError(t, err)
					keys[k] = want[k]
				}
				require.Equal(t, want, keys)
				require.Less(t, c.Most.Swap(0), int64(100<<10), "no values come")
				if m.many != nil {
					require.Equal(t, want, m.many(t, slices.Collect(maps.Keys(want))))
					require.Less(t, c.Most.Load(), int64(mostWeighed))
				}
			})
		}
	}
}

// TestCacheKeysReadsLittleOfWhatMayHaveRestedForTooLong: only an entry itself says whether it
// has an idle time.
func TestCacheKeysReadsLittleOfWhatMayHaveRestedForTooLong(t *testing.T) {
	t.Parallel()
	for version, novalues := range map[string]bool{"7.0": false, "8.0": true, "valkey-8.1": true} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			raw, at, ctx := redistest.Shared(t, redistest.Version(version)).Client(t), maptest.NewHandClock(), t.Context()
			m := NewCache[string, string](maptest.EngineOn(t, raw, at.On), maptest.CacheNamed(t, raw), textual)
			const size = 100_000
			want := []string{}
			for i := range 60 {
				for kind, text := range map[string]string{"small": "x", "large": strings.Repeat("x", size), "idle": strings.Repeat("x", size)} {
					key := kind + strconv.Itoa(i)
					if kind == "idle" {
						require.NoError(t, m.Put(ctx, key, text, WithMaxIdle(time.Minute)))
						continue
					}
					want = append(want, key)
					require.NoError(t, m.Put(ctx, key, text))
					maptest.Raws(t, raw, "ZADD "+keys.MapRests(m.Name())+" 1 "+key) // an entry of that name had rested before
				}
			}
			at.Forward(time.Minute)
			slices.Sort(want)
			cfg, err := m.m.scanning(ctx, nil)
			require.NoError(t, err)
			cfg.what = mapstore.ScannedKeys
			var got []string
			for cursor := "0"; ; {
				p, err := m.c.Scan(ctx, mapstore.Asked{Ask: hashscan.Ask{Config: cfg.Config, Cursor: cursor, Count: cfg.Page}, What: cfg.what})
				require.NoError(t, err)
				for _, one := range p.Pairs {
					got = append(got, one.Key)
				}
				if novalues {
					require.LessOrEqual(t, p.Bytes, int64(hashscan.MostBytes+2*size), "one bucket may have several")
				}
				if cursor = p.Next; cursor == "0" {
					break
				}
			}
			slices.Sort(got)
			require.Equal(t, want, slices.Compact(got))
			var walked []string
			for k, err := range m.Keys(ctx) {
				require.NoError(t, err)
				walked = append(walked, k)
			}
			slices.Sort(walked)
			require.Equal(t, want, slices.Compact(walked))
		})
	}
}
