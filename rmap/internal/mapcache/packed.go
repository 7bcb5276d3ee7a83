package mapcache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// header is what stands before the value of an entry: its longest idle time in
// milliseconds as a double, 0 for none, and its length, both little-endian.
const header = 16

// errHeader is the cause of what cannot be read in the hash of a cache.
var errHeader = errors.New("no value of a cache")

// Pack appends an entry as the hash has it. An idle time of 0 is none.
func Pack(b []byte, value string, idle time.Duration) []byte {
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(engine.Millis(idle))))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(value)))
	return append(b, value...)
}

// Unpack is the value of an entry as the hash has it.
func Unpack(packed string) (value string, err error) {
	if len(packed) < header {
		return "", fmt.Errorf("%w: %d bytes, and the header has %d", errHeader, len(packed), header)
	}
	if n := length(packed[8:]); n != uint64(len(packed)-header) {
		return "", fmt.Errorf("%w: %d bytes of value, and the header says %d", errHeader, len(packed)-header, n)
	}
	if idle := math.Float64frombits(length(packed)); !(idle >= 0) || math.IsInf(idle, 1) {
		return "", fmt.Errorf("%w: the header says an idle time of %v ms", errHeader, idle)
	}
	return packed[header:], nil
}

// Idles reports whether an entry has an idle time, as scripts see it.
func Idles(packed string) bool { return len(packed) >= 8 && (packed[6] != 0 || packed[7] != 0) }

// length is a number of eight bytes.
func length(s string) (n uint64) {
	for i := 7; i >= 0; i-- {
		n = n<<8 | uint64(s[i])
	}
	return n
}
