package rmap

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// A cache whose entries stay is a map.
func TestModelOfACacheAsAMap(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		text := WithCodec(codec.Text)
		for name, opts := range map[string][]CacheOption{
			"plain": {text}, "with ids": {text, WithRequestIDs(), WithTTL(time.Hour)}, "bounded": {text, WithTTL(time.Hour), WithMaxIdle(time.Hour)}, "bounded by bytes": {text, WithTTL(time.Hour)},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				key := maptest.CacheNamed(t, raw)
				if name == "bounded" {
					m := NewCache[string, int](maptest.EngineOn(t, raw), key)
					require.NoError(t, m.SetMaxSize(t.Context(), 1000, LRU))
					m.Events(t.Context())
				}
				if name == "bounded by bytes" {
					m := NewCache[string, int](maptest.EngineOn(t, raw), key)
					require.NoError(t, m.SetMaxBytes(t.Context(), 1<<20, LRU))
					t.Cleanup(func() { countsRight(t, raw, key) })
				}
				runModel(t, seed, func() Mapping[string, int] { return NewCache[string, int](maptest.EngineOn(t, raw), key, opts...) })
			})
		}
	})
}

// life is what one goroutine knows of an entry of its own: when it ends and when it has rested, 0 for never.
type life struct {
	n           int
	ends, rests time.Time
	idle        time.Duration
}

// timed is a cache and what one goroutine knows of it.
type timed struct {
	t    *testing.T
	rnd  *rand.Rand
	m    *Cache[string, int]
	at   *maptest.HandClock
	own  string
	know map[string]life
}

func (w *timed) key() string { return fmt.Sprint(w.own, w.rnd.IntN(4)) }

// living is what is known of a key, if that lives.
func (w *timed) living(k string) (life, bool) {
	l, there := w.know[k]
	now := w.at.Now()
	over := func(at time.Time) bool { return !at.IsZero() && !at.After(now) }
	return l, there && !over(l.ends) && !over(l.rests)
}

// use is an access.
func (w *timed) use(k string) (life, bool) {
	l, lives := w.living(k)
	if lives && l.idle > 0 {
		l.rests = w.at.Now().Add(l.idle)
		w.know[k] = l
	}
	return l, lives
}

// times is options of a write, and what they make of a value.
func (w *timed) times(n int) (l life, opts []PutOption) {
	l.n = n
	if w.rnd.IntN(2) == 0 {
		d := time.Duration(1+w.rnd.IntN(50)) * 100 * time.Millisecond
		l.ends, opts = w.at.Now().Add(d), append(opts, WithTTL(d))
	}
	if w.rnd.IntN(3) == 0 {
		l.idle = time.Duration(1+w.rnd.IntN(30)) * 100 * time.Millisecond
		l.rests, opts = w.at.Now().Add(l.idle), append(opts, WithMaxIdle(l.idle))
	}
	return l, opts
}

// over is a write over a living entry, whose times stay where the write has none.
func (w *timed) over(k string, old, l life) {
	if l.ends.IsZero() {
		l.ends = old.ends
	}
	if l.idle == 0 && old.idle > 0 {
		l.idle, l.rests = old.idle, w.at.Now().Add(old.idle)
	}
	w.know[k] = l
}

func (w *timed) same(err error, got, want any) {
	assert.NoError(w.t, err)
	assert.Equal(w.t, want, got)
}

func (w *timed) step(ctx context.Context) {
	k, n := w.key(), w.rnd.IntN(4)
	switch w.rnd.IntN(14) {
	case 0, 1:
		old, lives := w.use(k)
		v, there, err := w.m.Get(ctx, k)
		w.same(err, []any{v, there}, []any{old.n * one(lives), lives})
	case 2:
		_, lives := w.use(k)
		there, err := w.m.Has(ctx, k)
		w.same(err, there, lives)
	case 3, 4:
		l, opts := w.times(n)
		w.same(w.m.Put(ctx, k, n, opts...), nil, nil)
		w.know[k] = l
	case 5:
		old, lives := w.living(k)
		l, opts := w.times(n)
		v, had, err := w.m.Swap(ctx, k, n, opts...)
		w.same(err, []any{v, had}, []any{old.n * one(lives), lives})
		w.know[k] = l
	case 6:
		old, lives := w.use(k)
		l, opts := w.times(n)
		v, stored, err := w.m.PutIfAbsent(ctx, k, n, opts...)
		if !lives {
			old, w.know[k] = l, l
		}
		w.same(err, []any{v, stored}, []any{old.n, !lives})
	case 7:
		old, lives := w.living(k)
		l, opts := w.times(n)
		did, err := w.m.Replace(ctx, k, n, opts...)
		if w.same(err, did, lives); did {
			w.over(k, old, l)
		}
	case 8:
		old, lives := w.living(k)
		l, opts := w.times(n)
		did, err := w.m.CompareAndSwap(ctx, k, 2, n, opts...)
		if w.same(err, did, lives && old.n == 2); did {
			w.over(k, old, l)
		}
	case 9:
		old, lives := w.living(k)
		v, had, err := w.m.Take(ctx, k)
		if w.same(err, []any{v, had}, []any{old.n * one(lives), lives}); had {
			delete(w.know, k)
		}
	case 10:
		_, lives := w.living(k)
		gone, err := w.m.Remove(ctx, k)
		w.same(err, gone, int64(one(lives)))
		delete(w.know, k)
	case 11:
		old, lives := w.use(k) // which reads first
		v, there, err := w.m.Compute(ctx, k, func(v int, had bool) (int, Verdict, error) { return v + 1, Store, nil })
		w.same(err, []any{v, there}, []any{old.n*one(lives) + 1, true})
		if lives {
			w.over(k, old, life{n: v})
		} else {
			w.know[k] = life{n: v}
		}
	case 12:
		old, lives := w.living(k)
		l, opts := w.times(0)
		did, err := w.m.Touch(ctx, k, opts...)
		if w.same(err, did, lives); did {
			l.n = old.n
			w.over(k, old, l)
		}
		left, err := w.m.TTL(ctx, k)
		w.same(err, left, w.left(k))
	case 13:
		got, want := map[string][]any{}, map[string][]any{}
		for e, err := range w.m.AllTimed(ctx) {
			if w.same(err, nil, nil); strings.HasPrefix(e.Key, w.own) {
				got[e.Key] = []any{e.Value, e.TTL, e.Idle}
			}
		}
		for k := range w.know {
			if l, lives := w.living(k); lives {
				want[k] = []any{l.n, w.until(l.ends), w.until(l.rests)}
			}
		}
		w.same(nil, got, want)
	}
}

// left is what TTL says of a key.
func (w *timed) left(k string) time.Duration {
	l, lives := w.living(k)
	if !lives {
		return 0
	}
	ttl, idle := w.until(l.ends), w.until(l.rests)
	if ttl < 0 || idle >= 0 && idle < ttl {
		return idle
	}
	return ttl
}

func (w *timed) until(at time.Time) time.Duration {
	if at.IsZero() {
		return -1
	}
	return at.Sub(w.at.Now())
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// TestModelOfACacheWithTime has goroutines of two clients do things, each to keys of its own, while a clock moves and what
// has expired is swept.
func TestModelOfACacheWithTime(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		key, at := maptest.CacheNamed(t, raw), maptest.NewHandClock()
		n := maptest.Rounds(t, 300, 20_000)
		var moving sync.RWMutex
		var all sync.WaitGroup
		for client := range 2 {
			m := NewCache[string, int](maptest.EngineOn(t, raw, at.On), key, WithCodec(codec.Text))
			for g := range 3 {
				own := fmt.Sprintf("%d-%d:", client, g)
				w := &timed{t, rand.New(rand.NewPCG(seed, uint64(client*10+g))), m, at, own, map[string]life{}}
				all.Go(func() {
					for i := range n {
						if i%5 == 0 {
							moving.Lock()
							at.Forward(time.Duration(w.rnd.IntN(400)) * time.Millisecond)
							moving.Unlock()
						}
						moving.RLock()
						w.step(t.Context())
						moving.RUnlock()
						if t.Failed() {
							return
						}
					}
				})
			}
		}
		all.Wait()
	})
}
