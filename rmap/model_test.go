package rmap

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// world is a map, and what one goroutine knows of the keys that are its own.
type world struct {
	t    *testing.T
	rnd  *rand.Rand
	m    Mapping[string, int]
	own  string // what its keys begin with
	know map[string]int
}

// steps is what may happen, each with what it has to answer.
var steps = []func(ctx context.Context, w *world){
	func(ctx context.Context, w *world) {
		k, had, old := w.any()
		v, there, err := w.m.Get(ctx, k)
		w.same(err, []any{v, there}, []any{old, had})
	},
	func(ctx context.Context, w *world) {
		k, had, _ := w.any()
		there, err := w.m.Has(ctx, k)
		w.same(err, there, had)
	},
	func(ctx context.Context, w *world) {
		k, _, _ := w.any()
		n := w.number()
		w.same(w.m.Put(ctx, k, n), nil, nil)
		w.know[k] = n
	},
	func(ctx context.Context, w *world) {
		k, had, was := w.any()
		n := w.number()
		old, there, err := w.m.Swap(ctx, k, n)
		w.same(err, []any{old, there}, []any{was, had})
		w.know[k] = n
	},
	func(ctx context.Context, w *world) {
		k, had, was := w.any()
		old, there, err := w.m.Take(ctx, k)
		w.same(err, []any{old, there}, []any{was, had})
		delete(w.know, k)
	},
	func(ctx context.Context, w *world) {
		k, had, was := w.any()
		n := w.number()
		if !had {
			was = n
		}
		now, stored, err := w.m.PutIfAbsent(ctx, k, n)
		w.same(err, []any{now, stored}, []any{was, !had})
		w.know[k] = was
	},
	func(ctx context.Context, w *world) {
		k, had, _ := w.any()
		n := w.number()
		did, err := w.m.Replace(ctx, k, n)
		if w.same(err, did, had); had {
			w.know[k] = n
		}
	},
	func(ctx context.Context, w *world) {
		k, had, was := w.any()
		old, n := w.number(), w.number()
		did, err := w.m.CompareAndSwap(ctx, k, old, n)
		if w.same(err, did, had && was == old); did {
			w.know[k] = n
		}
	},
	func(ctx context.Context, w *world) {
		k, had, was := w.any()
		old := w.number()
		did, err := w.m.CompareAndRemove(ctx, k, old)
		if w.same(err, did, had && was == old); did {
			delete(w.know, k)
		}
	},
	func(ctx context.Context, w *world) {
		k, had, was := w.any()
		verdict, n := Verdict(w.rnd.IntN(3)), w.number()
		got, there, err := w.m.Compute(ctx, k, func(old int, was bool) (int, Verdict, error) { return old + n, verdict, nil })
		switch verdict {
		case Keep:
			w.same(err, []any{got, there}, []any{was, had})
		case Store:
			w.same(err, []any{got, there}, []any{was + n, true})
			w.know[k] = was + n
		case Delete:
			w.same(err, []any{got, there}, []any{0, false})
			delete(w.know, k)
		}
	},
	func(ctx context.Context, w *world) {
		k, _, was := w.any()
		n := w.number()
		sum, err := Add(ctx, w.m, k, n)
		w.same(err, sum, was+n)
		w.know[k] = was + n
	},
	func(ctx context.Context, w *world) {
		some := map[string]int{w.key(): w.number(), w.key(): w.number()}
		w.same(w.m.PutMany(ctx, some), nil, nil)
		maps.Copy(w.know, some)
	},
	func(ctx context.Context, w *world) {
		ks := []string{w.key(), w.key(), w.key()}
		want := map[string]int{}
		for _, k := range ks {
			if n, had := w.know[k]; had {
				want[k] = n
			}
		}
		got, err := w.m.GetMany(ctx, ks...)
		w.same(err, got, want)
	},
	func(ctx context.Context, w *world) {
		ks := []string{w.key(), w.key()}
		want := int64(0)
		for _, k := range ks {
			if _, had := w.know[k]; had {
				want++
				delete(w.know, k)
			}
		}
		n, err := w.m.Remove(ctx, ks...)
		w.same(err, n, want)
	},
	func(ctx context.Context, w *world) {
		got := map[string]int{}
		for e, err := range w.m.All(ctx, WithPage(1+w.rnd.IntN(20))) {
			if w.same(err, nil, nil); strings.HasPrefix(e.Key, w.own) {
				got[e.Key] = e.Value
			}
		}
		w.same(nil, got, w.know)
	},
	func(ctx context.Context, w *world) {
		var got []string
		for k, err := range w.m.Keys(ctx, WithMatch(w.own+"*")) {
			w.same(err, nil, nil)
			got = append(got, k)
		}
		slices.Sort(got)
		w.same(nil, slices.Compact(got), slices.AppendSeq([]string(nil), sorted(w.know)))
	},
}

func sorted(m map[string]int) func(yield func(string) bool) {
	return slices.Values(slices.Sorted(maps.Keys(m)))
}

func (w *world) key() string { return fmt.Sprint(w.own, w.rnd.IntN(5)) }

func (w *world) number() int { return w.rnd.IntN(4) }

// any is one of its keys, and what it knows of it.
func (w *world) any() (k string, had bool, n int) {
	k = w.key()
	n, had = w.know[k]
	return k, had, n
}

func (w *world) same(err error, got, want any) {
	assert.NoError(w.t, err)
	assert.Equal(w.t, want, got)
}

// TestModel has goroutines of two clients do things to one map, each to keys of
// its own, and compares every answer with that of a map of Go.
func TestModel(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		text := WithCodec(codec.Text)
		for name, opts := range map[string][]MapOption{"plain": {text}, "with ids": {text, WithRequestIDs()}, "with locks": {text, WithEntryLock()}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				key := maptest.Named(t, raw)
				runModel(t, seed, func() Mapping[string, int] { return New[string, int](maptest.EngineOn(t, raw), key, opts...) })
			})
		}
	})
	t.Run("native", func(t *testing.T) {
		t.Parallel()
		raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
		key := maptest.Named(t, raw)
		runModel(t, seed, func() Mapping[string, int] {
			return NewTTLMap[string, int](maptest.EngineOn(t, raw), key, WithCodec(codec.Text), WithTTL(time.Hour))
		})
	})
}

func runModel(t *testing.T, seed uint64, open func() Mapping[string, int]) {
	t.Helper()
	n := maptest.Rounds(t, 100, 20_000)
	var all sync.WaitGroup
	for client := range 2 {
		m := open()
		for g := range 3 {
			own := fmt.Sprintf("%d-%d:", client, g)
			w := &world{t, rand.New(rand.NewPCG(seed, uint64(client*10+g))), m, own, map[string]int{}}
			all.Go(func() {
				for range n {
					if steps[w.rnd.IntN(len(steps))](t.Context(), w); t.Failed() {
						return
					}
				}
			})
		}
	}
	all.Wait()
}
