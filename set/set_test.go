package set

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
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestEachOperation runs each on a set of two members, or on a cache of three.
func TestEachOperation(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) { eachOperation(t, raw) })
}

func eachOperation(t *testing.T, raw rueidis.Client) {
	t.Helper()
	e := enginetest.On(t, raw)
	for kind, of := range kinds {
		for what, one := range of.effects {
			k := kitOn(e, fresh(t, raw))
			of.old(t, raw, k.name)
			answer, err := one.do(t.Context(), k)
			require.NoError(t, err, kind+" "+what)
			require.Equal(t, one.answer, answer, kind+" "+what)
			requireState(t, one.left, of.state(t, raw, k.name), kind+" "+what)
		}
		k := kitOn(e, fresh(t, raw))
		of.old(t, raw, k.name)
		for what, one := range of.looks {
			answer, err := one.do(t.Context(), k)
			require.NoError(t, err, kind+" "+what)
			require.Equal(t, one.answer, answer, kind+" "+what)
		}
		require.Equal(t, of.first, of.state(t, raw, k.name))
	}
}

// TestNoArgumentsAnswerWithoutACall.
func TestNoArgumentsAnswerWithoutACall(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := redistest.ThroughProxy(t, server)
	k := kitOn(enginetest.On(t, client), redistest.Name(t))
	ctx := t.Context()
	for what, do := range map[string]func() (any, error){
		"add":        func() (any, error) { return some(k.s.Add(ctx)) },
		"remove":     func() (any, error) { return some(k.s.Remove(ctx)) },
		"add all":    func() (any, error) { return some(k.s.AddAllIfAbsent(ctx)) },
		"has each":   func() (any, error) { return some(k.s.HasEach(ctx)) },
		"pop":        func() (any, error) { return some(k.s.Pop(ctx, 0)) },
		"random":     func() (any, error) { return some(k.s.Random(ctx, 0)) },
		"c add many": func() (any, error) { return some(k.c.AddMany(ctx, nil)) },
		"c add all":  func() (any, error) { return some(k.c.AddAllIfAbsent(ctx, nil)) },
		"c remove":   func() (any, error) { return some(k.c.Remove(ctx)) },
		"c has each": func() (any, error) { return some(k.c.HasEach(ctx)) },
		"c random":   func() (any, error) { return some(k.c.Random(ctx, 0)) },
	} {
		answer, err := do()
		require.NoError(t, err, what)
		switch answer := answer.(type) {
		case bool:
			require.True(t, answer, what)
		case int64:
			require.Zero(t, answer, what)
		default:
			require.Empty(t, answer, what)
		}
	}
	require.Zero(t, proxy.Count(redistest.Arg(k.name)))
	redistest.Do(t, server.Client(t), "SADD", k.name, "a", "b")
	n, err := k.s.Retain(ctx) // which is about all
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
}

// TestSetAlgebra combines sets of other names, of any slots.
func TestSetAlgebra(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) { setAlgebra(t, raw) })
}

func setAlgebra(t *testing.T, raw rueidis.Client) {
	t.Helper()
	e, ctx := enginetest.On(t, raw), t.Context()
	a, b, c := kitOn(e, fresh(t, raw)), kitOn(e, fresh(t, raw)), kitOn(e, fresh(t, raw))
	for k, vs := range map[*kit][]string{&a: numbered(0, 6000), &b: numbered(3000, 9000), &c: numbered(5000, 7000)} {
		n, err := k.s.Add(ctx, vs...)
		require.NoError(t, err)
		require.EqualValues(t, len(vs), n)
	}
	is := func(walk iter.Seq2[string, error], want []string) {
		t.Helper()
		got, err := all(walk)
		require.NoError(t, err)
		slices.Sort(want)
		require.Equal(t, strings.Join(want, " "), got)
	}
	is(a.s.Union(ctx, b.name, c.name, b.name), numbered(0, 9000))
	is(a.s.Inter(ctx, b.name, c.name), numbered(5000, 6000))
	is(a.s.Diff(ctx, b.name, c.name), numbered(0, 3000))
	is(a.s.Diff(ctx), numbered(0, 6000))
	is(a.s.Inter(ctx, "none:"+a.name), nil)
	for range 2 { // the first loop is left
		n := 0
		for _, err := range a.s.All(ctx) {
			require.NoError(t, err)
			if n++; n == 10 {
				break
			}
		}
		require.Equal(t, 10, n)
	}
	some, err := a.s.Random(ctx, 5000)
	require.NoError(t, err)
	slices.Sort(some)
	require.Equal(t, 5000, len(slices.Compact(some)))
	some, err = a.s.Pop(ctx, 7000)
	require.NoError(t, err)
	slices.Sort(some)
	require.Equal(t, 6000, len(slices.Compact(some)))
	there, err := a.s.Exists(ctx)
	require.NoError(t, err)
	require.False(t, there)
}

func numbered(from, to int) (vs []string) {
	for i := from; i < to; i++ {
		vs = append(vs, fmt.Sprint("v", i))
	}
	return vs
}

// TestAnswersAreBounded: of members of 50 KB no answer has much more than a megabyte.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	c := &redistest.Weighed{Client: raw}
	e, ctx := enginetest.On(t, c), t.Context()
	k, cache := kitOn(e, fresh(t, raw)), kitOn(e, fresh(t, raw))
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint(1000+i)+strings.Repeat("x", 50_000))
	}
	n, err := k.s.Add(ctx, want...)
	require.NoError(t, err)
	require.EqualValues(t, 100, n)
	n, err = cache.c.AddMany(ctx, want, WithTTL(hour))
	require.NoError(t, err)
	require.EqualValues(t, 100, n)
	for what, way := range map[string]func() ([]string, error){
		"walk":         func() ([]string, error) { return collected(k.s.All(ctx)) },
		"union":        func() ([]string, error) { return collected(k.s.Union(ctx, k.to)) },
		"random":       func() ([]string, error) { return k.s.Random(ctx, 50) },
		"cache walk":   func() ([]string, error) { return collected(cache.c.All(ctx)) },
		"cache random": func() ([]string, error) { return cache.c.Random(ctx, 50) },
	} {
		got, err := way()
		require.NoError(t, err, what)
		slices.Sort(got)
		got = slices.Compact(got)
		if strings.HasSuffix(what, "random") {
			require.Equal(t, 50, len(got), what)
			require.Empty(t, without(got, setOf(want)), what)
		} else {
			require.True(t, slices.Equal(want, got), what)
		}
		require.Less(t, c.Most.Swap(0), int64(2<<20), what)
	}
	popped, err := New[string](enginetest.On(t, c), k.name).Pop(ctx, 10_000)
	require.NoError(t, err)
	slices.Sort(popped)
	require.True(t, slices.Equal(want, popped))
	require.Less(t, c.Most.Swap(0), int64(2<<20))
}

func collected(walk iter.Seq2[string, error]) (vs []string, err error) {
	for v, err := range walk {
		if err != nil {
			return nil, err
		}
		vs = append(vs, v)
	}
	return vs, nil
}

// TestNoCallIsLong: 5 ms of the server at most, however many members there are.
func TestNoCallIsLong(t *testing.T) {
	t.Parallel()
	e, bounded := enginetest.BoundedOn(t, redistest.Start(t))
	ctx := t.Context()
	k, cache := kitOn(e, "set"), kitOn(e, "cache")
	vs := numbered(0, redistest.Count(t, 50_000, 300_000))
	for what, do := range map[string]func() error{
		"set": func() error {
			_, added := k.s.Add(ctx, vs...)
			_, walked := collected(k.s.All(ctx))
			_, has := k.s.HasEach(ctx, vs...)
			_, random := k.s.Random(ctx, mostRandom)
			_, retained := k.s.Retain(ctx, vs[:len(vs)/2]...)
			_, popped := k.s.Pop(ctx, len(vs))
			return firstOf(added, walked, has, random, retained, popped)
		},
		"cache": func() error {
			_, added := cache.c.AddMany(ctx, vs)
			_, walked := collected(cache.c.All(ctx))
			_, has := cache.c.HasEach(ctx, vs...)
			_, random := cache.c.Random(ctx, mostRandom)
			_, retained := cache.c.Retain(ctx, vs[:len(vs)/2]...)
			_, removed := cache.c.Remove(ctx, vs...)
			return firstOf(added, walked, has, random, retained, removed)
		},
	} {
		bounded.Judge(what, func() {}, do)
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// point has a text of its own.
type point struct{ x, y int }

func (p point) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%d/%d", p.x, p.y), nil }

func (p *point) UnmarshalText(b []byte) error {
	_, err := fmt.Sscanf(string(b), "%d/%d", &p.x, &p.y)
	return err
}

// TestMembersOfTypes stores texts where a type has one.
func TestMembersOfTypes(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e, ctx := enginetest.On(t, raw), t.Context()
	name := fresh(t, raw)
	type plain struct{ A, B int }
	_, err := New[int](e, name).Add(ctx, 7)
	require.NoError(t, err)
	require.Equal(t, "7", stateOfSet(t, raw, name))
	points := New[point](e, fresh(t, raw))
	_, err = points.Add(ctx, point{1, 2})
	require.NoError(t, err)
	require.Equal(t, "1/2", stateOfSet(t, raw, points.Name()))
	structs := New[plain](e, fresh(t, raw))
	_, err = structs.Add(ctx, plain{1, 2})
	require.NoError(t, err)
	has, err := structs.Has(ctx, plain{1, 2})
	require.NoError(t, err)
	require.True(t, has)
	for what, err := range map[string]error{
		"a map":        last(New[map[string]int](e, name).Add(ctx, nil)),
		"an interface": last(New[any](e, name).Add(ctx, 1)),
		"a field":      last(New[struct{ M []map[int]int }](e, name).Len(ctx)),
		"of a cache":   last(NewCache[map[string]int](e, name).Len(ctx)),
	} {
		require.ErrorIs(t, err, ErrInvalidArgument, what)
	}
	_, err = New[map[string]int](e, fresh(t, raw), WithMemberCodec(codec.For[map[string]int](codec.JSON))).Add(ctx, map[string]int{"a": 1})
	require.NoError(t, err, "the program says how it is written")
	_, err = New[string](e, name).Add(ctx, "x")
	require.NoError(t, err)
	var bad *codec.DecodeError
	n := 0
	for _, err := range New[int](e, name).All(ctx) { // which goes on
		if n++; err != nil {
			require.ErrorAs(t, err, &bad)
			require.ErrorIs(t, err, core.ErrNotice)
			require.Equal(t, "x", string(bad.Bytes))
		}
	}
	require.Equal(t, 2, n)
	got, err := New[int](e, name).Random(ctx, 2)
	require.ErrorIs(t, err, ErrDecode)
	require.Equal(t, []int{7}, got)
	got, err = New[int](e, name).Pop(ctx, 2)
	require.ErrorIs(t, err, ErrDecode)
	require.Equal(t, []int{7}, got)
}

func last[A any](_ A, err error) error { return err }

// TestAsAnObject: sets are copied, renamed and expire as others are.
func TestAsAnObject(t *testing.T) {
	t.Parallel()
	enginetest.AsAnObject(t, func(ctx context.Context, e *locking.Engine) map[string]func(name string) (enginetest.Whole, func(vs ...string) error) {
		return map[string]func(name string) (enginetest.Whole, func(vs ...string) error){
			"set": func(name string) (enginetest.Whole, func(vs ...string) error) {
				s := New[string](e, name)
				return s, func(vs ...string) error { return last(s.Add(ctx, vs...)) }
			},
			"cache": func(name string) (enginetest.Whole, func(vs ...string) error) {
				c := NewCache[string](e, name)
				return wholeCache{c}, func(vs ...string) error { return last(c.AddMany(ctx, vs, WithTTL(hour))) }
			},
		}
	})
}

// wholeCache has the time of the whole cache as other objects have it.
type wholeCache struct{ *Cache[string] }

func (c wholeCache) Remaining(ctx context.Context) (time.Duration, error) { return c.RemainingAll(ctx) }
