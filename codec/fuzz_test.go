package codec_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
)

// What a decoder takes it writes again as something that it reads as the same.
// It never panics, and takes no memory that its input does not have.

func FuzzText(f *testing.F)  { fuzz(f, codec.Text, "abc", "-42", "1.0E7", "true", "\xff") }
func FuzzBytes(f *testing.F) { fuzz(f, codec.Bytes, "", "abc", "\xff") }
func FuzzJSON(f *testing.F) {
	fuzz(f, codec.JSON, `"a\ud83d\ude42"`, `{"name":"bob"}`, `[1]`, "null", "1.5")
}
func FuzzMsgpack(f *testing.F) {
	fuzz(f, codec.Msgpack, "\xa3abc", "\xd3\x00\x00\x00\x00\x00\x00\x00\x01", "\x91\xa1a", "\xdd\xff\xff\xff\xff", "\x81\xa1a\xc0", "\xd4\x80\xc0")
}
func FuzzKryo5(f *testing.F) {
	fuzz(f, codec.Kryo5, "\x03ab\xe3", "\x03\x83\xed\xa0\xbd\xed\xb9\x82", "\x09\x80\xc8\xaf\xa0%", "\x01\x00[\xc2\x04\x01\x02\x03")
}

func FuzzJackson(f *testing.F) {
	fuzz(f, codec.Jackson(""), `["java.lang.Long",1]`, `["java.util.ArrayList",["a",1.5]]`, `{"@class":"a.B","name":"bob"}`, `["a.b",["c.d",null]]`)
}

func FuzzJacksonMsgpack(f *testing.F) {
	fuzz(f, codec.JacksonMsgpack(""), "\x92\xaejava.lang.Long\x01", "\x92\xb3java.util.ArrayList\x91\xa1a", "\x81\xa4name\xa3bob", "\xc7\x01\x02\x03")
}

func fuzz(f *testing.F, family codec.Family, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before := string(in)
		survives[string](t, family, in)
		survives[int64](t, family, in)
		survives[int8](t, family, in)
		survives[uint32](t, family, in)
		survives[float64](t, family, in)
		survives[bool](t, family, in)
		survives[[]byte](t, family, in)
		survives[[4]byte](t, family, in)
		survives[[]string](t, family, in)
		survives[map[string]int](t, family, in)
		survives[friend](t, family, in)
		survives[any](t, family, in)
		require.Equal(t, before, string(in), "a decoder changed its input")
	})
}

func survives[T any](t *testing.T, family codec.Family, in []byte) {
	c := codec.For[T](family)
	v, err := c.Decode(in)
	if err != nil || reflect.ValueOf(&v).Elem().Kind() == reflect.Interface {
		return
	}
	out, err := codec.Encode(c, v)
	require.NoError(t, err, "%v: %q was read as %#v", family, in, v)
	again, err := codec.Decode(c, out)
	require.NoError(t, err, "%v: %q, then %q", family, in, out)
	if f, ok := any(v).(float64); !ok || !math.IsNaN(f) {
		assert.Equal(t, v, again)
	}
}
