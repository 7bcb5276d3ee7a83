package multimap

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// kinds are the multimaps, by what they have in common.
var kinds = map[string]func(e *locking.Engine, name string, opts ...Option) *multi[string, string]{
	"list": func(e *locking.Engine, name string, opts ...Option) *multi[string, string] {
		return &NewList[string, string](e, name, append(opts, WithCodec(codec.Text))...).multi
	},
	"set": func(e *locking.Engine, name string, opts ...Option) *multi[string, string] {
		return &NewSet[string, string](e, name, append(opts, WithCodec(codec.Text))...).multi
	},
}

// onKinds runs a test on every kind of multimap on every kind of server.
func onKinds(t *testing.T, test func(t *testing.T, raw rueidis.Client, kind string)) {
	t.Helper()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		for kind := range kinds {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				test(t, raw, kind)
			})
		}
	})
}

// multiOn is a multimap that goes with the test.
func multiOn(t testing.TB, kind string, e *locking.Engine, name string, opts ...Option) *multi[string, string] {
	t.Helper()
	g := kinds[kind](e, name, opts...)
	t.Cleanup(func() { _, _ = g.clear(context.Background(), "delete") })
	return g
}

// multiWorld is a multimap, and what one goroutine knows of the keys that are its
// own.
type multiWorld struct {
	t    *testing.T
	rnd  *rand.Rand
	g    *multi[string, string]
	own  string
	know map[string][]string
	ends map[string]int64  // of some of them
	at   *enginetest.Clock // nil: time stands still
}

func (w *multiWorld) key() string   { return fmt.Sprint(w.own, w.rnd.IntN(4)) }
func (w *multiWorld) value() string { return []string{"", "a", "b", "c\x00:é", "12:"}[w.rnd.IntN(5)] }

func (w *multiWorld) some() (vs []string) {
	for range w.rnd.IntN(5) {
		vs = append(vs, w.value())
	}
	return vs
}

func (w *multiWorld) same(err error, got, want any) {
	w.t.Helper()
	assert.NoError(w.t, err)
	assert.Equal(w.t, want, got)
}

// add is what it knows then, and how many it did not know.
func (w *multiWorld) add(k string, vs []string) (n int64) {
	for _, v := range vs {
		if w.g.names.kind == "list" || !slices.Contains(w.know[k], v) {
			w.know[k] = append(w.know[k], v)
			n++
		}
	}
	return n
}

func (w *multiWorld) forget(k string) {
	delete(w.know, k)
	delete(w.ends, k)
}

// values is a list, or a set in some order, none being an empty one.
func (w *multiWorld) values(vs []string) []string {
	vs = append([]string{}, vs...)
	if w.g.names.kind == "set" {
		slices.Sort(vs)
	}
	return vs
}

var multiSteps = []func(ctx context.Context, w *multiWorld){
	func(ctx context.Context, w *multiWorld) {
		k, vs := w.key(), w.some()
		n, err := w.g.put(ctx, k, vs...)
		w.same(err, n, w.add(k, vs))
	},
	func(ctx context.Context, w *multiWorld) {
		k := w.key()
		got, err := w.g.Get(ctx, k)
		w.same(err, w.values(got), w.values(w.know[k]))
	},
	func(ctx context.Context, w *multiWorld) {
		k := w.key()
		n, err := w.g.Count(ctx, k)
		w.same(err, n, int64(len(w.know[k])))
	},
	func(ctx context.Context, w *multiWorld) {
		k, v := w.key(), w.value()
		has, err := w.g.HasEntry(ctx, k, v)
		w.same(err, has, slices.Contains(w.know[k], v))
	},
	func(ctx context.Context, w *multiWorld) {
		k, v := w.key(), w.value()
		i := slices.Index(w.know[k], v)
		had, err := w.g.Remove(ctx, k, v)
		if w.same(err, had, i >= 0); i >= 0 {
			if w.know[k] = slices.Delete(w.know[k], i, i+1); len(w.know[k]) == 0 {
				w.forget(k)
			}
		}
	},
	func(ctx context.Context, w *multiWorld) {
		k := w.key()
		old, err := w.g.replace(ctx, "remove all of", k)
		w.same(err, w.values(old), w.values(w.know[k]))
		w.forget(k)
	},
	func(ctx context.Context, w *multiWorld) {
		k, vs := w.key(), w.some()
		old, err := w.g.replace(ctx, "replace", k, vs...)
		w.same(err, w.values(old), w.values(w.know[k]))
		delete(w.know, k)
		if w.add(k, vs); len(vs) == 0 {
			w.forget(k)
		}
	},
	func(ctx context.Context, w *multiWorld) {
		ks := []string{w.key(), w.key()}
		want := int64(0)
		for _, k := range ks {
			if len(w.know[k]) > 0 {
				want++
			}
			w.forget(k)
		}
		n, err := w.g.RemoveKeys(ctx, slices.Compact(ks)...)
		w.same(err, n, want)
	},
	func(ctx context.Context, w *multiWorld) {
		var got []string
		for k, err := range w.g.Keys(ctx, WithMatch(w.own+"*"), WithPage(1+w.rnd.IntN(5))) {
			w.same(err, nil, nil)
			got = append(got, k)
		}
		slices.Sort(got)
		w.same(nil, slices.Compact(got), slices.AppendSeq([]string(nil), w.sorted()))
	},
	func(ctx context.Context, w *multiWorld) {
		got := map[string][]string{}
		for e, err := range w.g.All(ctx, WithPage(1+w.rnd.IntN(5))) {
			if w.same(err, nil, nil); strings.HasPrefix(e.Key, w.own) {
				got[e.Key] = append(got[e.Key], e.Value)
			}
		}
		for k := range got {
			w.same(nil, w.values(got[k]), w.values(w.know[k]))
		}
		w.same(nil, len(got), len(w.know))
	},
	func(ctx context.Context, w *multiWorld) {
		k := w.key()
		d := time.Hour
		if w.at != nil {
			d = time.Duration(1+w.rnd.IntN(100)) * time.Millisecond
		}
		there, err := w.g.expire(ctx, "expire", k, d)
		if w.same(err, there, len(w.know[k]) > 0); there && w.at != nil {
			w.ends[k] = w.at.Now().Add(d).UnixMilli()
		}
	},
	func(ctx context.Context, w *multiWorld) {
		k := w.key()
		there, err := w.g.expire(ctx, "persist", k, 0)
		w.same(err, there, len(w.know[k]) > 0)
		delete(w.ends, k)
	},
	func(ctx context.Context, w *multiWorld) {
		if w.at == nil {
			return
		}
		w.at.Forward(time.Duration(w.rnd.IntN(30)) * time.Millisecond)
		for k, end := range w.ends {
			if end <= w.at.Now().UnixMilli() {
				w.forget(k)
			}
		}
		n, err := w.g.Len(ctx)
		want := int64(0)
		for _, vs := range w.know {
			want += int64(len(vs))
		}
		w.same(err, n, want)
	},
}

func (w *multiWorld) sorted() func(yield func(string) bool) {
	var ks []string
	for k := range w.know {
		ks = append(ks, k)
	}
	slices.Sort(ks)
	return slices.Values(ks)
}

func (w *multiWorld) run(rounds int) {
	for range rounds {
		i := w.rnd.IntN(len(multiSteps))
		if multiSteps[i](w.t.Context(), w); w.t.Failed() {
			w.t.Logf("step %d", i)
			return
		}
	}
}

// TestModelOfAMultimap has goroutines of two clients do things to one multimap,
// each to keys of its own, and compares every answer with that of a map of Go.
func TestModelOfAMultimap(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	onKinds(t, func(t *testing.T, raw rueidis.Client, kind string) {
		for name, opts := range map[string][]Option{"plain": nil, "with ids": {WithRequestIDs()}} {
			name := redistest.Name(t) + name
			var all sync.WaitGroup
			for client := range 2 {
				g := multiOn(t, kind, engineOn(t, raw), name, opts...)
				for i := range 3 {
					rnd := rand.New(rand.NewPCG(seed, uint64(client*10+i)))
					w := &multiWorld{t, rnd, g, fmt.Sprintf("%d-%d:", client, i), map[string][]string{}, map[string]int64{}, nil}
					all.Go(func() { w.run(rounds(t, 150, 20_000)) })
				}
			}
			all.Wait()
		}
	})
}

// TestModelOfAMultimapWhoseKeysEnd moves the clock by hand, while the sweeper
// comes by when it likes.
func TestModelOfAMultimapWhoseKeysEnd(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	onKinds(t, func(t *testing.T, raw rueidis.Client, kind string) {
		for name, opts := range map[string][]Option{"plain": nil, "with ids": {WithRequestIDs()}} {
			at := enginetest.NewClock()
			g := multiOn(t, kind, engineOn(t, raw, at.To), redistest.Name(t)+name, opts...)
			w := &multiWorld{t, rand.New(rand.NewPCG(seed, 1)), g, "k", map[string][]string{}, map[string]int64{}, at}
			w.run(rounds(t, 500, 50_000))
			_, err := g.clear(t.Context(), "delete")
			require.NoError(t, err)
			w.nothingLeft()
		}
	})
}

// nothingLeft looks for every key that there may be.
func (w *multiWorld) nothingLeft() {
	w.t.Helper()
	all := w.g.names.of()
	for i := range 4 {
		all = append(all, keys.Values(w.g.names.index, fmt.Sprint(w.own, i)))
	}
	n, err := w.g.e.Redis.Do(w.t.Context(), w.g.e.Redis.B().Exists().Key(all...).Build()).AsInt64()
	require.NoError(w.t, err)
	require.Zero(w.t, n)
}
