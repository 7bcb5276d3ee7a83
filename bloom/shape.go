package bloom

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Shape says how a filter was made. Init computes the number of bits, and how many each value has, from the other two.
type Shape struct {
	Insertions       int64   // n: so many different values keep the probability
	FalseProbability float64 // p: of a value that was not added to be found
	Bits             int64   // m: of the filter
	Hashes           int     // k: bits of a value
}

// String returns the shape as errors have it, such as "n=50000 p=0.001 (m=718879 k=10)".
func (s Shape) String() string {
	return fmt.Sprintf("n=%d p=%s (m=%d k=%d)", s.Insertions, javaDouble(s.FalseProbability), s.Bits, s.Hashes)
}

func (s Shape) shape() shape { return shape{uint64(s.Bits), s.Hashes} }

const (
	// mostSize bounds the bits of a filter, as Redisson does: a string of 512 MB.
	mostSize = 4294967294
	// mostHashes is what the least probability makes of k: -log2 of the least double.
	mostHashes = 1074
)

// shapeFor returns the shape of a filter for n values and probability p, as Redisson computes it.
func shapeFor(n int64, p float64) (Shape, error) {
	if n < 1 {
		return Shape{}, fmt.Errorf("%w: n is %d: a filter is for 1 value or more", ErrInvalidArgument, n)
	}
	if !(p > 0 && p < 1) {
		return Shape{}, fmt.Errorf("%w: p is %v, and not between 0 and 1", ErrInvalidArgument, p)
	}
	m := math.Floor(-float64(n) * ln(p) / (math.Log(2) * math.Log(2)))
	if m < 1 || m > mostSize {
		return Shape{}, fmt.Errorf("%w: n=%d p=%v take %.0f bits: a filter has 1 to %d", ErrInvalidArgument, n, p, m, int64(mostSize))
	}
	k := max(1, int(math.Floor(m/float64(n)*math.Log(2)+0.5)))
	return Shape{n, p, int64(m), k}, nil
}

// ln returns the natural logarithm, also of a p that is so small that it has fewer digits: there math.Log is wrong on amd64.
func ln(p float64) float64 {
	if p < 0x1p-1022 {
		return math.Log(p*0x1p60) - 60*math.Ln2
	}
	return math.Log(p)
}

// javaDouble returns a probability as Java writes it: 0.03, 1.0E-4. 0 is 0.0.
func javaDouble(p float64) string {
	if p >= 1e-3 || p == 0 {
		if text := strconv.FormatFloat(p, 'f', -1, 64); strings.Contains(text, ".") {
			return text
		}
		return strconv.FormatFloat(p, 'f', 1, 64)
	}
	text := strconv.FormatFloat(p, 'E', -1, 64)
	if !strings.Contains(text, ".") {
		text = strconv.FormatFloat(p, 'E', 1, 64)
	}
	return strings.Replace(text, "E-0", "E-", 1)
}

// parseConfig returns the shape that the fields of a config have. An empty field is one that the config does not have.
func parseConfig(fields []string) (s Shape, err error) {
	for i, name := range configFields {
		if len(fields) <= i || fields[i] == "" {
			return s, &brokenError{"has no field " + name}
		}
	}
	m, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil || m < 1 || m > mostSize || strconv.FormatInt(m, 10) != fields[0] {
		return s, &brokenError{fmt.Sprintf("has a %s that is not 1 to %d", configFields[0], int64(mostSize))}
	}
	k, err := strconv.Atoi(fields[1])
	if err != nil || k < 1 || k > mostHashes || strconv.Itoa(k) != fields[1] {
		return s, &brokenError{fmt.Sprintf("has a %s that is not 1 to %d", configFields[1], mostHashes)}
	}
	n, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return s, &brokenError{fmt.Sprintf("has a %s that is no integer", configFields[2])}
	}
	p, err := strconv.ParseFloat(fields[3], 64)
	if err != nil || !(p >= 0 && p < 1) {
		return s, &brokenError{fmt.Sprintf("has a %s that is not 0 to 1", configFields[3])}
	}
	return Shape{n, p, m, k}, nil
}
