//go:build interop

package interop

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/rmap"
)

var codecProofs = func() (proofs []proof) {
	for family, entries := range map[string][]shared{
		"text": asText, "bytes": asBytes, "json": asJSON, "msgpack": asMsgpack,
		"jackson": asJackson, "jackson_msgpack": asJacksonMsgpack, "kryo5": asKryo5,
	} {
		proofs = append(proofs,
			proof{row: "codec/" + family + "/go-java", test: func(t *testing.T, w *world) { each(t, w, entries, shared.goWrites) }},
			proof{row: "codec/" + family + "/java-go", test: func(t *testing.T, w *world) { each(t, w, entries, shared.javaWrites) }})
	}
	return append(proofs,
		proof{row: "codec/bucket/go-java", test: javaReadsPlainValues},
		proof{row: "codec/bucket/java-go", test: goReadsPlainValues},
		proof{row: "codec/what_java_refuses/go-java", test: javaRefuses},
		proof{row: "codec/what_go_refuses/java-go", test: goRefuses})
}()

// shared is an entry as both sides know it.
type shared struct {
	java       string // the codec there
	key, value peer.Datum
	put        func(ctx context.Context, c *rueidisson.Client, name string) error
	find       func(ctx context.Context, t *testing.T, c *rueidisson.Client, name string)
}

func entry[K comparable, V any](java string, f codec.Family, k K, key peer.Datum, v V, value peer.Datum, opts ...rmap.MapOption) shared {
	opts = append([]rmap.MapOption{rmap.WithCodecs(f, f)}, opts...)
	return shared{
		java: java, key: key, value: value,
		put: func(ctx context.Context, c *rueidisson.Client, name string) error {
			return rmap.New[K, V](c, name, opts...).Put(ctx, k, v)
		},
		find: func(ctx context.Context, t *testing.T, c *rueidisson.Client, name string) {
			t.Helper()
			m := rmap.New[K, V](c, name, opts...)
			got, there, err := m.Get(ctx, k)
			require.NoError(t, err)
			require.True(t, there, "the key %v", k)
			require.Equal(t, v, got)
			for entry, err := range m.All(ctx) {
				require.NoError(t, err)
				require.Equal(t, rmap.Entry[K, V]{Key: k, Value: v}, entry)
			}
		},
	}
}

func each(t *testing.T, w *world, entries []shared, prove func(shared, context.Context, *testing.T, *rueidisson.Client, peer.Map)) {
	c := w.client(t)
	for _, e := range entries {
		name := redistest.Name(t)
		prove(e, within(t), t, c, w.java.Map(t.Name(), name, e.java))
		w.del(within(t), t, name)
	}
}

func (s shared) goWrites(ctx context.Context, t *testing.T, c *rueidisson.Client, theirs peer.Map) {
	require.NoError(t, s.put(ctx, c, theirs.Name()))
	got, err := theirs.Get(ctx, s.key)
	require.NoError(t, err, "%s: %v", s.java, s.value)
	assert.Equal(t, s.value, got, s.java)
	keys, err := theirs.ReadAllKeySet(ctx)
	require.NoError(t, err)
	assert.Equal(t, []peer.Datum{s.key}, keys, s.java)
	isNew, err := theirs.FastPut(ctx, s.key, s.value)
	require.NoError(t, err)
	assert.False(t, isNew, "%s: Java writes another key than Go for %v", s.java, s.key)
}

func (s shared) javaWrites(ctx context.Context, t *testing.T, c *rueidisson.Client, theirs peer.Map) {
	isNew, err := theirs.FastPut(ctx, s.key, s.value)
	require.NoError(t, err)
	require.True(t, isNew)
	s.find(ctx, t, c, theirs.Name())
	require.NoError(t, s.put(ctx, c, theirs.Name()))
	size, err := theirs.Size(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 1, size, "%s: Go writes another key than Java for %v", s.java, s.key)
}

// spelled has all that JSON, Kryo and UTF-16 treat in a way of their own.
const spelled = "<&>/\u2028\x7f\b\t\n\f\r\x1f\"\\é🙂"

var long = strings.Repeat("x", 300)

var asText = []shared{
	entry("String", codec.Text, "abc", peer.String("abc"), spelled, peer.String(spelled)),
	entry("String", codec.Text, spelled, peer.String(spelled), "", peer.String("")),
	entry("Long", codec.Text, int64(42), peer.Long(42), int64(math.MinInt64), peer.Long(math.MinInt64)),
	entry("Integer", codec.Text, int32(-7), peer.Integer(-7), int32(7), peer.Integer(7)),
	entry("String,Double", codec.Text, "d", peer.String("d"), 1.5, peer.Double(1.5)),
	entry("String,Double", codec.Text, "d", peer.String("d"), 1e-7, peer.Datum{Class: "Double", Text: "1.0E-7"}),
	entry("String,Long", codec.Text, true, peer.String("true"), uint8(200), peer.Long(200)),
}

var asBytes = []shared{
	entry("ByteArray", codec.Bytes, [2]byte{1, 0xff}, peer.Bytes([]byte{1, 0xff}), []byte{0xff, 0x41}, peer.Bytes([]byte{0xff, 0x41})),
	entry("String,ByteArray", codec.Bytes, "abc", peer.String("abc"), []byte{}, peer.Bytes(nil)),
}

type user struct {
	Age    int32     `json:"age"`
	Big    int64     `json:"big"`
	Boxed  *int64    `json:"boxed,omitempty"`
	Friend *userKnow `json:"friend,omitempty"`
	Name   string    `json:"name"`
	OK     bool      `json:"ok"`
	Score  float64   `json:"score"`
	Tags   []string  `json:"tags,omitempty"`
}

type userKnow struct {
	Name string `json:"name"`
}

func (userKnow) JavaClass() string { return "rueidisson.interop.Person$Friend" }

type point struct {
	X int32 `json:"x"`
	Y int32 `json:"y"`
}

const (
	person = "rueidisson.interop.Person"
	typed  = "TypedJson:java.lang."
)

var (
	seven  = int64(7)
	bob    = user{Age: 3, Big: 5_000_000_000, Boxed: &seven, Friend: &userKnow{spelled}, Name: "bob", OK: true, Score: 1.5, Tags: []string{"a", "b"}}
	theBob = peer.Datum{Class: "Person", Text: `{"age":3,"big":5000000000,"boxed":7,"friend":{"name":"<&>/` + "\u2028\x7f" + `\b\t\n\f\r\u001F\"\\é🙂"},"name":"bob","ok":true,"score":1.5,"tags":["a","b"]}`}
)

var asJSON = []shared{
	entry(typed+"String/java.lang.String", codec.JSON, spelled, peer.String(spelled), spelled, peer.String(spelled)),
	entry(typed+"Long/java.lang.Long", codec.JSON, int64(5_000_000_000), peer.Long(5_000_000_000), int64(1), peer.Long(1)),
	entry(typed+"Integer/java.lang.Double", codec.JSON, 1, peer.Integer(1), 1.0, peer.Datum{Class: "Double", Text: "1.0"}),
	entry(typed+"String/java.lang.Boolean", codec.JSON, "b", peer.String("b"), true, peer.Bool(true)),
	entry(typed+"String/"+person, codec.JSON, "bob", peer.String("bob"), bob, theBob),
	entry(typed+"String/rueidisson.interop.Point", codec.JSON, "p", peer.String("p"), point{1, 2}, peer.Datum{Class: "Point", Text: `{"x":1,"y":2}`}),
	entry(typed+"String/java.util.ArrayList", codec.JSON, "l", peer.String("l"), []string{"a"}, peer.Datum{Class: "ArrayList", Text: `["a"]`}),
	entry("String,"+typed+"String/java.lang.String", codec.JSON, "plain", peer.String("plain"), "v", peer.String("v"), rmap.WithKeyCodec(codec.Key[string]())),
}

var asMsgpack = []shared{
	entry("MsgPackJackson", codec.Msgpack, "abc", peer.String("abc"), spelled, peer.String(spelled)),
	entry("MsgPackJackson", codec.Msgpack, spelled, peer.String(spelled), long, peer.String(long)),
	entry("MsgPackJackson", codec.Msgpack, int32(1), peer.Integer(1), 40000, peer.Integer(40000)),
	entry("MsgPackJackson", codec.Msgpack, int32(-200), peer.Integer(-200), 1.5, peer.Double(1.5)),
	entry("MsgPackJackson", codec.Msgpack, true, peer.Bool(true), []byte{1, 2, 3}, peer.Bytes([]byte{1, 2, 3})),
	entry("MsgPackJackson", codec.Msgpack, "inf", peer.String("inf"), math.Inf(1), peer.Datum{Class: "Double", Text: "Infinity"}),
}

var asJackson = []shared{
	entry("JsonJackson", codec.Jackson(""), spelled, peer.String(spelled), spelled, peer.String(spelled)),
	entry("JsonJackson", codec.Jackson(""), int64(1), peer.Long(1), int32(1), peer.Integer(1)),
	entry("JsonJackson", codec.Jackson(""), int32(1), peer.Integer(1), int64(1), peer.Long(1)),
	entry("JsonJackson", codec.Jackson(""), true, peer.Bool(true), 1.0, peer.Datum{Class: "Double", Text: "1.0"}),
	entry("JsonJackson", codec.Jackson(""), "l", peer.String("l"), []string{"a", "b"}, peer.Datum{Class: "ArrayList", Text: `["a","b"]`}),
	entry("JsonJackson", codec.Jackson(""), "n", peer.String("n"), []int64{1}, peer.Datum{Class: "ArrayList", Text: `[1]`}),
	entry("JsonJackson", codec.Jackson(""), "m", peer.String("m"), map[string]string{"k": "v"}, peer.Datum{Class: "HashMap", Text: `{"k":"v"}`}),
	entry("JsonJackson", codec.Jackson(""), "bob", peer.String("bob"), bob, theBob, rmap.WithValueCodec(codec.For[user](codec.Jackson(person)))),
	entry("JsonJackson", codec.Jackson(""), "u", peer.String("u"), "67e55044-10b1-426f-9247-bb680e5fe0c8", peer.Datum{Class: "UUID", Text: "67e55044-10b1-426f-9247-bb680e5fe0c8"},
		rmap.WithValueCodec(codec.For[string](codec.Jackson("java.util.UUID")))),
	entry("JsonJackson", codec.Jackson(""), "d", peer.String("d"), int64(1_700_000_000_000), peer.Datum{Class: "Date", Text: "1700000000000"},
		rmap.WithValueCodec(codec.For[int64](codec.Jackson("java.util.Date")))),
}

var asJacksonMsgpack = []shared{
	entry("MsgPackJackson", codec.JacksonMsgpack(""), spelled, peer.String(spelled), int64(1), peer.Long(1)),
	entry("MsgPackJackson", codec.JacksonMsgpack(""), int64(1), peer.Long(1), int64(5_000_000_000), peer.Long(5_000_000_000)),
	entry("MsgPackJackson", codec.JacksonMsgpack(""), int32(1), peer.Integer(1), []byte{1, 2, 3}, peer.Bytes([]byte{1, 2, 3})),
	entry("MsgPackJackson", codec.JacksonMsgpack(""), "l", peer.String("l"), []string{"a", "b"}, peer.Datum{Class: "ArrayList", Text: `["a","b"]`}),
	entry("MsgPackJackson", codec.JacksonMsgpack(""), "m", peer.String("m"), map[string]string{"k": "v"}, peer.Datum{Class: "HashMap", Text: `{"k":"v"}`}),
	entry("MsgPackJackson", codec.JacksonMsgpack(""), "bob", peer.String("bob"), bob, theBob, rmap.WithValueCodec(codec.For[user](codec.JacksonMsgpack(person)))),
	entry("MsgPackJackson", codec.JacksonMsgpack(""), "d", peer.String("d"), int64(1_700_000_000_000), peer.Datum{Class: "Date", Text: "1700000000000"},
		rmap.WithValueCodec(codec.For[int64](codec.JacksonMsgpack("java.util.Date")))),
}

var asKryo5 = []shared{
	entry("Kryo5", codec.Kryo5, "abc", peer.String("abc"), spelled, peer.String(spelled)),
	entry("Kryo5", codec.Kryo5, spelled, peer.String(spelled), "a", peer.String("a")),
	entry("Kryo5", codec.Kryo5, "", peer.String(""), long, peer.String(long)),
	entry("Kryo5", codec.Kryo5, int64(math.MinInt64), peer.Long(math.MinInt64), int32(math.MinInt32), peer.Integer(math.MinInt32)),
	entry("Kryo5", codec.Kryo5, int32(300), peer.Integer(300), int64(5_000_000_000), peer.Long(5_000_000_000)),
	entry("Kryo5", codec.Kryo5, true, peer.Bool(true), 1.5, peer.Double(1.5)),
	entry("Kryo5", codec.Kryo5, 1, peer.Long(1), []byte{1, 2, 3}, peer.Bytes([]byte{1, 2, 3})),
}

// plain is a value outside of maps, of which the codecs of Java may have another opinion: that with one class serves it.
type plain struct {
	java  string
	value peer.Datum
	write func() (string, error)
	read  func(t *testing.T, in string)
}

func value[V any](java string, f codec.Family, v V, datum peer.Datum) plain {
	c := codec.For[V](f)
	return plain{
		java: java, value: datum,
		write: func() (string, error) { return codec.Encode(c, v) },
		read: func(t *testing.T, in string) {
			t.Helper()
			got, err := codec.Decode(c, in)
			require.NoError(t, err, "%s: %q", java, in)
			require.Equal(t, v, got, java)
		},
	}
}

var plainValues = []plain{
	value("String", codec.Text, spelled, peer.String(spelled)),
	value("Long", codec.Text, int64(math.MinInt64), peer.Long(math.MinInt64)),
	value("Integer", codec.Text, int32(-7), peer.Integer(-7)),
	value("Double", codec.Text, 1e-7, peer.Datum{Class: "Double", Text: "1.0E-7"}),
	value("ByteArray", codec.Bytes, []byte{0xff, 0x41}, peer.Bytes([]byte{0xff, 0x41})),
	value("TypedJson:"+person, codec.JSON, bob, theBob),
	value("TypedJson:rueidisson.interop.Point", codec.JSON, point{1, 2}, peer.Datum{Class: "Point", Text: `{"x":1,"y":2}`}),
	value("TypedJson:java.lang.Long", codec.JSON, int64(1), peer.Long(1)),
	value("TypedJson:java.lang.String", codec.JSON, spelled, peer.String(spelled)),
	value("MsgPackJackson", codec.Msgpack, spelled, peer.String(spelled)),
	value("MsgPackJackson", codec.Msgpack, 40000, peer.Integer(40000)),
	value("MsgPackJackson", codec.Msgpack, false, peer.Bool(false)),
	value("MsgPackJackson", codec.JacksonMsgpack(""), int64(5_000_000_000), peer.Long(5_000_000_000)),
	value("MsgPackJackson", codec.JacksonMsgpack(person), bob, theBob),
	value("JsonJackson", codec.Jackson(""), int64(1), peer.Long(1)),
	value("JsonJackson", codec.Jackson(person), bob, theBob),
	value("Kryo5", codec.Kryo5, spelled, peer.String(spelled)),
	value("Kryo5", codec.Kryo5, strings.Repeat("x", 32), peer.String(strings.Repeat("x", 32))),
	value("Kryo5", codec.Kryo5, strings.Repeat("x", 33), peer.String(strings.Repeat("x", 33))),
	value("Kryo5", codec.Kryo5, int64(math.MaxInt64), peer.Long(math.MaxInt64)),
	value("Kryo5", codec.Kryo5, int32(math.MinInt32), peer.Integer(math.MinInt32)),
	value("Kryo5", codec.Kryo5, 1.5, peer.Double(1.5)),
	value("Kryo5", codec.Kryo5, false, peer.Bool(false)),
	value("Kryo5", codec.Kryo5, []byte{1, 2, 3}, peer.Bytes([]byte{1, 2, 3})),
}

func eachPlain(t *testing.T, w *world, prove func(context.Context, plain, peer.Bucket, string)) {
	for i, v := range plainValues {
		ctx, name := within(t), fmt.Sprintf("%s-%d", redistest.Name(t), i) // the peer keeps an object for each name
		prove(ctx, v, w.java.Bucket(t.Name(), name, v.java), name)
		w.del(ctx, t, name)
	}
}

func javaReadsPlainValues(t *testing.T, w *world) {
	eachPlain(t, w, func(ctx context.Context, v plain, theirs peer.Bucket, name string) {
		text, err := v.write()
		require.NoError(t, err)
		require.NoError(t, w.redis.Do(ctx, w.redis.B().Set().Key(name).Value(text).Build()).Error())
		got, err := theirs.Get(ctx)
		require.NoError(t, err, "%s: %v", v.java, v.value)
		assert.Equal(t, v.value, got, v.java)
	})
}

func goReadsPlainValues(t *testing.T, w *world) {
	eachPlain(t, w, func(ctx context.Context, v plain, theirs peer.Bucket, name string) {
		require.NoError(t, theirs.Set(ctx, v.value), v.java)
		text, err := w.redis.Do(ctx, w.redis.B().Get().Key(name).Build()).ToString()
		require.NoError(t, err)
		v.read(t, text)
	})
}

// javaRefuses: what the documentation says that Java does not read, it does not.
func javaRefuses(t *testing.T, w *world) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	defer w.del(ctx, t, name)
	require.NoError(t, rmap.New[string, []string](c, name).Put(ctx, "k", []string{"a"}))
	_, err := w.java.Map(t.Name(), name, "String,MsgPackJackson").Get(ctx, peer.String("k"))
	require.Error(t, err, "a list without its class")
	require.NoError(t, rmap.New[string, user](c, name, rmap.WithValueCodec(codec.For[user](codec.JSON))).Put(ctx, "k", bob))
	got, err := w.java.Map(t.Name(), name, "String,TypedJson:"+person).Get(ctx, peer.String("k"))
	require.NoError(t, err)
	require.Equal(t, "java.util.LinkedHashMap", got.Class, "the codec with one class does not serve maps")
}

// goRefuses: another class than the one that Go was told is no value of it.
func goRefuses(t *testing.T, w *world) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	defer w.del(ctx, t, name)
	theirs := w.java.Map(t.Name(), name, "String,Kryo5")
	for _, value := range []peer.Datum{peer.Integer(1), peer.String("1"), {Class: "Person", Text: `{}`}} {
		_, err := theirs.FastPut(ctx, peer.String("k"), value)
		require.NoError(t, err)
		_, _, err = rmap.New[string, int64](c, name, rmap.WithValueCodec(codec.For[int64](codec.Kryo5))).Get(ctx, "k")
		var wrong *codec.DecodeError
		require.ErrorAs(t, err, &wrong, value)
		require.Equal(t, "k", wrong.Key)
	}
}
