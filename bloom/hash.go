package bloom

import (
	"math"
	"strconv"

	"github.com/rueidisson/rueidisson/internal/keys"
)

// hash stands for a value: Redisson's hash of its bytes, in two words.
type hash struct{ h0, h1 uint64 }

func hashOf(text string) hash {
	h0, h1 := keys.HashWords(text)
	return hash{h0, h1}
}

// shape is what the bits of a value depend on.
type shape struct {
	m uint64 // bits of the filter
	k int    // bits of a value
}

// texts returns the shape as it is in a config.
func (s shape) texts() (size, hashes string) {
	return strconv.FormatUint(s.m, 10), strconv.Itoa(s.k)
}

// walk calls do with each bit of a value, in Redisson's order.
func (s shape) walk(of hash, do func(bit uint64)) {
	x := of.h0
	for i := range s.k {
		do(x & math.MaxInt64 % s.m)
		if i%2 == 0 {
			x += of.h1
		} else {
			x += of.h0
		}
	}
}

// mostDigits is the length of the number of the last bit that a filter can have.
const mostDigits = 10

// appendBits appends the bits of values to the arguments of a command, each after the words before it.
func (s shape) appendBits(args []string, values []hash, before ...string) []string {
	n := len(values) * s.k
	digits, ends := make([]byte, 0, n*mostDigits), make([]int, 0, n)
	for _, v := range values {
		s.walk(v, func(bit uint64) {
			digits = strconv.AppendUint(digits, bit, 10)
			ends = append(ends, len(digits))
		})
	}
	all, from := string(digits), 0
	for _, end := range ends {
		args = append(append(args, before...), all[from:end])
		from = end
	}
	return args
}
