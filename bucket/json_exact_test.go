package bucket

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestJSONLegacyPathsAreRefused: the module reads a path whose second byte is neither . nor [ as one of its old form.
func TestJSONLegacyPathsAreRefused(t *testing.T) {
	t.Parallel()
	raw, d := onJSON(t)
	ctx := t.Context()
	const text = `{"$a":[5],"$ref":"x","a":1}`
	store(t, raw, d.Name(), text)
	for _, path := range []string{"$a", "$ref", "$$", "$ ", "$a.b", "$\n.a"} {
		_, err := At[any](d, path).CompareAndSwap(ctx, 5, 7)
		require.ErrorIs(t, err, ErrInvalidArgument, path)
		_, err = At[any](d, path).Set(ctx, 7)
		require.ErrorIs(t, err, ErrInvalidArgument, path)
		_, _, err = At[any](d, path).Get(ctx)
		require.ErrorIs(t, err, ErrInvalidArgument, path)
		require.Equal(t, text, stored(t, raw, d.Name()), path)
	}
	for _, path := range []string{"$", "$.a", `$["$a"]`, "$..a"} {
		_, there, err := At[any](d, path).Get(ctx)
		require.NoError(t, err, path)
		require.True(t, there, path)
	}
}

// TestJSONInsertIsWholeOrNot: if one of several arrays is too short, all of them stay as they are.
func TestJSONInsertIsWholeOrNot(t *testing.T) {
	t.Parallel()
	redistest.OnReal(t, func(t *testing.T, raw rueidis.Client) {
		d := NewJSON[any](enginetest.On(t, raw), fresh(t, raw))
		const text = `{"a":[1,2,3],"b":[1],"o":[{"id":1,"l":[1,2]},{"id":2}]}`
		store(t, raw, d.Name(), text)
		for _, path := range []string{"$.*", "$..*", "$['a','b']"} {
			_, did, err := ArrayAt[int](d, path).Insert(t.Context(), 2, 9)
			require.ErrorIs(t, err, ErrInvalidArgument, path)
			require.ErrorContains(t, err, "several places", path)
			require.False(t, did)
			require.Equal(t, text, stored(t, raw, d.Name()), path)
		}
		n, did, err := ArrayAt[int](d, "$.b").Insert(t.Context(), 0, make([]int, mostInserted)...)
		require.NoError(t, err)
		require.True(t, did)
		require.EqualValues(t, mostInserted+1, n)
		_, _, err = ArrayAt[int](d, "$.b").Insert(t.Context(), 0, make([]int, mostInserted+1)...)
		require.ErrorIs(t, err, ErrInvalidArgument)
		n, did, err = ArrayAt[int](d, `$.o[?(@.id==1)].l`).Insert(t.Context(), 1, 7, 8)
		require.NoError(t, err)
		require.True(t, did)
		require.EqualValues(t, 4, n)
		require.True(t, strings.HasSuffix(stored(t, raw, d.Name()), `{"id":1,"l":[1,7,8,2]},{"id":2}]}`))
	}, redistest.JSON())
}

// TestJSONWriteThatTheModuleDoesNotDo: it reads a filter of the members of an object, and does not write there. Then no
// operation reports that it has written.
func TestJSONWriteThatTheModuleDoesNotDo(t *testing.T) {
	t.Parallel()
	redistest.OnReal(t, func(t *testing.T, raw rueidis.Client) {
		d := NewJSON[any](enginetest.On(t, raw), fresh(t, raw))
		const text = `{"a":{"x":1}}`
		p, old := At[any](d, "$[?(@.x==1)]"), map[string]int{"x": 1}
		for what, do := range map[string]func() (bool, error){
			"set":  func() (bool, error) { return p.Set(t.Context(), 7) },
			"cas":  func() (bool, error) { return p.CompareAndSwap(t.Context(), old, 7) },
			"cad":  func() (bool, error) { return p.CompareAndDelete(t.Context(), old) },
			"swap": func() (bool, error) { _, did, err := p.Swap(t.Context(), 7); return did, err },
		} {
			store(t, raw, d.Name(), text)
			did, err := do()
			require.NotErrorIs(t, err, ErrOutcomeUnknown)
			require.Equal(t, did && err == nil, stored(t, raw, d.Name()) != text, "%s: %v", what, err)
		}
	}, redistest.JSON())
}

// TestJSONComparesIntegersWithFloats by their exact values.
func TestJSONComparesIntegersWithFloats(t *testing.T) {
	t.Parallel()
	raw, d := onJSON(t)
	for _, one := range []struct {
		there string
		old   float64
		same  bool
	}{
		{"9007199254740993", 1 << 53, false},
		{"9007199254740992", 1 << 53, true},
		{"9007199254740994", 1<<53 + 2, true},
		{"-9007199254740993", -1 << 53, false},
		{"9223372036854775807", 1 << 63, false},
		{"9223372036854775808", 1 << 63, true},
		{"-9223372036854775808", -1 << 63, true},
		{"18446744073709551615", 1 << 64, false},
		{"1", 1.5, false},
		{"0", math.Copysign(0, -1), true},
	} {
		store(t, raw, d.Name(), `{"v":`+one.there+`}`)
		did, err := At[float64](d, "$.v").CompareAndSwap(t.Context(), one.old, 1)
		require.NoError(t, err, one.there)
		require.Equal(t, one.same, did, "%s %v", one.there, one.old)
		require.Equal(t, one.same, stored(t, raw, d.Name()) != `{"v":`+one.there+`}`, one.there)
	}
}

// TestJSONComparesNilAsEmpty: a nil slice or map is an empty one, and not null.
func TestJSONComparesNilAsEmpty(t *testing.T) {
	t.Parallel()
	raw, d := onJSON(t)
	ctx := t.Context()
	for _, text := range []string{"null", "[]", "{}"} {
		store(t, raw, d.Name(), `{"v":`+text+`}`)
		did, err := At[[]int](d, "$.v").CompareAndSwap(ctx, nil, nil)
		require.NoError(t, err)
		require.Equal(t, text == "[]", did, text)
		did, err = At[map[string]int](d, "$.v").CompareAndSwap(ctx, nil, nil)
		require.NoError(t, err)
		require.Equal(t, text == "{}", did, text)
		did, err = At[*int](d, "$.v").CompareAndSwap(ctx, nil, nil)
		require.NoError(t, err)
		require.Equal(t, text == "null", did, text)
	}
}

// TestJSONFloats keeps what has 15 digits at most.
func TestJSONFloats(t *testing.T) {
	t.Parallel()
	redistest.OnReal(t, func(t *testing.T, raw rueidis.Client) {
		d := NewJSON[[]float64](enginetest.On(t, raw), fresh(t, raw))
		all := make([]float64, redistest.Count(t, 1000, 100_000))
		for i := range all {
			all[i] = math.Round(rand.Float64()*1e15) / math.Pow(10, float64(rand.IntN(16)))
		}
		require.NoError(t, d.Set(t.Context(), all))
		got, _, err := d.Get(t.Context())
		require.NoError(t, err)
		require.Equal(t, all, got)
	}, redistest.JSON())
}

// TestJSONAddOfAWholeFloat keeps an integer one, and refuses a sum that float64 would round.
func TestJSONAddOfAWholeFloat(t *testing.T) {
	t.Parallel()
	redistest.OnReal(t, func(t *testing.T, raw rueidis.Client) {
		d := NewJSON[any](enginetest.On(t, raw), fresh(t, raw))
		for _, one := range []struct {
			there string
			n     float64
			want  string // empty: refused
		}{
			{"5", 1e6, "1000005"},
			{"5", -1e15, "-999999999999995"},
			{"1.5", 1e6, "1000001.5"},
			{"9007199254740990", 1, "9007199254740991"},
			{"9007199254740991", -1e6, "9007199253740991"},
			{"9007199254740991", 1, ""},
			{"9007199254740993", -1, ""},
			{"1", 1 << 53, ""},
			{"1", 1e20, ""},
			{"1e20", 1e20, "2e20"},
			{"1.7e308", 1.7e308, ""},
			{"-1.7e308", -1.7e308, ""},
		} {
			store(t, raw, d.Name(), `{"n":`+one.there+`}`)
			before := stored(t, raw, d.Name())
			got, did, err := NumberAt[float64](d, "$.n").Add(t.Context(), one.n)
			if one.want == "" {
				require.ErrorIs(t, err, ErrInvalidArgument, "%s %v", one.there, one.n)
				require.Equal(t, before, stored(t, raw, d.Name()))
				continue
			}
			require.NoError(t, err, "%s %v", one.there, one.n)
			require.True(t, did)
			if !strings.Contains(one.want, "e") {
				require.Equal(t, `{"n":`+one.want+`}`, stored(t, raw, d.Name()))
			}
			require.InEpsilon(t, float(t, one.want), got, 0)
		}
		store(t, raw, d.Name(), `{"n":[1.5,1.7e308]}`)
		before := stored(t, raw, d.Name())
		_, _, err := NumberAt[float64](d, "$.n[*]").Add(t.Context(), 1.7e308)
		require.ErrorIs(t, err, ErrInvalidArgument)
		require.Equal(t, before, stored(t, raw, d.Name()), "none is added to")
	}, redistest.JSON())
}

func float(t *testing.T, text string) (f float64) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &f))
	return f
}

// TestJSONRefusesIntegersThatTheModuleWouldRound, and writes nothing.
func TestJSONRefusesIntegersThatTheModuleWouldRound(t *testing.T) {
	t.Parallel()
	raw, d := onJSON(t)
	ctx := t.Context()
	long, _ := new(big.Int).SetString("18446744073709551616123", 10)
	const text = `{"a":1}`
	store(t, raw, d.Name(), text)
	for what, v := range map[string]any{
		"raw":     json.RawMessage(`{"n":["s",-9223372036854775809]}`),
		"number":  map[string]any{"n": json.Number("18446744073709551617")},
		"big.Int": struct{ N *big.Int }{long},
	} {
		require.ErrorIs(t, d.Set(ctx, v), ErrInvalidArgument, what)
		require.ErrorIs(t, d.Merge(ctx, v), ErrInvalidArgument, what)
		_, err := At[any](d, "$.a").Set(ctx, v)
		require.ErrorIs(t, err, ErrInvalidArgument, what)
		require.Equal(t, text, stored(t, raw, d.Name()), what)
	}
	for what, v := range map[string]any{
		"unsigned": uint64(math.MaxUint64), "signed": int64(math.MinInt64), "floats": []float64{1e20, -1e20, 1e300, 1 << 63, 1 << 64},
		"text": `\"18446744073709551617`, "exact": json.RawMessage(`[18446744073709551616,"\\",1e30]`),
	} {
		require.NoError(t, d.Set(ctx, v), what)
	}
}

// TestJSONNumberIsNoTypeOfItsOwn: codec.JSON writes it as a string. As a member it is a number.
func TestJSONNumberIsNoTypeOfItsOwn(t *testing.T) {
	t.Parallel()
	raw, d := onJSON(t)
	store(t, raw, d.Name(), `{}`)
	_, err := At[json.Number](d, "$.n").Set(t.Context(), "5")
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.Equal(t, `{}`, stored(t, raw, d.Name()))
	type member struct{ N json.Number }
	require.NoError(t, NewJSON[member](enginetest.On(t, raw), d.Name()).Set(t.Context(), member{"9007199254740993"}))
	require.Equal(t, `{"N":9007199254740993}`, stored(t, raw, d.Name()))
}

// TestJSONUpdateRoundsNothing: what a value of type any would round is an error.
func TestJSONUpdateRoundsNothing(t *testing.T) {
	t.Parallel()
	raw, d := onJSON(t)
	same := func(old any, _ bool) (any, Verdict, error) { return old, Store, nil }
	for _, text := range []string{`{"n":9007199254740993,"s":"a"}`, `[[-9007199254740993]]`, `18446744073709551615`} {
		store(t, raw, d.Name(), text)
		_, _, err := d.Update(t.Context(), same)
		require.ErrorIs(t, err, ErrDecode, text)
		require.Equal(t, text, stored(t, raw, d.Name()))
	}
	for _, text := range []string{`{"n":9007199254740992}`, `{"n":"9007199254740993"}`, `[1.5,1e20]`} {
		store(t, raw, d.Name(), text)
		_, _, err := d.Update(t.Context(), same)
		require.NoError(t, err, text)
	}
	type mixed struct {
		N int64 `json:"n"`
		A any   `json:"a"`
	}
	const text = `{"n":9007199254740993,"a":[1]}`
	store(t, raw, d.Name(), text)
	of := NewJSON[mixed](enginetest.On(t, raw), d.Name())
	_, _, err := of.Update(t.Context(), func(old mixed, _ bool) (mixed, Verdict, error) { return old, Store, nil })
	require.NoError(t, err)
	require.Equal(t, text, stored(t, raw, d.Name()))
}

// TestJSONDecodeErrorsShowNoPath: there may be values in it.
func TestJSONDecodeErrorsShowNoPath(t *testing.T) {
	t.Parallel()
	raw, d := onJSON(t)
	store(t, raw, d.Name(), `[{"mail":"a@b.ch","name":"x"}]`)
	_, there, err := At[int](d, `$[?(@.mail=="a@b.ch")].name`).Get(t.Context())
	require.ErrorIs(t, err, ErrDecode)
	require.True(t, there)
	require.NotContains(t, err.Error(), "a@b.ch")
}

// TestUpdateIsDoneWhereItsClaimMayNotBeDeleted: the write is there, so the answer says so.
func TestUpdateIsDoneWhereItsClaimMayNotBeDeleted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.JSON())
	raw := server.Client(t)
	redistest.Do(t, raw, "ACL", "SETUSER", "orders", "on", ">password", "~*", "&*", "+@all", "-del")
	e := enginetest.On(t, server.Client(t, func(c *rueidis.ClientOption) { c.Username, c.Password = "orders", "password" }))
	redistest.Do(t, raw, "SET", "claim", "token")
	redistest.Do(t, raw, "SET", "text", "old")
	got, err := e.Run(t.Context(), changeScript, []string{"text", "claim"}, []string{"1", "old", "1", "new", "", "token", "0"})
	require.NoError(t, err)
	n, err := got.AsInt64()
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	store(t, raw, "document", "1")
	got, err = e.Run(t.Context(), documentChange, []string{"document", "claim"}, []string{"1", "[1]", "1", "2", "", "token", "0", root, "0"})
	require.NoError(t, err)
	n, err = got.AsInt64()
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	require.Equal(t, "2", stored(t, raw, "document"))
}
