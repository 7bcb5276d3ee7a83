package bucket

import (
	"context"
	"encoding/json"
	"maps"
	"math"
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
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// onJSON runs a test on documents of any type, on a server.
func onJSON(t *testing.T, change ...func(*core.Config)) (raw rueidis.Client, d *JSON[any]) {
	t.Helper()
	raw = redistest.Shared(t, redistest.JSON()).Client(t)
	return raw, NewJSON[any](enginetest.On(t, raw, change...), fresh(t, raw))
}

// stored returns the text of a document.
func stored(t testing.TB, raw rueidis.Client, key string) string {
	t.Helper()
	msg := redistest.Do(t, raw, "JSON.GET", key)
	text, err := msg.ToString()
	require.NoError(t, err)
	return text
}

func store(t testing.TB, raw rueidis.Client, key, text string) {
	t.Helper()
	redistest.Do(t, raw, "JSON.SET", key, "$", text)
}

// TestJSONPathOfNoPlace does nothing, and says so.
func TestJSONPathOfNoPlace(t *testing.T) {
	t.Parallel()
	raw, d := onJSON(t)
	const text = `{"a":{"b":1},"l":[1]}`
	store(t, raw, d.Name(), text)
	ctx := t.Context()
	for _, path := range []string{"$.x.y", "$..nope", "$.l[7]", "$.a.b.c", `$.l[?(@.x=="a")]`} {
		p := At[any](d, path)
		no := func(what string) func(did bool, err error) {
			return func(did bool, err error) {
				require.NoError(t, err, "%s %s", what, path)
				require.False(t, did, "%s %s", what, path)
			}
		}
		no("set")(p.Set(ctx, 1))
		no("absent")(p.SetIfAbsent(ctx, 1))
		no("exists")(p.SetIfExists(ctx, 1))
		no("merge")(p.Merge(ctx, map[string]int{"x": 1}))
		no("cas")(p.CompareAndSwap(ctx, 1, 2))
		no("cad")(p.CompareAndDelete(ctx, 1))
		calls := callsOf(ctx, d, path)
		maps.Copy(calls, map[string]func() (any, error){
			"get":  func() (any, error) { return two(p.Get(ctx)) },
			"type": func() (any, error) { return two(p.Type(ctx)) },
			"len":  func() (any, error) { return two(p.Len(ctx)) },
			"keys": func() (any, error) { return two(p.Keys(ctx)) },
			"swap": func() (any, error) { return two(p.Swap(ctx, 1)) },
		})
		for what, do := range calls {
			got, err := do()
			require.NoError(t, err, "%s %s", what, path)
			require.Nil(t, got, "%s %s", what, path)
		}
		for _, do := range []func(context.Context) (int64, error){p.Delete, p.Clear} {
			did, err := do(ctx)
			require.NoError(t, err, path)
			require.Zero(t, did, path)
		}
		all, err := p.All(ctx)
		require.NoError(t, err)
		require.Empty(t, all)
		require.JSONEq(t, text, stored(t, raw, d.Name()), path)
	}
	_, did, err := At[int](d, "$.new").Swap(ctx, 1) // where Set would add it
	require.NoError(t, err)
	require.False(t, did)
	require.JSONEq(t, text, stored(t, raw, d.Name()))
	for _, index := range []int64{2, -2} {
		_, did, err := ArrayAt[int](d, "$.l").Insert(ctx, index, 1)
		require.NoError(t, err)
		require.False(t, did, "the array has no such index")
	}
}

// callsOf returns what parts of one type alone have.
func callsOf(ctx context.Context, d *JSON[any], path string) map[string]func() (any, error) {
	n, l, s := NumberAt[int](d, path), ArrayAt[int](d, path), TextAt(d, path)
	return map[string]func() (any, error){
		"toggle": func() (any, error) { return two(n.Toggle(ctx)) },
		"add":    func() (any, error) { return two(n.Add(ctx, 1)) },
		"text":   func() (any, error) { return two(s.Append(ctx, "x")) },
		"append": func() (any, error) { return two(l.Append(ctx, 1)) },
		"insert": func() (any, error) { return two(l.Insert(ctx, 0, 1)) },
		"pop":    func() (any, error) { return two(l.Pop(ctx, 0)) },
		"trim":   func() (any, error) { return two(l.Trim(ctx, 0, 0)) },
		"index":  func() (any, error) { return two(l.Index(ctx, 1)) },
	}
}

// TestJSONPathOfAnotherType does nothing, and says so.
func TestJSONPathOfAnotherType(t *testing.T) {
	t.Parallel()
	raw, d := onJSON(t)
	const text = `{"o":{},"s":"a","n":1,"z":null}`
	store(t, raw, d.Name(), text)
	ctx := t.Context()
	for _, path := range []string{"$.o", "$.z"} {
		for what, do := range callsOf(ctx, d, path) {
			got, err := do()
			require.NoError(t, err, "%s %s", what, path)
			require.Nil(t, got, "%s %s", what, path)
		}
	}
	got, err := two(At[any](d, "$.n").Len(ctx))
	require.NoError(t, err)
	require.Nil(t, got)
	names, err := two(At[any](d, "$.o").Keys(ctx))
	require.NoError(t, err)
	require.Equal(t, []string{}, names)
	require.JSONEq(t, text, stored(t, raw, d.Name()))
	_, there, err := At[int](d, "$.s").Get(ctx)
	require.True(t, there)
	var wrong *codec.DecodeError
	require.ErrorAs(t, err, &wrong)
	require.Empty(t, wrong.Key)
	require.Equal(t, `"a"`, string(wrong.Bytes))
}

// TestJSONPathOfSeveralPlaces writes at each, or at none where the answer has room for one.
func TestJSONPathOfSeveralPlaces(t *testing.T) {
	t.Parallel()
	raw, d := onJSON(t)
	ctx := t.Context()
	const text = `{"x":[{"p":"a","n":1,"l":[1]},{"n":2,"l":[2,3]}],"n":true}`
	for what, one := range map[string]struct {
		do   func() (any, error)
		want any
		left string
	}{
		"get":    {func() (any, error) { return two(At[int](d, "$.x[*].n").Get(ctx)) }, 1, text},
		"all":    {func() (any, error) { return some(At[int](d, "$.x[*].n").All(ctx)) }, []int{1, 2}, text},
		"set":    {func() (any, error) { return some(At[int](d, "$..n").Set(ctx, 7)) }, true, `{"x":[{"p":"a","n":7,"l":[1]},{"n":7,"l":[2,3]}],"n":7}`},
		"add":    {func() (any, error) { return two(NumberAt[int](d, "$..n").Add(ctx, 1)) }, 2, `{"x":[{"p":"a","n":2,"l":[1]},{"n":3,"l":[2,3]}],"n":true}`},
		"append": {func() (any, error) { return two(ArrayAt[int](d, "$..l").Append(ctx, 9)) }, int64(2), `{"x":[{"p":"a","n":1,"l":[1,9]},{"n":2,"l":[2,3,9]}],"n":true}`},
		"toggle": {func() (any, error) { return two(At[any](d, "$..n").Toggle(ctx)) }, false, `{"x":[{"p":"a","n":1,"l":[1]},{"n":2,"l":[2,3]}],"n":false}`},
		"delete": {func() (any, error) { return some(At[any](d, "$..l").Delete(ctx)) }, int64(2), `{"x":[{"p":"a","n":1},{"n":2}],"n":true}`},
		"clear":  {func() (any, error) { return some(At[any](d, "$..l").Clear(ctx)) }, int64(2), `{"x":[{"p":"a","n":1,"l":[]},{"n":2,"l":[]}],"n":true}`},
	} {
		store(t, raw, d.Name(), text)
		got, err := one.do()
		require.NoError(t, err, what)
		require.Equal(t, one.want, got, what)
		require.JSONEq(t, one.left, stored(t, raw, d.Name()), what)
	}
	store(t, raw, d.Name(), text)
	for what, do := range map[string]func() error{
		"swap": func() error { _, _, err := At[int](d, "$.x[*].n").Swap(ctx, 7); return err },
		"cas":  func() error { _, err := At[int](d, "$.x[*].n").CompareAndSwap(ctx, 1, 7); return err },
		"cad":  func() error { _, err := At[int](d, "$.x[*].n").CompareAndDelete(ctx, 1); return err },
		"pop":  func() error { _, _, err := ArrayAt[int](d, "$..l").Pop(ctx, 0); return err },
	} {
		err := do()
		require.ErrorIs(t, err, ErrInvalidArgument, what)
		require.ErrorContains(t, err, "several places", what)
		require.JSONEq(t, text, stored(t, raw, d.Name()), what)
	}
}

// TestJSONAddIsExact, or refused.
func TestJSONAddIsExact(t *testing.T) {
	t.Parallel()
	redistest.OnReal(t, func(t *testing.T, raw rueidis.Client) {
		d := NewJSON[any](enginetest.On(t, raw), fresh(t, raw))
		integer := func(there string, n int64, want string) {
			t.Helper()
			store(t, raw, d.Name(), `{"n":`+there+`}`)
			got, did, err := NumberAt[int64](d, "$.n").Add(t.Context(), n)
			if want == "" {
				require.ErrorIs(t, err, ErrInvalidArgument, "%s %d", there, n)
				require.Equal(t, `{"n":`+there+`}`, stored(t, raw, d.Name()))
				return
			}
			require.Equal(t, `{"n":`+want+`}`, stored(t, raw, d.Name()))
			if strings.Contains(want, ".") { // it is no int64, and was written
				require.ErrorIs(t, err, ErrDecode)
				return
			}
			require.NoError(t, err)
			require.True(t, did)
			require.Equal(t, want, decimal(got))
		}
		integer("9007199254740993", 2, "9007199254740995")
		integer("9007199254740993", -9007199254740993, "0")
		integer("4611686018427387000", 1<<62, "9223372036854774904")
		integer("-4611686018427387000", -1<<62, "-9223372036854774904")
		integer("4611686018427388000", 1<<62, "")
		integer("1", 1<<62+1, "")
		integer("9223372036854775807", 1, "")
		integer("9223372036854775807", -1, "")
		integer("18446744073709551615", -1, "")
		integer("-9223372036854775808", -1, "")
		integer("1", math.MaxInt64, "")
		integer("1", math.MinInt64, "")
		integer("1.5", 1, "2.5")
		integer("1.5", 9007199254740993, "")
		fraction := func(there string, n float64, want string) {
			t.Helper()
			store(t, raw, d.Name(), `{"n":`+there+`}`)
			got, did, err := NumberAt[float64](d, "$.n").Add(t.Context(), n)
			if want == "" {
				require.ErrorIs(t, err, ErrInvalidArgument, "%s %v", there, n)
				require.Equal(t, `{"n":`+there+`}`, stored(t, raw, d.Name()))
				return
			}
			require.NoError(t, err)
			require.True(t, did)
			require.Equal(t, `{"n":`+want+`}`, stored(t, raw, d.Name()))
			var v float64
			require.NoError(t, json.Unmarshal([]byte(want), &v))
			require.Equal(t, v, got)
		}
		fraction("0.5", 0.25, "0.75")
		fraction("1", 0.5, "1.5")
		fraction("5", 2, "7")
		fraction("1", 1e6, "1000001")
		fraction("9007199254740991", 0.25, "9007199254740991.0") // as float64 has it
		fraction("9007199254740992", 0.5, "")
		fraction("9007199254740993", 0.5, "")
		fraction("1", math.NaN(), "")
		fraction("1", math.Inf(1), "")
		store(t, raw, d.Name(), `{"n":1.7e308}`)
		_, _, err := NumberAt[float64](d, "$.n").Add(t.Context(), 1.7e308)
		require.ErrorIs(t, err, ErrInvalidArgument)
		require.Equal(t, `{"n":1.7e308}`, stored(t, raw, d.Name()))
		store(t, raw, d.Name(), `{"n":[1,9223372036854775807]}`)
		_, _, err = NumberAt[int](d, "$.n[*]").Add(t.Context(), 1)
		require.ErrorIs(t, err, ErrInvalidArgument, "none is added to")
		require.Equal(t, `{"n":[1,9223372036854775807]}`, stored(t, raw, d.Name()))
		var n int64
		n, _, err = At[int64](d, "$.n[1]").Get(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, math.MaxInt64, n)
	}, redistest.JSON())
}

// TestJSONCompares what is there by its value, however it is spelled.
func TestJSONCompares(t *testing.T) {
	t.Parallel()
	raw, d := onJSON(t)
	ctx := t.Context()
	for _, one := range []struct {
		there string
		old   any
		same  bool
	}{
		{`"🙂<&>\u001f\u2028/é"`, "🙂<&>\u001f\u2028/é", true},
		{`1e2`, 100, true},
		{`100`, 100.0, true},
		{`1000000`, 1e6, true},
		{`-0.0`, 0, true},
		{`0.1`, 0.1, true},
		{`1e300`, 1e300, true},
		{`9007199254740993`, int64(9007199254740993), true},
		{`9007199254740993`, int64(9007199254740992), false},
		{`9007199254740993`, 9007199254740992.0, false},
		{`18446744073709551615`, uint64(math.MaxUint64), true},
		{`1`, "1", false},
		{`1`, true, false},
		{`null`, nil, true},
		{`null`, 0, false},
		{`{"b":1,"a":[true,null,{"c":"d"}]}`, map[string]any{"a": []any{true, nil, map[string]string{"c": "d"}}, "b": 1.0}, true},
		{`{"b":1,"a":2}`, map[string]int{"a": 2}, false},
		{`{"b":1}`, map[string]int{"a": 1}, false},
		{`[1,2]`, []int{2, 1}, false},
		{`[1,2]`, []int{1, 2, 3}, false},
		{`[]`, []int{}, true},
		{`[]`, map[string]int{}, false},
	} {
		store(t, raw, d.Name(), `{"v":`+one.there+`}`)
		did, err := At[any](d, "$.v").CompareAndSwap(ctx, one.old, "new")
		require.NoError(t, err, one.there)
		require.Equal(t, one.same, did, "%s %v", one.there, one.old)
		require.Equal(t, one.same, stored(t, raw, d.Name()) == `{"v":"new"}`, one.there)
		store(t, raw, d.Name(), one.there)
		did, err = d.CompareAndSwap(ctx, one.old, "new")
		require.NoError(t, err, one.there)
		require.Equal(t, one.same, did, "%s %v", one.there, one.old)
	}
}

// TestJSONNullIsNil where a type has one.
func TestJSONNullIsNil(t *testing.T) {
	t.Parallel()
	raw, d := onJSON(t)
	ctx := t.Context()
	store(t, raw, d.Name(), `{"z":null}`)
	p, there, err := At[*int](d, "$.z").Get(ctx)
	require.NoError(t, err)
	require.True(t, there)
	require.Nil(t, p)
	_, there, err = At[any](d, "$.z").Get(ctx)
	require.NoError(t, err)
	require.True(t, there)
	_, there, err = At[int](d, "$.z").Get(ctx)
	require.ErrorIs(t, err, ErrDecode)
	require.True(t, there)
	did, err := At[*int](d, "$.y").Set(ctx, nil)
	require.NoError(t, err)
	require.True(t, did)
	require.Equal(t, `{"z":null,"y":null}`, stored(t, raw, d.Name()))
	whole := At[any](NewJSON[any](enginetest.On(t, raw), fresh(t, raw)), "$")
	did, err = whole.Set(ctx, []int{1})
	require.NoError(t, err)
	require.True(t, did, "the path of the document makes one")
	all, err := At[*int](d, "$.*").All(ctx)
	require.NoError(t, err)
	require.Equal(t, []*int{nil, nil}, all)
}

// TestJSONRefusesWhatCannotBeUsed and sends nothing.
func TestJSONRefusesWhatCannotBeUsed(t *testing.T) {
	t.Parallel()
	client, proxy := redistest.ThroughProxy(t, redistest.Shared(t))
	e := enginetest.On(t, client, func(c *core.Config) { c.MaxValue = 1000 })
	proxy.ResetLog()
	ctx, name := t.Context(), redistest.Name(t)
	refused := func(what string, d documents) {
		for op, one := range documentEffects {
			_, err := one.do(ctx, d)
			require.ErrorIs(t, err, ErrInvalidArgument, "%s: %s", what, op)
		}
		for op, one := range documentReads {
			_, err := one.do(ctx, d)
			require.ErrorIs(t, err, ErrInvalidArgument, "%s: %s", what, op)
		}
	}
	refused("no name", documentsOn(e, ""))
	refused("a long name", documentsOn(e, strings.Repeat("n", 1001)))
	for what, opt := range map[string]TTLOption{"a nil option": nil, "a time": WithTTL(-1), "a short time": WithTTL(time.Microsecond)} {
		refused(what, documentsOn(e, name, opt))
	}
	for _, path := range []string{"", " ", ".a", "a", " $", "$\xff", "$" + strings.Repeat("[0]", 400)} {
		d := NewJSON[order](e, name)
		for op, one := range map[string]func() error{
			"get":    func() error { _, _, err := At[int](d, path).Get(ctx); return err },
			"set":    func() error { _, err := At[int](d, path).Set(ctx, 1); return err },
			"cas":    func() error { _, err := At[int](d, path).CompareAndSwap(ctx, 1, 2); return err },
			"cad":    func() error { _, err := At[int](d, path).CompareAndDelete(ctx, 1); return err },
			"merge":  func() error { _, err := At[int](d, path).Merge(ctx, 1); return err },
			"add":    func() error { _, _, err := NumberAt[int](d, path).Add(ctx, 1); return err },
			"append": func() error { _, _, err := ArrayAt[int](d, path).Append(ctx, 1); return err },
			"none":   func() error { _, _, err := ArrayAt[int](d, path).Append(ctx); return err },
			"index":  func() error { _, _, err := ArrayAt[int](d, path).Index(ctx, 1); return err },
			"pop":    func() error { _, _, err := ArrayAt[int](d, path).Pop(ctx, 1); return err },
		} {
			err := one()
			require.ErrorIs(t, err, ErrInvalidArgument, "%s %q", op, path)
			require.NotContains(t, err.Error(), "[0]")
		}
	}
	long, d := strings.Repeat("v", 1001), NewJSON[any](e, name)
	many := slices.Repeat([]string{strings.Repeat("v", 90)}, 20)
	for what, do := range map[string]func() error{
		"set":     func() error { return d.Set(ctx, long) },
		"no text": func() error { return d.Set(ctx, "\xff") },
		"NaN":     func() error { return d.Set(ctx, math.NaN()) },
		"inf":     func() error { _, err := At[float64](d, "$.x").Set(ctx, math.Inf(-1)); return err },
		"func":    func() error { return d.Set(ctx, func() {}) },
		"chan":    func() error { return NewJSON[chan int](e, name).Set(ctx, nil) },
		"part":    func() error { _, err := At[string](d, "$.x").Set(ctx, long); return err },
		"swap":    func() error { _, _, err := At[string](d, "$.x").Swap(ctx, long); return err },
		"cas":     func() error { _, err := At[string](d, "$.x").CompareAndSwap(ctx, long, ""); return err },
		"cas to":  func() error { _, err := At[string](d, "$.x").CompareAndSwap(ctx, "", long); return err },
		"merge":   func() error { return d.Merge(ctx, long) },
		"nil":     func() error { return d.Merge(ctx, nil) },
		"append":  func() error { _, _, err := TextAt(d, "$.x").Append(ctx, long); return err },
		"element": func() error { _, _, err := ArrayAt[string](d, "$.x").Append(ctx, long); return err },
		"many":    func() error { _, _, err := ArrayAt[string](d, "$.x").Append(ctx, many...); return err },
		"update":  func() error { _, _, err := d.Update(ctx, nil); return err },
		"context": func() error { var none context.Context; return d.Set(none, 1) },
		"time":    func() error { return d.Set(ctx, 1, WithTTL(time.Microsecond)) },
	} {
		err := do()
		require.ErrorIs(t, err, ErrInvalidArgument, what)
		require.NotContains(t, err.Error(), "vvvvvvvvvv", what)
	}
	n, there, err := ArrayAt[int](d, "$.l").Append(ctx)
	require.NoError(t, err)
	require.False(t, there)
	require.Zero(t, n)
	require.Zero(t, proxy.Count(redistest.Arg(name)), "nothing was sent")
}

// TestJSONErrorsShowNoValue: neither one that is sent, nor one of a path.
func TestJSONErrorsShowNoValue(t *testing.T) {
	t.Parallel()
	raw, d := onJSON(t)
	ctx := t.Context()
	store(t, raw, d.Name(), `{"a":"secret"}`)
	deep := strings.Repeat("[", 200) + `"secret"` + strings.Repeat("]", 200)
	for what, do := range map[string]func() error{
		"path":   func() error { _, _, err := At[int](d, `$[?(@.a=="secret"`).Get(ctx); return err },
		"write":  func() error { _, err := At[int](d, `$[?(@.a=="secret"`).Set(ctx, 1); return err },
		"script": func() error { _, _, err := NumberAt[int](d, `$[?(@.a=="secret"`).Add(ctx, 1); return err },
		"deep":   func() error { return d.Set(ctx, json.RawMessage(deep)) },
		"decode": func() error { _, _, err := At[int](d, "$.a").Get(ctx); return err },
	} {
		err := do()
		require.Error(t, err, what)
		require.NotContains(t, err.Error(), "secret", what)
		require.NotErrorIs(t, err, ErrOutcomeUnknown, what)
		switch what {
		case "path", "write", "script":
			require.ErrorIs(t, err, ErrInvalidArgument, what)
		}
	}
	require.Equal(t, `{"a":"secret"}`, stored(t, raw, d.Name()))
}

// modeledDocument is a document as a plain Go program has it.
type modeledDocument struct {
	there bool
	v     order
	ttl   time.Duration // about; 0: it has no end
}

// TestJSONModel does random operations on documents, and compares each answer with that of plain Go.
func TestJSONModel(t *testing.T) {
	t.Parallel()
	redistest.OnReal(t, documentAgainstTheModel, redistest.JSON())
}

func documentAgainstTheModel(t *testing.T, raw rueidis.Client) {
	t.Helper()
	e := enginetest.On(t, raw)
	steps := redistest.Count(t, 300, 20_000)
	var all sync.WaitGroup
	for range 4 {
		d, is := documentsOn(e, fresh(t, raw)), &modeledDocument{}
		all.Go(func() {
			for range steps {
				if !is.step(t, d) {
					return
				}
			}
		})
	}
	all.Wait()
}

func someOrder() order {
	o := order{N: rand.Int64N(5), S: strings.Repeat("é", rand.IntN(3)), L: []int{}, T: rand.N(2) == 0, O: map[string]int{}}
	for range rand.N(4) {
		o.L = append(o.L, rand.IntN(3))
		o.O[string(rune('a'+rand.N(3)))] = rand.IntN(3)
	}
	return o
}

// step does one operation, and reports whether all is as it should be.
func (is *modeledDocument) step(t *testing.T, d documents) bool {
	ctx, v, was := t.Context(), someOrder(), *is
	opts, ttl := lives(forever)
	ok := true
	same := func(op string, want any) func(got any, err error) {
		return func(got any, err error) { ok = assert.NoError(t, err, op) && assert.Equal(t, want, got, op) }
	}
	ifThere := func(v any) any {
		if was.there {
			return v
		}
		return nil
	}
	writes := func() { *is = modeledDocument{true, v, ttl(was.ttl)} }
	i := rand.IntN(3)
	switch rand.N(20) {
	case 0, 1, 2:
		same("get", ifThere(was.v))(two(d.doc.Get(ctx)))
	case 3:
		same("set", nil)(nil, d.doc.Set(ctx, v, opts...))
		writes()
	case 4:
		same("set if absent", !was.there)(some(d.doc.SetIfAbsent(ctx, v, opts...)))
		if !was.there {
			writes()
		}
	case 5:
		same("set if exists", was.there)(some(d.doc.SetIfExists(ctx, v, opts...)))
		if was.there {
			writes()
		}
	case 6:
		same("swap", ifThere(was.v))(two(d.doc.Swap(ctx, v, opts...)))
		writes()
	case 7:
		same("take", ifThere(was.v))(two(d.doc.Take(ctx)))
		*is = modeledDocument{}
	case 8:
		old := was.v
		if rand.N(2) == 0 {
			old.N++
		}
		did := was.there && old.N == was.v.N
		same("compare and swap", did)(some(d.doc.CompareAndSwap(ctx, old, v, opts...)))
		if did {
			writes()
		}
	case 9:
		opts, ttl = lives(kept)
		got, _, err := d.doc.Update(ctx, func(old order, had bool) (order, Verdict, error) {
			ok = assert.Equal(t, was.there, had) && assert.Equal(t, was.v, old)
			return v, Store, nil
		}, opts...)
		same("update", v)(got, err)
		writes()
	case 10:
		same("expire", was.there)(some(d.doc.Expire(ctx, hour)))
		if was.there {
			is.ttl = hour
		}
	case 11:
		n := rand.Int64N(10) - 5
		same("add", ifThere(was.v.N+n))(two(d.n.Add(ctx, n)))
		is.v.N += n
	case 12:
		same("append", ifThere(int64(len(was.v.S)+2)))(two(d.s.Append(ctx, "é")))
		is.v.S += "é"
	case 13:
		same("append", ifThere(int64(len(was.v.L)+2)))(two(d.l.Append(ctx, i, i)))
		is.v.L = append(slices.Clone(was.v.L), i, i)
	case 14:
		var want any
		if was.there && i <= len(was.v.L) {
			want = int64(len(was.v.L) + 1)
			is.v.L = slices.Insert(slices.Clone(was.v.L), i, 7)
		}
		same("insert", want)(two(d.l.Insert(ctx, int64(i), 7)))
	case 15:
		var want any
		if was.there && len(was.v.L) > 0 {
			at := min(i, len(was.v.L)-1)
			want = was.v.L[at]
			is.v.L = slices.Delete(slices.Clone(was.v.L), at, at+1)
		}
		same("pop", want)(two(d.l.Pop(ctx, int64(i))))
	case 16:
		same("toggle", ifThere(!was.v.T))(two(d.t.Toggle(ctx)))
		is.v.T = !was.v.T
	case 17:
		same("merge", was.there)(some(d.o.Merge(ctx, map[string]any{"a": nil, "b": i})))
		if was.there {
			is.v.O = map[string]int{"b": i}
			if c, has := was.v.O["c"]; has {
				is.v.O["c"] = c
			}
		}
	case 18:
		var want any
		if at := slices.Index(was.v.L, i); was.there && at >= 0 {
			want = int64(at)
		}
		same("index", want)(two(d.l.Index(ctx, i)))
	case 19:
		left, err := d.doc.Remaining(ctx)
		ok = assert.NoError(t, err)
		switch {
		case !was.there:
			ok = ok && assert.Zero(t, left)
		case was.ttl == 0:
			ok = ok && assert.Equal(t, time.Duration(-1), left)
		default:
			ok = ok && assert.InDelta(t, was.ttl, left, float64(was.ttl)/2)
		}
	}
	if !is.there {
		*is = modeledDocument{}
	}
	return ok
}
