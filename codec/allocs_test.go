package codec_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rueidisson/rueidisson/codec"
)

// costs is how often a value takes memory on its way to Redis and back.
func costs[T any](f codec.Family, v T) (write, read float64) {
	c := codec.For[T](f)
	s, _ := codec.Encode(c, v)
	return least(func() { _, _ = codec.Encode(c, v) }), least(func() { _, _ = codec.Decode(c, s) })
}

// least is what f takes when its pools have what it needs: under the race detector they forget at random.
func least(f func()) float64 {
	n := testing.AllocsPerRun(1, f)
	for range 50 {
		n = min(n, testing.AllocsPerRun(1, f))
	}
	return n
}

// TestScalarsCostTheirBytes: a string of Text costs nothing, others the bytes that
// are sent, and nothing that is read as a string is copied.
func TestScalarsCostTheirBytes(t *testing.T) {
	for _, of := range []struct {
		what        string
		write, read float64
		cost        func() (float64, float64)
	}{
		{"text", 0, 0, func() (float64, float64) { return costs(codec.Text, "a value of some length that is a text") }},
		{"named text", 0, 0, func() (float64, float64) { return costs(codec.Text, name("a value")) }},
		{"number as text", 1, 0, func() (float64, float64) { return costs(codec.Text, int64(1234567890123)) }},
		{"bytes", 1, 1, func() (float64, float64) { return costs(codec.Bytes, []byte("abc")) }},
		{"msgpack", 1, 0, func() (float64, float64) { return costs(codec.Msgpack, "a value of some length that is a text") }},
		{"msgpack number", 1, 0, func() (float64, float64) { return costs(codec.Msgpack, 40000) }},
		{"json", 1, 0, func() (float64, float64) { return costs(codec.JSON, "a value of some length that is a text") }},
	} {
		write, read := of.cost()
		assert.LessOrEqual(t, write, of.write+detector, "%s, written", of.what)
		assert.LessOrEqual(t, read, of.read, "%s, read", of.what)
	}
}
