package httplimit

import "math/bits"

// wide is a product of tokens and nanoseconds: 128 bits, as 64 overflow with a
// burst of 10 million for a month.
type wide struct{ high, low uint64 }

func product(a, b int64) wide {
	high, low := bits.Mul64(uint64(a), uint64(b))
	return wide{high, low}
}

// times has to be less than 2^128.
func (x wide) times(m uint64) wide {
	high, low := bits.Mul64(x.low, m)
	return wide{x.high*m + high, low}
}

// over returns the quotient, rounded down, and whether that left something out.
func (x wide) over(d uint64) (q wide, rest bool) {
	q.high = x.high / d
	low, rem := bits.Div64(x.high%d, x.low, d)
	q.low = low
	return q, rem != 0
}

// overUp returns the quotient, rounded up.
func (x wide) overUp(d uint64) wide {
	q, rest := x.over(d)
	if rest {
		var carry uint64
		q.low, carry = bits.Add64(q.low, 1, 0)
		q.high += carry
	}
	return q
}

// largest is the largest integer of Structured Fields.
const largest = 999_999_999_999_999

// field returns the number as far as a field can carry it.
func (x wide) field() int64 {
	if x.high > 0 || x.low > largest {
		return largest
	}
	return int64(x.low)
}

func (x wide) less(y wide) bool { return x.high < y.high || (x.high == y.high && x.low < y.low) }
