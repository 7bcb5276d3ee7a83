package codec_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
)

// TestAListThatBeginsWithTheNameOfAClassIsAList, as one of host names does.
func TestAListThatBeginsWithTheNameOfAClassIsAList(t *testing.T) {
	t.Parallel()
	hosts := []string{"example.com", "b"}
	for _, f := range []codec.Family{codec.Jackson(""), codec.JacksonMsgpack("")} {
		lists, maps := codec.For[[]string](f), codec.For[map[string][][]string](f)
		b, err := codec.Encode(lists, hosts)
		require.NoError(t, err)
		got, err := codec.Decode(lists, b)
		require.NoError(t, err, f)
		assert.Equal(t, hosts, got, f)
		in := map[string][][]string{"k": {hosts, {"java.util.ArrayList", "c.d"}}}
		b, err = codec.Encode(maps, in)
		require.NoError(t, err)
		all, err := codec.Decode(maps, b)
		require.NoError(t, err, f)
		assert.Equal(t, in, all, f)
	}
	n, err := codec.Decode(codec.For[int64](codec.Jackson("")), `["java.util.concurrent.atomic.AtomicReference",["java.lang.Long",7]]`)
	require.NoError(t, err)
	assert.EqualValues(t, 7, n)
}

func TestNullIsNoValueWhateverStandsAroundIt(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"null", " null", "null ", "\n\tnull\r\n"} {
		for _, f := range []codec.Family{codec.JSON, codec.Jackson(""), codec.Jackson("a.B")} {
			_, err := codec.Decode(codec.For[[]string](f), in)
			assert.Error(t, err, "%v %q", f, in)
			_, err = codec.Decode(codec.For[map[string]int](f), in)
			assert.Error(t, err, "%v %q", f, in)
		}
	}
}

func TestAFieldThatIsANumberInATextIsRefused(t *testing.T) {
	t.Parallel()
	type order struct {
		N int `json:"n,omitempty,string"`
	}
	_, err := codec.Encode(codec.For[order](codec.Jackson("a.B")), order{7})
	assert.ErrorIs(t, err, codec.ErrInvalidArgument)
}

func xs(n int) (text, hexes string) { return strings.Repeat("x", n), strings.Repeat("78", n) }

// TestMessagePackTakesTheSmallestForm, on both sides of where each form ends.
func TestMessagePackTakesTheSmallestForm(t *testing.T) {
	t.Parallel()
	of31, hex31 := xs(31)
	of255, hex255 := xs(255)
	big, hexBig := xs(math.MaxUint16)
	bigger, hexBigger := xs(math.MaxUint16 + 1)
	for _, f := range []codec.Family{codec.Msgpack, codec.JacksonMsgpack("java.lang.Integer")} {
		for n, want := range map[int64]string{
			0: "00", 127: "7f", 128: "cc80", 255: "ccff", 256: "cd0100", 65535: "cdffff", 65536: "ce00010000", math.MaxInt32: "ce7fffffff",
			-1: "ff", -32: "e0", -33: "d0df", -128: "d080", -129: "d1ff7f", -32768: "d18000", -32769: "d2ffff7fff", math.MinInt32: "d280000000",
		} {
			both(f, n, want)(t)
		}
	}
	for _, f := range []codec.Family{codec.Msgpack, codec.JacksonMsgpack("")} {
		for _, row := range []row{
			both(f, false, "c2"),
			both(f, "", "a0"),
			both(f, of31, "bf"+hex31),
			both(f, of255, "d9ff"+hex255),
			both(f, big, "daffff"+hexBig),
			both(f, bigger, "db00010000"+hexBigger),
			both(f, []byte{}, "c400"),
			both(f, []byte(of255), "c4ff"+hex255),
			both(f, []byte(big), "c5ffff"+hexBig),
			both(f, []byte(bigger), "c600010000"+hexBigger),
			both(f, math.Inf(-1), "cbfff0000000000000"),
			both(f, math.Copysign(0, -1), "cb8000000000000000"),
		} {
			row(t)
		}
	}
	both(codec.Msgpack, uint32(math.MaxUint32), "ceffffffff")(t)
	both(codec.Msgpack, int64(math.MaxUint32+1), "cf0000000100000000")(t)
	both(codec.Msgpack, int64(math.MinInt32-1), "d3ffffffff7fffffff")(t)
}

// TestTheRestOfTheTable is what Java writes and no other row has.
func TestTheRestOfTheTable(t *testing.T) {
	t.Parallel()
	type bob struct {
		Age  int    `json:"age"`
		Name string `json:"name"`
	}
	of32, hex31 := xs(32)
	of33, hex33 := xs(33)
	const id = "67e55044-10b1-426f-9247-bb680e5fe0c8"
	pack := codec.JacksonMsgpack("")
	for _, row := range []row{
		both(codec.JSON, bob{3, "bob"}, text(`{"age":3,"name":"bob"}`)),
		both(codec.Jackson("a.B"), bob{3, "bob"}, text(`{"@class":"a.B","age":3,"name":"bob"}`)),
		reads(codec.Jackson(""), text(`["java.math.BigDecimal",1.10]`), 1.1),
		reads(codec.Jackson(""), text(`["[Ljava.lang.Object;",["a",1]]`), []any{"a", 1.0}),
		refuses[float64](codec.Jackson(""), text(`"NaN"`)),
		both(codec.JacksonMsgpack("java.util.UUID"), id, "92ae"+text("java.util.UUID")+"d924"+text(id)),
		reads(pack, "92b4"+text("java.math.BigDecimal")+"cb3ff199999999999a", 1.1),
		reads(pack, "d903616263", "abc"),
		reads(pack, "ca3fc00000", 1.5),
		both(codec.Kryo5, of32, "03"+hex31[2:]+"f8"),
		both(codec.Kryo5, of33, "03a2"+hex33),
		both(codec.Kryo5, int64(-1), "0901"),
		refuses[float64](codec.Kryo5, "040000c03f"),
		refuses[int32](codec.Kryo5, "080300"),
		refuses[int32](codec.Kryo5, "0603"),
		refuses[string](codec.Kryo5, "076300"),
		refuses[string](codec.Kryo5, "00"),
	} {
		row(t)
	}
	b, err := codec.Encode(codec.For[time.Time](codec.Msgpack), time.Unix(1, 1))
	require.NoError(t, err)
	assert.Equal(t, "\xd7\xff\x00\x00\x00\x04\x00\x00\x00\x01", b, "which Java reads as an extension")
	at, err := codec.Decode(codec.For[time.Time](codec.Msgpack), b)
	require.NoError(t, err)
	assert.True(t, at.Equal(time.Unix(1, 1)))
}
