package codec_test

import (
	"testing"

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
	assert.ErrorIs(t, err, codec.ErrOption)
}
