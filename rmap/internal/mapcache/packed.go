package mapcache

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
)

// Header is what stands before the value of an entry: its longest idle time in
// milliseconds as a double, 0 for none, and its length, both little-endian.
const Header = 16

// errHeader is the cause of what cannot be read in the hash of a cache.
var errHeader = fmt.Errorf("%w: no value of a cache", core.ErrWrongKind)

// Pack appends an entry as the hash has it. An idle time of 0 is none.
func Pack(b []byte, value string, idle time.Duration) []byte {
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(core.Millis(idle))))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(value)))
	return append(b, value...)
}

// Unpack returns the value of an entry as the hash has it.
func Unpack(packed string) (value string, err error) {
	if len(packed) < Header {
		return "", fmt.Errorf("%w: %d bytes, and the header has %d", errHeader, len(packed), Header)
	}
	if n := length(packed[8:]); n != uint64(len(packed)-Header) {
		return "", fmt.Errorf("%w: %d bytes of value, and the header says %d", errHeader, len(packed)-Header, n)
	}
	if idle := math.Float64frombits(length(packed)); !(idle >= 0) || math.IsInf(idle, 1) {
		return "", fmt.Errorf("%w: the header says an idle time of %v ms", errHeader, idle)
	}
	return packed[Header:], nil
}

// Looks reports whether text is an entry as the hash of a cache has it, with a value that
// is not empty: a header that fits is nothing that stands there by chance.
func Looks(text string) bool {
	if len(text) <= Header {
		return false
	}
	_, err := Unpack(text)
	return err == nil
}

// Fits reports whether a text of that length which begins with header is an entry as the hash of a cache has it.
func Fits(header string, n int) bool {
	return len(header) == Header && length(header[8:]) == uint64(n-Header)
}

// Idles reports whether an entry has an idle time, as scripts see it.
func Idles(packed string) bool { return len(packed) >= 8 && (packed[6] != 0 || packed[7] != 0) }

// length returns a number of eight bytes.
func length(s string) (n uint64) {
	for i := 7; i >= 0; i-- {
		n = n<<8 | uint64(s[i])
	}
	return n
}
