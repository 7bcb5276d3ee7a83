package codec_test

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
)

// The rows of this file are bytes that the real Redisson has written or read.

type friend struct {
	Name string `json:"name"`
}

func (friend) JavaClass() string { return "com.acme.Friend" }

type person struct {
	Name   string            `json:"name"`
	Age    int32             `json:"age"`
	Big    int64             `json:"big"`
	Boxed  *int64            `json:"boxed,omitempty"`
	Friend *friend           `json:"friend,omitempty"`
	Tags   []string          `json:"tags"`
	More   map[string]string `json:"more,omitempty"`
	hidden int
}

func (p person) unexported() int { return p.hidden }

type level int

func (l level) MarshalText() ([]byte, error)     { return []byte(strings.Repeat("!", int(l))), nil }
func (l *level) UnmarshalText(text []byte) error { *l = level(len(text)); return nil }

func text(s string) string { return hex.EncodeToString([]byte(s)) }

func TestJSONAsJavaWritesIt(t *testing.T) {
	t.Parallel()
	for _, row := range []row{
		both(codec.JSON, "<>&\u2028/\x7f", text("\"<>&\u2028/\x7f\"")),
		both(codec.JSON, "\b\t\n\f\r\x1f\"\\", text(`"\b\t\n\f\r\u001F\"\\"`)),
		both(codec.JSON, "🙂é", text(`"\uD83D\uDE42é"`)),
		both(codec.JSON, []string{"<\u2029\x1f🙂\u00e9"}, text("[\"<\u2029\\u001F\\uD83D\\uDE42\u00e9\"]")),
		both(codec.JSON, map[string]int{"<": 1}, text(`{"<":1}`)),
		both(codec.JSON, true, text("true")),
		both(codec.JSON, 1.5, text("1.5")),
		reads(codec.JSON, text("1.0"), 1.0),
		reads(codec.JSON, text("1"), 1.0),
		both(codec.JSON, []byte{1, 2, 3}, text(`"AQID"`)),
		both(codec.JSON, []string{"a"}, text(`["a"]`)),
		both(codec.JSON, level(2), text(`"!!"`)),
		both(codec.JSON, time.Unix(1, 0).UTC(), text(`"1970-01-01T00:00:01Z"`)),
		reads(codec.JSON, text(` {"name":"bob","who":1,"age":3} `), person{Name: "bob", Age: 3}),
		reads(codec.JSON, text(`"\ud83d\ude42"`), "🙂"),
		refuses[string](codec.JSON, text(`"a" 1`)),
		refuses[string](codec.JSON, text(`1`)),
		refuses[string](codec.JSON, "22ff4122"),
		refuses[string](codec.JSON, text("null")),
		refuses[int](codec.JSON, text("1.5")),
		refuses[int](codec.JSON, text("01")),
		refuses[int](codec.JSON, text("+1")),
		refuses[int8](codec.JSON, text("128")),
		refuses[bool](codec.JSON, text("null")),
		refuses[person](codec.JSON, text(`{} {}`)),
		refuses[*person](codec.JSON, text(`null`)),
		cannot(codec.JSON, math.Inf(1)),
		cannot(codec.JSON, "\xffA"),
		cannot(codec.JSON, []string{"\xffA"}),
		cannot(codec.JSON, make(chan int)),
		cannot[any](codec.JSON, nil),
	} {
		row(t)
	}
}

func TestMessagePackAsJavaWritesIt(t *testing.T) {
	t.Parallel()
	for _, row := range []row{
		both(codec.Msgpack, int64(100000), "ce000186a0"),
		both(codec.Msgpack, -1, "ff"),
		both(codec.Msgpack, int64(math.MinInt64), "d38000000000000000"),
		both(codec.Msgpack, uint64(math.MaxUint64), "cfffffffffffffffff"),
		both(codec.Msgpack, float32(1.5), "ca3fc00000"),
		both(codec.Msgpack, strings.Repeat("x", 32), "d920"+strings.Repeat("78", 32)),
		both(codec.Msgpack, strings.Repeat("x", 256), "da0100"+strings.Repeat("78", 256)),
		both(codec.Msgpack, [2]byte{1, 2}, "c4020102"),
		both(codec.Msgpack, []string{"a"}, "91a161"),
		both(codec.Msgpack, friend{"bob"}, "81a44e616d65a3626f62"),
		both(codec.Msgpack, []int{1, 300}, "9201cd012c"),
		reads(codec.Msgpack, "d903616263", "abc"),
		reads(codec.Msgpack, "ce00000001", uint8(1)),
		reads(codec.Msgpack, "d30000000000000001", uint16(1)),
		reads(codec.Msgpack, "ca3fc00000", 1.5),
		reads(codec.Msgpack, "01", 1.0),
		reads(codec.Msgpack, "cb7ff0000000000000", math.Inf(1)),
		refuses[uint](codec.Msgpack, "ff"),
		refuses[string](codec.Msgpack, "c403616263"),
		refuses[string](codec.Msgpack, "a2ff41"),
		refuses[string](codec.Msgpack, "a3616263c0"),
		refuses[string](codec.Msgpack, "a36162"),
		refuses[string](codec.Msgpack, ""),
		refuses[[2]byte](codec.Msgpack, "c403010203"),
		refuses[float32](codec.Msgpack, "cb7fe0000000000000"),
		refuses[float64](codec.Msgpack, "d37ffffffffffffffe"),
		refuses[bool](codec.Msgpack, "01"),
		refuses[[]string](codec.Msgpack, "91a16100"),
		refuses[[]string](codec.Msgpack, "91a2ff41"),
		refuses[[]string](codec.Msgpack, "ddffffffff"),
		refuses[[]string](codec.Msgpack, "c0"),
		refuses[any](codec.Msgpack, strings.Repeat("91", 1000)+"01"),
		cannot(codec.Msgpack, []string{"\xffA"}),
		cannot[any](codec.Msgpack, nil),
		cannot(codec.Msgpack, func() {}),
	} {
		row(t)
	}
	nan, err := codec.For[float64](codec.Msgpack).Decode([]byte("\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00"))
	require.NoError(t, err)
	assert.True(t, math.IsNaN(nan))
}

func TestNilSlicesAndMapsAreEmpty(t *testing.T) {
	t.Parallel()
	for f, want := range map[codec.Family][3]string{
		codec.JSON:               {"[]", "{}", `""`},
		codec.Msgpack:            {"\x90", "\x80", "\xc4\x00"},
		codec.Jackson(""):        {`["java.util.ArrayList",[]]`, `{"@class":"java.util.HashMap"}`, `["[B",""]`},
		codec.JacksonMsgpack(""): {"\x92\xb3java.util.ArrayList\x90", "\x81\xa6@class\xb1java.util.HashMap", "\xc4\x00"},
	} {
		list, err := codec.Encode(codec.For[[]string](f), nil)
		require.NoError(t, err)
		assert.Equal(t, want[0], list, f)
		dict, err := codec.Encode(codec.For[map[string]int](f), nil)
		require.NoError(t, err)
		assert.Equal(t, want[1], dict, f)
		raw, err := codec.Encode(codec.For[[]byte](f), nil)
		require.NoError(t, err)
		assert.Equal(t, want[2], raw, f)
	}
}

func TestTextAsJavaWritesIt(t *testing.T) {
	t.Parallel()
	for _, row := range []row{
		both(codec.Text, uint8(200), text("200")),
		both(codec.Text, int64(math.MinInt64), text("-9223372036854775808")),
		both(codec.Text, float32(0.1), text("0.1")),
		both(codec.Text, math.Inf(-1), text("-Infinity")),
		both(codec.Text, "", ""),
		both(codec.Text, level(3), text("!!!")),
		both(codec.Text, [3]byte{0, 255, 1}, "00ff01"),
		reads(codec.Text, text("1.0E7"), 1e7),
		reads(codec.Text, text("1"), 1.0),
		reads(codec.Text, text("-0.0"), math.Copysign(0, -1)),
		refuses[int](codec.Text, text("042")),
		refuses[int](codec.Text, text("+42")),
		refuses[int](codec.Text, text("-0")),
		refuses[int](codec.Text, text("4_2")),
		refuses[int](codec.Text, ""),
		refuses[uint8](codec.Text, text("256")),
		refuses[uint](codec.Text, text("-1")),
		refuses[float64](codec.Text, text("0x1p-2")),
		refuses[float64](codec.Text, text("inf")),
		refuses[float32](codec.Text, text("1e39")),
		refuses[bool](codec.Text, text("1")),
		refuses[string](codec.Text, "ff41"),
		refuses[[3]byte](codec.Text, "00ff"),
		cannot(codec.Text, []byte("abc")),
		cannot(codec.Text, person{}),
		cannot[*level](codec.Text, nil),
		both(codec.Bytes, "\xffA", "ff41"),
		both(codec.Bytes, []byte{}, ""),
		cannot(codec.Bytes, 1),
	} {
		row(t)
	}
}

func TestKryoAsJavaWritesIt(t *testing.T) {
	t.Parallel()
	for _, row := range []row{
		both(codec.Kryo5, "abc", "036162e3"),
		both(codec.Kryo5, "a", "038261"),
		both(codec.Kryo5, "", "0381"),
		both(codec.Kryo5, "hé", "038368c3a9"),
		both(codec.Kryo5, "🙂", "0383eda0bdedb982"),
		both(codec.Kryo5, strings.Repeat("x", 63), "03c001"+strings.Repeat("78", 63)),
		both(codec.Kryo5, int32(1), "0202"),
		both(codec.Kryo5, int32(-1), "0201"),
		both(codec.Kryo5, int32(300), "02d804"),
		both(codec.Kryo5, int32(math.MaxInt32), "02feffffff0f"),
		both(codec.Kryo5, int32(math.MinInt32), "02ffffffff0f"),
		both(codec.Kryo5, int64(1), "0902"),
		both(codec.Kryo5, 1, "0902"),
		both(codec.Kryo5, int64(5_000_000_000), "0980c8afa025"),
		both(codec.Kryo5, int64(math.MaxInt64), "09feffffffffffffffff"),
		both(codec.Kryo5, int64(math.MinInt64), "09ffffffffffffffffff"),
		both(codec.Kryo5, true, "0501"),
		both(codec.Kryo5, false, "0500"),
		both(codec.Kryo5, 1.5, "0a000000000000f83f"),
		both(codec.Kryo5, []byte{1, 2, 3}, "01005bc204010203"),
		refuses[int64](codec.Kryo5, "0202"),
		refuses[int32](codec.Kryo5, "0902"),
		refuses[int32](codec.Kryo5, "00"),
		refuses[int32](codec.Kryo5, "02ffffffff1f"),
		refuses[int64](codec.Kryo5, "09ffffffffffffffffffff"),
		refuses[int64](codec.Kryo5, "0902ff"),
		refuses[string](codec.Kryo5, "0382eda0bd"), // half of a character
		refuses[string](codec.Kryo5, "0380"),       // null
		refuses[string](codec.Kryo5, "03c3a9"),
		refuses[string](codec.Kryo5, "038368c3a900"),
		refuses[string](codec.Kryo5, "036162"),
		refuses[bool](codec.Kryo5, "0502"),
		refuses[float64](codec.Kryo5, "0a00"),
		refuses[[]byte](codec.Kryo5, "01005bc205010203"),
		refuses[[]byte](codec.Kryo5, "01005bc200"),
		cannot(codec.Kryo5, uint(1)),
		cannot(codec.Kryo5, float32(1)),
		cannot(codec.Kryo5, person{}),
		cannot(codec.Kryo5, "\xffA"),
	} {
		row(t)
	}
	_, err := codec.For[int64](codec.Kryo5).Decode([]byte{2, 2})
	assert.EqualError(t, err, "an Integer of Kryo (tag 0x02), not a Long (0x09)")
}

var boxed = int64(7)

func TestJacksonAsJavaWritesIt(t *testing.T) {
	t.Parallel()
	j, bob := codec.Jackson(""), person{Name: "bob", Age: 3, Big: 5, Boxed: &boxed, Friend: &friend{"al"}, Tags: []string{"a"}, More: map[string]string{"k": "v"}}
	_ = bob.unexported()
	for _, row := range []row{
		both(j, "abc", text(`"abc"`)),
		both(j, int64(1), text(`["java.lang.Long",1]`)),
		both(j, 1, text(`["java.lang.Long",1]`)),
		both(j, int32(1), text(`1`)),
		both(codec.Jackson("java.lang.Integer"), 1, text(`1`)),
		both(codec.Jackson("java.lang.Long"), int32(1), text(`["java.lang.Long",1]`)),
		both(j, true, text(`true`)),
		both(j, 1.5, text(`1.5`)),
		both(j, 1.0, text(`1.0`)),
		both(j, []byte{1, 2, 3}, text(`["[B","AQID"]`)),
		reads(j, text(`"AQID"`), []byte{1, 2, 3}),
		both(j, []string{"a"}, text(`["java.util.ArrayList",["a"]]`)),
		both(codec.Jackson("java.util.HashSet"), []string{"a"}, text(`["java.util.HashSet",["a"]]`)),
		both(j, []any{"a", 1.5}, text(`["java.util.ArrayList",["a",1.5]]`)),
		both(j, []int64{1, 2}, text(`["java.util.ArrayList",[["java.lang.Long",1],["java.lang.Long",2]]]`)),
		both(j, map[string]string{"k": "v", "a": "b"}, text(`{"@class":"java.util.HashMap","a":"b","k":"v"}`)),
		both(codec.Jackson("java.util.UUID"), "67e55044-10b1-426f-9247-bb680e5fe0c8", text(`["java.util.UUID","67e55044-10b1-426f-9247-bb680e5fe0c8"]`)),
		both(codec.Jackson("java.util.Date"), int64(1_700_000_000_000), text(`["java.util.Date",1700000000000]`)),
		both(codec.Jackson("com.acme.User"), bob, text(`{"@class":"com.acme.User","age":3,"big":5,"boxed":["java.lang.Long",7],`+
			`"friend":{"@class":"com.acme.Friend","name":"al"},"more":{"@class":"java.util.HashMap","k":"v"},"name":"bob","tags":["java.util.ArrayList",["a"]]}`)),
		both(j, friend{"al"}, text(`{"@class":"com.acme.Friend","name":"al"}`)),
		both(j, []friend{{"al"}}, text(`["java.util.ArrayList",[{"@class":"com.acme.Friend","name":"al"}]]`)),
		both(j, json.RawMessage(`{"a":["x",1]}`), text(`{"@class":"java.util.HashMap","a":["java.util.ArrayList",["x",["java.lang.Long",1]]]}`)),
		both(codec.Jackson("com.acme.User"), json.RawMessage(`{"n":null}`), text(`{"@class":"com.acme.User","n":null}`)),
		reads(codec.Jackson("com.acme.User"), text(`{"age":3,"name":"bob","@class":"com.acme.User","who":1}`), person{Name: "bob", Age: 3}),
		reads(j, text(`["a","b"]`), []string{"a", "b"}),
		refuses[string](j, text(`1`)),
		refuses[string](j, text(`null`)),
		refuses[int](j, text(`"1"`)),
		refuses[int8](j, text(`["java.lang.Long",128]`)),
		refuses[int](j, text(`["java.lang.Long",1] `+`1`)),
		refuses[[]string](j, text(`["java.util.ArrayList",[1]]`)),
		cannot(j, person{}),
		cannot(codec.Jackson("java.util.ArrayList"), []person{{}}),
		cannot(codec.Jackson("java.lang.Integer"), int64(math.MaxInt64)),
		cannot(j, uint64(math.MaxUint64)),
		cannot(j, math.NaN()),
		cannot(j, []any{make(chan int)}),
		cannot(j, []time.Time{{}}),
	} {
		row(t)
	}
}

func TestJacksonMsgpackAsJavaWritesIt(t *testing.T) {
	t.Parallel()
	j := codec.JacksonMsgpack("")
	for _, row := range []row{
		both(j, "abc", "a3616263"),
		both(j, int64(1), "92ae6a6176612e6c616e672e4c6f6e6701"),
		both(j, int64(5_000_000_000), "92ae6a6176612e6c616e672e4c6f6e67cf000000012a05f200"),
		both(j, int32(-200), "d1ff38"),
		both(j, true, "c3"),
		both(j, 1.5, "cb3ff8000000000000"),
		both(j, []byte{1, 2, 3}, "c403010203"),
		both(j, []string{"a"}, "92b36a6176612e7574696c2e41727261794c69737491a161"),
		both(j, map[string]string{"k": "v"}, "82a640636c617373b16a6176612e7574696c2e486173684d6170a16ba176"),
		both(codec.JacksonMsgpack("java.util.Date"), int64(1_700_000_000_000), "92ae6a6176612e7574696c2e44617465cf0000018bcfe56800"),
		both(codec.JacksonMsgpack("com.acme.Friend"), friend{"al"}, "82a640636c617373af"+text("com.acme.Friend")+"a46e616d65a2616c"),
		reads(j, "82a46e616d65a2616ca640636c617373a46e6f2e41", friend{"al"}), // @class last
		reads(j, "cf0000000000000001", int64(1)),
		refuses[int64](j, "92ae6a6176612e6c616e672e4c6f6e670100"),
		refuses[int64](j, "c0"),
		refuses[string](j, "91a161"),
		cannot(j, person{}),
	} {
		row(t)
	}
}

func TestFamiliesHaveNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"text", "bytes", "json", "msgpack", "kryo5", "jackson", "jackson:java.lang.Long", "jackson-msgpack:a.B"} {
		f, err := codec.ParseFamily(name)
		require.NoError(t, err, name)
		assert.Equal(t, name, f.String())
	}
	for _, name := range []string{"", "xml", "text:a", "Text"} {
		_, err := codec.ParseFamily(name)
		require.ErrorIs(t, err, codec.ErrInvalidArgument, name)
	}
}
