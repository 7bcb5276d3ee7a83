package rmap_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/fieldttl"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// nativeEffect is what an operation makes of a native map {k: 5}, whose entry has no
// end, what it answers, and what then has one.
type nativeEffect struct {
	sends  *scripts.Script
	do     func(ctx context.Context, m *rmap.TTLMap[string, int]) (any, error)
	answer any
	left   map[string]int
	ends   string
}

var nativeEffects = map[string]nativeEffect{
	"put": {mapstore.PutScript, func(ctx context.Context, m *rmap.TTLMap[string, int]) (any, error) {
		return nil, m.Put(ctx, "k", 6, rmap.WithTTL(time.Hour))
	}, nil, map[string]int{"k": 6}, "k"},
	"put many": {mapstore.PutScript, func(ctx context.Context, m *rmap.TTLMap[string, int]) (any, error) {
		return nil, m.PutMany(ctx, map[string]int{"l": 7}, rmap.WithTTL(time.Hour))
	}, nil, map[string]int{"k": 5, "l": 7}, "l"},
	"put, kept": {mapstore.PutScript, func(ctx context.Context, m *rmap.TTLMap[string, int]) (any, error) {
		return nil, m.Put(ctx, "k", 6, rmap.WithKeepTTL())
	}, nil, map[string]int{"k": 6}, ""},
	"swap": {mapstore.SwapScript, func(ctx context.Context, m *rmap.TTLMap[string, int]) (any, error) {
		old, _, err := m.Swap(ctx, "k", 6, rmap.WithTTL(time.Hour))
		return old, err
	}, 5, map[string]int{"k": 6}, "k"},
	"put if absent": {mapstore.PutIfAbsentScript, func(ctx context.Context, m *rmap.TTLMap[string, int]) (any, error) {
		_, stored, err := m.PutIfAbsent(ctx, "l", 7, rmap.WithTTL(time.Hour))
		return stored, err
	}, true, map[string]int{"k": 5, "l": 7}, "l"},
	"replace": {mapstore.ReplaceScript, func(ctx context.Context, m *rmap.TTLMap[string, int]) (any, error) {
		return m.Replace(ctx, "k", 6, rmap.WithTTL(time.Hour))
	}, true, map[string]int{"k": 6}, "k"},
	"compare and swap": {mapstore.ChangeScript, func(ctx context.Context, m *rmap.TTLMap[string, int]) (any, error) {
		return m.CompareAndSwap(ctx, "k", 5, 6, rmap.WithTTL(time.Hour))
	}, true, map[string]int{"k": 6}, "k"},
	"take": {mapstore.TakeScript, func(ctx context.Context, m *rmap.TTLMap[string, int]) (any, error) {
		old, _, err := m.Take(ctx, "k")
		return old, err
	}, 5, map[string]int{}, ""},
	"touch": {mapstore.TouchScript, func(ctx context.Context, m *rmap.TTLMap[string, int]) (any, error) {
		return m.Touch(ctx, "k", rmap.WithTTL(time.Hour))
	}, true, map[string]int{"k": 5}, "k"},
}

// TestALostReplyOfANativeMap drops the reply to each write once, as [TestALostReply]
// does.
func TestALostReplyOfANativeMap(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t, redistest.Version("8.0"))
	raw := server.Client(t)
	for name, c := range nativeEffects {
		for ids, opts := range map[string][]rmap.TTLMapOption{"": nil, " with ids": {rmap.WithRequestIDs()}} {
			t.Run(name+ids, func(t *testing.T) {
				t.Parallel()
				client, proxy := maptest.Through(t, server)
				m := rmap.NewTTLMap[string, int](maptest.EngineOn(t, client), maptest.Named(t, raw), append(opts, rmap.WithCodec(codec.Text))...)
				look := rmap.NewTTLMap[string, int](maptest.EngineOn(t, raw), m.Name(), rmap.WithCodec(codec.Text))
				require.NoError(t, look.Put(t.Context(), "k", 5))
				lost := proxy.DropReply(redistest.All(redistest.MatchScript(c.sends.Body()), redistest.Arg(m.Name())), 1)
				answer, err := c.do(t.Context(), m)
				lost.Await(t)
				if opts == nil {
					require.ErrorIs(t, err, rmap.ErrOutcomeUnknown)
					require.ErrorContains(t, err, m.Name())
				} else {
					require.NoError(t, err)
					require.Equal(t, c.answer, answer)
				}
				require.Equal(t, c.left, mapkinds.Contents(t, look))
				for k := range c.left {
					left, err := look.TTL(t.Context(), k)
					require.NoError(t, err)
					require.Equal(t, k == c.ends, left > 59*time.Minute, "%s: %v", k, left)
				}
			})
		}
	}
}

// TestAReadOfANativeMapIsSentAgain, and so is what asks the server what it can do.
func TestAReadOfANativeMapIsSentAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t, redistest.Version("8.0"))
	for name, script := range map[string]*scripts.Script{"ttl": mapstore.TTLScript, "what the server can": fieldttl.Script} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, proxy := maptest.Through(t, server)
			m := rmap.NewTTLMap[string, int](maptest.EngineOn(t, client), maptest.Named(t, client), rmap.WithTTL(time.Hour))
			lost := proxy.DropReply(redistest.All(redistest.MatchScript(script.Body()), redistest.Arg(m.Name())), 1)
			require.NoError(t, m.Put(t.Context(), "k", 5))
			left, err := m.TTL(t.Context(), "k")
			require.NoError(t, err)
			require.Greater(t, left, 59*time.Minute)
			lost.Await(t)
		})
	}
}

// nativeEntry is an entry of the model: its value, and whether it has an end, which is
// not in a test.
type nativeEntry struct {
	n    int
	ends bool
}

// nativeWorld is a native map, and what one goroutine knows of its own keys.
type nativeWorld struct {
	t    *testing.T
	rnd  *rand.Rand
	m    *rmap.TTLMap[string, int]
	own  string
	know map[string]nativeEntry
}

// TestModelOfANativeMapWithTime gives entries times to live, takes them away, and has
// them be over: nothing finds an entry then, and nothing else has changed.
func TestModelOfANativeMapWithTime(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
	rounds := redistest.Count(t, 200, 20_000)
	for name, opts := range map[string][]rmap.TTLMapOption{"plain": nil, "with ids": {rmap.WithRequestIDs()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := rmap.NewTTLMap[string, int](maptest.EngineOn(t, raw), maptest.Named(t, raw), append(opts, rmap.WithCodec(codec.Text))...)
			var all sync.WaitGroup
			for g := range 4 {
				w := &nativeWorld{t, rand.New(rand.NewPCG(seed, uint64(g))), m, strconv.Itoa(g) + ":", map[string]nativeEntry{}}
				all.Go(func() {
					for range rounds {
						if w.step(t.Context()); t.Failed() {
							return
						}
					}
				})
			}
			all.Wait()
		})
	}
}

func (w *nativeWorld) step(ctx context.Context) {
	k := w.own + strconv.Itoa(w.rnd.IntN(4))
	was, had := w.know[k]
	n := w.rnd.IntN(1000)
	switch w.rnd.IntN(9) {
	case 0:
		w.same(w.m.Put(ctx, k, n, rmap.WithTTL(time.Hour)), nil, nil)
		w.know[k] = nativeEntry{n, true}
	case 1:
		w.same(w.m.Put(ctx, k, n), nil, nil)
		w.know[k] = nativeEntry{n, false}
	case 2:
		w.same(w.m.Put(ctx, k, n, rmap.WithKeepTTL()), nil, nil)
		w.know[k] = nativeEntry{n, was.ends}
	case 3:
		_, stored, err := w.m.PutIfAbsent(ctx, k, n, rmap.WithTTL(time.Hour))
		w.same(err, stored, !had)
		if !had {
			w.know[k] = nativeEntry{n, true}
		}
	case 4:
		old, there, err := w.m.Swap(ctx, k, n)
		w.same(err, []any{old, there}, []any{was.n, had})
		w.know[k] = nativeEntry{n, false}
	case 5:
		did, err := w.m.CompareAndSwap(ctx, k, was.n, n, rmap.WithKeepTTL())
		w.same(err, did, had)
		if had {
			w.know[k] = nativeEntry{n, was.ends}
		}
	case 6:
		there, err := w.m.Touch(ctx, k, rmap.WithTTL(time.Hour))
		w.same(err, there, had)
		if had {
			w.know[k] = nativeEntry{was.n, true}
		}
	case 7:
		old, there, err := w.m.Take(ctx, k)
		w.same(err, []any{old, there}, []any{was.n, had})
		delete(w.know, k)
	case 8:
		w.over(ctx, k, n)
	}
	w.look(ctx, k)
}

// over has an entry end soon, and waits until it has.
func (w *nativeWorld) over(ctx context.Context, k string, n int) {
	if _, had := w.know[k]; had {
		_, err := w.m.Touch(ctx, k, rmap.WithTTL(time.Millisecond))
		w.same(err, nil, nil)
	} else {
		w.same(w.m.PutMany(ctx, map[string]int{k: n}, rmap.WithTTL(time.Millisecond)), nil, nil)
	}
	delete(w.know, k)
	assert.True(w.t, redistest.InTime(func() bool { there, err := w.m.Has(ctx, k); return err == nil && !there }, maptest.Soon, time.Millisecond))
}

// look compares an entry with what is known of it.
func (w *nativeWorld) look(ctx context.Context, k string) {
	was, had := w.know[k]
	n, there, err := w.m.Get(ctx, k)
	w.same(err, []any{n, there}, []any{was.n, had})
	left, err := w.m.TTL(ctx, k)
	w.same(err, []any{left > 0, left < 0}, []any{had && was.ends, had && !was.ends})
}

func (w *nativeWorld) same(err error, got, want any) {
	assert.NoError(w.t, err)
	assert.Equal(w.t, want, got)
}
