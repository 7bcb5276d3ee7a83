package codec_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
)

// row is a value and its bytes: written so, and read so.
type row func(t *testing.T)

func both[T any](f codec.Family, v T, want string) row {
	return func(t *testing.T) {
		t.Helper()
		c := codec.For[T](f)
		got, err := codec.Encode(c, v)
		require.NoError(t, err)
		assert.Equal(t, want, hex.EncodeToString([]byte(got)), "%v of %v", f, v)
		reads(f, want, v)(t)
	}
}

func reads[T any](f codec.Family, in string, want T) row {
	return func(t *testing.T) {
		t.Helper()
		b, err := hex.DecodeString(in)
		require.NoError(t, err)
		c := codec.For[T](f)
		back, err := c.Decode(b)
		require.NoError(t, err, "%v: %s as %T", f, in, want)
		assert.Equal(t, want, back)
		back, err = codec.Decode(c, string(b))
		require.NoError(t, err)
		assert.Equal(t, want, back)
	}
}

func refuses[T any](f codec.Family, in string) row {
	return func(t *testing.T) {
		t.Helper()
		b, err := hex.DecodeString(in)
		require.NoError(t, err)
		got, err := codec.For[T](f).Decode(b)
		assert.Error(t, err, "%v: %s as %T", f, in, got)
		assert.NotErrorIs(t, err, codec.ErrInvalidArgument)
	}
}

func cannot[T any](f codec.Family, v T) row {
	return func(t *testing.T) {
		t.Helper()
		_, err := codec.Encode(codec.For[T](f), v)
		assert.ErrorIs(t, err, codec.ErrInvalidArgument, "%v of %T %v", f, v, v)
	}
}

type name string

func TestTheTableOfTheDesign(t *testing.T) {
	t.Parallel()
	for _, row := range []row{
		both(codec.Text, "abc", "616263"),
		both(codec.Text, name("abc"), "616263"),
		both(codec.Text, 42, "3432"),
		both(codec.Text, 1.5, "312e35"),
		both(codec.Text, true, "74727565"),
		both(codec.Bytes, []byte{1, 2, 3}, "010203"),
		both(codec.Bytes, [2]byte{1, 2}, "0102"),
		both(codec.JSON, "abc", "2261626322"),
		both(codec.JSON, int64(5_000_000_000), hex.EncodeToString([]byte("5000000000"))),
		both(codec.Msgpack, "abc", "a3616263"),
		both(codec.Msgpack, 1, "01"),
		both(codec.Msgpack, 40000, "cd9c40"),
		both(codec.Msgpack, -200, "d1ff38"),
		both(codec.Msgpack, 5_000_000_000, "cf000000012a05f200"),
		both(codec.Msgpack, 1.5, "cb3ff8000000000000"),
		both(codec.Msgpack, true, "c3"),
		both(codec.Msgpack, []byte{1, 2, 3}, "c403010203"),
		reads(codec.Msgpack, "d30000000000000001", 1),
		refuses[int8](codec.Msgpack, "7fffffff"),
		refuses[int8](codec.Msgpack, "cd0100"),
		refuses[uint8](codec.Msgpack, "ff"),
		refuses[int](codec.Msgpack, "c0"),
		refuses[int](codec.Msgpack, "0100"),
		refuses[int64](codec.Msgpack, "cfffffffffffffffff"),
		cannot(codec.Text, "\xffA"),
		cannot(codec.Msgpack, "\xffA"),
		cannot(codec.JSON, math.NaN()),
		cannot[*int](codec.Msgpack, nil),
	} {
		row(t)
	}
}

func TestKeysAreTheirBytes(t *testing.T) {
	t.Parallel()
	require.NoError(t, codec.Check(codec.Key[string]()))
	require.NoError(t, codec.Check(codec.Key[[4]byte]()))
	require.ErrorIs(t, codec.Check(codec.Key[float64]()), codec.ErrInvalidArgument)
	require.ErrorIs(t, codec.Check(codec.Key[any]()), codec.ErrInvalidArgument)
	require.ErrorIs(t, codec.Check(codec.Key[*int]()), codec.ErrInvalidArgument)
	require.ErrorIs(t, codec.Check(codec.Key[struct{ A int }]()), codec.ErrInvalidArgument)
	require.ErrorIs(t, codec.Check(codec.KeyOf[float64](codec.JSON)), codec.ErrInvalidArgument)
	require.ErrorIs(t, codec.Check[int](nil), codec.ErrInvalidArgument)
	require.ErrorIs(t, codec.Check(codec.For[int](codec.Family{})), codec.ErrInvalidArgument)
}

func TestADecodeErrorSaysWhereAndWhyButNotWhat(t *testing.T) {
	t.Parallel()
	_, cause := codec.For[int](codec.Msgpack).Decode([]byte("\xa6secret"))
	err := error(&codec.DecodeError{Name: "orders", Key: "a", Bytes: []byte("\xa6secret"), Cause: cause})
	require.ErrorIs(t, err, codec.ErrDecode)
	require.ErrorIs(t, err, cause)
	assert.EqualError(t, err, `"orders", key "a": 7 bytes that cannot be decoded: 7 bytes that are no msgpack integer in range`)
}

type weekday int

func (*weekday) UnmarshalJSON([]byte) error { return errNoWeekday }

var errNoWeekday = errors.New("no weekday")

// TestDecodeNamesTheTypeAndTheCodec, and what the codec itself says can be unwrapped.
func TestDecodeNamesTheTypeAndTheCodec(t *testing.T) {
	t.Parallel()
	type product struct{ Price int }
	_, err := codec.Decode(codec.For[product](codec.JSON), `{"Price":"secret"}`)
	var own *json.UnmarshalTypeError
	require.ErrorAs(t, err, &own)
	require.ErrorContains(t, err, "no codec_test.product in json: ")
	require.NotContains(t, err.Error(), "secret")
	_, err = codec.Decode(codec.For[struct{ Day weekday }](codec.JSON), `{"Day":1}`)
	require.ErrorIs(t, err, errNoWeekday)
	_, err = codec.Decode(codec.For[int](codec.Text), "secret")
	require.ErrorContains(t, err, "no int in text: ")
	require.NotContains(t, err.Error(), "secret")
	_, err = codec.Decode[int](broken{}, "1")
	require.ErrorIs(t, err, errNoWeekday)
	require.ErrorContains(t, err, "no int for a codec_test.broken: ")
}

type broken struct{}

func (broken) Append(dst []byte, _ int) ([]byte, error) { return dst, nil }
func (broken) Decode([]byte) (int, error)               { return 0, errNoWeekday }
