package bucket

import (
	"context"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// order is a document of the tests.
type order struct {
	N int64          `json:"n"`
	S string         `json:"s"`
	L []int          `json:"l"`
	T bool           `json:"t"`
	O map[string]int `json:"o"`
}

func firstOrder() order { return order{1, "a", []int{1, 2}, true, map[string]int{"x": 1}} }

const (
	oldText  = `{"n":1,"s":"a","l":[1,2],"t":true,"o":{"x":1}}`
	newText  = `{"n":2,"s":"b","l":[],"t":false,"o":{}}`
	oldOrder = oldText + " hour"
)

func newOrder() order { return order{2, "b", []int{}, false, map[string]int{}} }

// documents has the handles on one document.
type documents struct {
	name string
	doc  *JSON[order]
	n    *Number[int64]
	s    *Text
	l    *Array[int]
	t    *Part[bool]
	o    *Part[map[string]int]
}

func documentsOn(e *locking.Engine, name string, opts ...TTLOption) documents {
	d := NewJSON[order](e, name, opts...)
	return documents{
		name, d, NumberAt[int64](d, "$.n"), TextAt(d, "$.s"), ArrayAt[int](d, "$.l"), At[bool](d, "$.t"), At[map[string]int](d, "$.o"),
	}
}

// two makes one answer of two.
func two[A any](a A, there bool, err error) (any, error) {
	if !there {
		return nil, err
	}
	return a, err
}

// documentEffect says what an operation does to a document that is oldText, and that expires in an hour.
type documentEffect struct {
	do     func(ctx context.Context, d documents) (any, error)
	sends  redistest.Match
	answer any
	left   string
	moves  bool // it does to any key what it does to a document
}

// left returns a document with one member changed.
func leftOf(n, s, l, t, o string) string {
	return `{"n":` + n + `,"s":` + s + `,"l":` + l + `,"t":` + t + `,"o":` + o + `} hour`
}

var documentEffects = map[string]documentEffect{
	"set": {
		func(ctx context.Context, d documents) (any, error) { return nil, d.doc.Set(ctx, newOrder()) },
		script(documentSet), nil, newText + " forever", false,
	},
	"set with a time": {
		func(ctx context.Context, d documents) (any, error) {
			return nil, d.doc.Set(ctx, newOrder(), WithTTL(day))
		},
		script(documentSet), nil, newText + " day", false,
	},
	"set that keeps the time": {
		func(ctx context.Context, d documents) (any, error) {
			return nil, d.doc.Set(ctx, newOrder(), WithKeepTTL())
		},
		script(documentSet), nil, newText + " hour", false,
	},
	"set if absent": {
		func(ctx context.Context, d documents) (any, error) { return some(d.doc.SetIfAbsent(ctx, newOrder())) },
		script(documentSet), false, oldOrder, false,
	},
	"set if it exists": {
		func(ctx context.Context, d documents) (any, error) {
			return some(d.doc.SetIfExists(ctx, newOrder(), WithTTL(day)))
		},
		script(documentSet), true, newText + " day", false,
	},
	"swap": {
		func(ctx context.Context, d documents) (any, error) { return two(d.doc.Swap(ctx, newOrder())) },
		script(documentSwap), firstOrder(), newText + " forever", false,
	},
	"take": {
		func(ctx context.Context, d documents) (any, error) { return two(d.doc.Take(ctx)) },
		script(documentTake), firstOrder(), "none", false,
	},
	"compare and swap": {
		func(ctx context.Context, d documents) (any, error) {
			return some(d.doc.CompareAndSwap(ctx, firstOrder(), newOrder()))
		},
		script(documentChange), true, newText + " forever", false,
	},
	"compare and swap of another": {
		func(ctx context.Context, d documents) (any, error) {
			return some(d.doc.CompareAndSwap(ctx, newOrder(), newOrder()))
		},
		script(documentChange), false, oldOrder, false,
	},
	"compare and delete": {
		func(ctx context.Context, d documents) (any, error) {
			return some(d.doc.CompareAndDelete(ctx, firstOrder()))
		},
		script(documentChange), true, "none", false,
	},
	"merge": {
		func(ctx context.Context, d documents) (any, error) {
			return nil, d.doc.Merge(ctx, map[string]any{"s": "b", "o": map[string]any{"x": nil, "y": 2}})
		},
		redistest.Command("JSON.MERGE"), nil, leftOf("1", `"b"`, "[1,2]", "true", `{"y":2}`), false,
	},
	"update": {
		func(ctx context.Context, d documents) (any, error) { return two(d.doc.Update(ctx, longerOrder)) },
		script(documentChange), order{2, "a", []int{1, 2}, true, map[string]int{"x": 1}}, leftOf("2", `"a"`, "[1,2]", "true", `{"x":1}`), false,
	},
	"set a part": {
		func(ctx context.Context, d documents) (any, error) { return some(d.n.Set(ctx, 7)) },
		redistest.Command("JSON.SET"), true, leftOf("7", `"a"`, "[1,2]", "true", `{"x":1}`), false,
	},
	"set a part if absent": {
		func(ctx context.Context, d documents) (any, error) { return some(d.n.SetIfAbsent(ctx, 7)) },
		redistest.Command("JSON.SET"), false, oldOrder, false,
	},
	"set a part if it exists": {
		func(ctx context.Context, d documents) (any, error) { return some(d.n.SetIfExists(ctx, 7)) },
		redistest.Command("JSON.SET"), true, leftOf("7", `"a"`, "[1,2]", "true", `{"x":1}`), false,
	},
	"swap a part": {
		func(ctx context.Context, d documents) (any, error) { return two(d.s.Swap(ctx, "b")) },
		script(documentSwap), "a", leftOf("1", `"b"`, "[1,2]", "true", `{"x":1}`), false,
	},
	"compare and swap a part": {
		func(ctx context.Context, d documents) (any, error) {
			return some(d.l.CompareAndSwap(ctx, []int{1, 2}, []int{3}))
		},
		script(documentChange), true, leftOf("1", `"a"`, "[3]", "true", `{"x":1}`), false,
	},
	"compare and delete a part": {
		func(ctx context.Context, d documents) (any, error) { return some(d.t.CompareAndDelete(ctx, true)) },
		script(documentChange), true, `{"n":1,"s":"a","l":[1,2],"o":{"x":1}} hour`, false,
	},
	"delete a part": {
		func(ctx context.Context, d documents) (any, error) { return some(d.t.Delete(ctx)) },
		redistest.Command("JSON.DEL"), int64(1), `{"n":1,"s":"a","l":[1,2],"o":{"x":1}} hour`, false,
	},
	"clear a part": {
		func(ctx context.Context, d documents) (any, error) { return some(d.l.Clear(ctx)) },
		redistest.Command("JSON.CLEAR"), int64(1), leftOf("1", `"a"`, "[]", "true", `{"x":1}`), false,
	},
	"merge into a part": {
		func(ctx context.Context, d documents) (any, error) {
			return some(d.o.Merge(ctx, map[string]int{"y": 2}))
		},
		redistest.Command("JSON.MERGE"), true, leftOf("1", `"a"`, "[1,2]", "true", `{"x":1,"y":2}`), false,
	},
	"toggle": {
		func(ctx context.Context, d documents) (any, error) { return two(d.t.Toggle(ctx)) },
		redistest.Command("JSON.TOGGLE"), false, leftOf("1", `"a"`, "[1,2]", "false", `{"x":1}`), false,
	},
	"add": {
		func(ctx context.Context, d documents) (any, error) { return two(d.n.Add(ctx, 41)) },
		script(partAdd), int64(42), leftOf("42", `"a"`, "[1,2]", "true", `{"x":1}`), false,
	},
	"append to a text": {
		func(ctx context.Context, d documents) (any, error) { return two(d.s.Append(ctx, "bc")) },
		redistest.Command("JSON.STRAPPEND"), int64(3), leftOf("1", `"abc"`, "[1,2]", "true", `{"x":1}`), false,
	},
	"append": {
		func(ctx context.Context, d documents) (any, error) { return two(d.l.Append(ctx, 3, 4)) },
		redistest.Command("JSON.ARRAPPEND"), int64(4), leftOf("1", `"a"`, "[1,2,3,4]", "true", `{"x":1}`), false,
	},
	"insert": {
		func(ctx context.Context, d documents) (any, error) { return two(d.l.Insert(ctx, -1, 3)) },
		script(partInsert), int64(3), leftOf("1", `"a"`, "[1,3,2]", "true", `{"x":1}`), false,
	},
	"pop": {
		func(ctx context.Context, d documents) (any, error) { return two(d.l.Pop(ctx, 0)) },
		script(partPop), 1, leftOf("1", `"a"`, "[2]", "true", `{"x":1}`), false,
	},
	"trim": {
		func(ctx context.Context, d documents) (any, error) { return two(d.l.Trim(ctx, 1, 1)) },
		redistest.Command("JSON.ARRTRIM"), int64(1), leftOf("1", `"a"`, "[2]", "true", `{"x":1}`), false,
	},
	"delete": {
		func(ctx context.Context, d documents) (any, error) { return some(d.doc.Delete(ctx)) },
		redistest.Command("UNLINK"), true, "none", true,
	},
	"expire": {
		func(ctx context.Context, d documents) (any, error) { return some(d.doc.Expire(ctx, day)) },
		redistest.AnyScript(), true, oldText + " day", true,
	},
	"persist": {
		func(ctx context.Context, d documents) (any, error) { return some(d.doc.Persist(ctx)) },
		redistest.AnyScript(), true, oldText + " forever", true,
	},
	"rename": {
		func(ctx context.Context, d documents) (any, error) { return some(d.doc.Rename(ctx, "to:{"+d.name+"}")) },
		redistest.AnyScript(), true, "none", true,
	},
	"copy": {
		func(ctx context.Context, d documents) (any, error) { return some(d.doc.Copy(ctx, "to:{"+d.name+"}")) },
		redistest.AnyScript(), true, oldOrder, true,
	},
}

// documentReads is every operation that only reads.
var documentReads = map[string]struct {
	do     func(ctx context.Context, d documents) (any, error)
	sends  redistest.Match
	answer any
	any    bool // it reads any key
}{
	"get": {
		func(ctx context.Context, d documents) (any, error) { return two(d.doc.Get(ctx)) },
		redistest.Command("JSON.GET"), firstOrder(), false,
	},
	"get a part": {
		func(ctx context.Context, d documents) (any, error) { return two(d.l.Get(ctx)) },
		redistest.Command("JSON.GET"), []int{1, 2}, false,
	},
	"get all parts": {
		func(ctx context.Context, d documents) (any, error) { return some(At[int](d.doc, "$.l[*]").All(ctx)) },
		redistest.Command("JSON.GET"), []int{1, 2}, false,
	},
	"type": {
		func(ctx context.Context, d documents) (any, error) { return two(d.n.Type(ctx)) },
		redistest.Command("JSON.TYPE"), "integer", false,
	},
	"len of an array": {
		func(ctx context.Context, d documents) (any, error) { return two(d.l.Len(ctx)) },
		script(partLen), int64(2), false,
	},
	"len of a text": {
		func(ctx context.Context, d documents) (any, error) { return two(d.s.Len(ctx)) },
		script(partLen), int64(1), false,
	},
	"len of an object": {
		func(ctx context.Context, d documents) (any, error) { return two(At[order](d.doc, "$").Len(ctx)) },
		script(partLen), int64(5), false,
	},
	"keys": {
		func(ctx context.Context, d documents) (any, error) { return two(At[order](d.doc, "$").Keys(ctx)) },
		redistest.Command("JSON.OBJKEYS"), []string{"n", "s", "l", "t", "o"}, false,
	},
	"index": {
		func(ctx context.Context, d documents) (any, error) { return two(d.l.Index(ctx, 2)) },
		redistest.Command("JSON.ARRINDEX"), int64(1), false,
	},
	"exists": {
		func(ctx context.Context, d documents) (any, error) { return some(d.doc.Exists(ctx)) },
		redistest.Command("EXISTS"), true, true,
	},
	"remaining": {
		func(ctx context.Context, d documents) (any, error) { return some(d.doc.Remaining(ctx)) },
		redistest.Command("PTTL"), nil, true,
	},
	"size in memory": {
		func(ctx context.Context, d documents) (any, error) { return some(d.doc.SizeInMemory(ctx)) },
		redistest.AnyScript(), nil, true,
	},
}

func longerOrder(old order, _ bool) (order, Verdict, error) {
	old.N++
	return old, Store, nil
}

// oldDocument makes the document of an effect.
func oldDocument(t testing.TB, raw rueidis.Client, key string) {
	t.Helper()
	redistest.Do(t, raw, "JSON.SET", key, "$", oldText)
	redistest.Do(t, raw, "PEXPIRE", key, decimal(hour.Milliseconds()))
}

// documentState returns what a key has, and for how long: "none", or the text, and "forever", "hour" or "day".
func documentState(t testing.TB, raw rueidis.Client, key string) string {
	t.Helper()
	msg := redistest.Do(t, raw, "JSON.GET", key)
	if msg.IsNil() {
		return "none"
	}
	text, err := msg.ToString()
	require.NoError(t, err)
	return text + " " + ends(t, raw, key)
}
