package codec

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// deepest is how far values may stand in each other: further down is no value
// that somebody meant, and a reader's stack.
const deepest = 500

var (
	errCut    = errors.New("msgpack that ends too early")
	errBehind = errors.New("bytes after the msgpack value")
	errDeep   = errors.New("msgpack that is nested too deep")
)

// wellFormed reports whether b is one value of MessagePack and nothing else, and
// its text is UTF-8. Its readers then trust the lengths in it.
func wellFormed(b []byte) error {
	rest, err := skip(b, 0)
	if err == nil && len(rest) > 0 {
		return errBehind
	}
	return err
}

// skip returns what follows the first value of b.
func skip(b []byte, depth int) ([]byte, error) {
	if len(b) == 0 {
		return nil, errCut
	}
	if depth > deepest {
		return nil, errDeep
	}
	first, rest := b[0], b[1:]
	switch {
	case first < 0x80 || first >= 0xe0 || first == 0xc0 || first == 0xc2 || first == 0xc3:
		return rest, nil
	case first < 0x90: // a small map
		return skipAll(rest, 2*uint64(first&0x0f), depth)
	case first < 0xa0: // a small array
		return skipAll(rest, uint64(first&0x0f), depth)
	case first < 0xc0: // a short string
		return skipText(rest, uint64(first&0x1f))
	}
	return skipLong(first, rest, depth)
}

// skipLong skips a value whose length, or number, comes after the first byte.
func skipLong(first byte, rest []byte, depth int) ([]byte, error) {
	width, after := packWidth(first)
	if first == 0xc1 || len(rest) < width {
		return nil, fmt.Errorf("%w: first byte %#02x", errCut, first)
	}
	n, rest := bigEndian(string(rest[:width])), rest[width:]
	switch {
	case first >= 0xdc && first <= 0xdd:
		return skipAll(rest, n, depth)
	case first >= 0xde:
		return skipAll(rest, 2*n, depth)
	case first >= 0xd9:
		return skipText(rest, n)
	case first >= 0xc4 && first <= 0xc9: // bytes, and extensions, whose kind is one byte more
		return skipBytes(rest, n+uint64(after))
	}
	return skipBytes(rest, uint64(after))
}

// packWidth returns how many bytes of length follow a first byte, and how many bytes
// follow in addition to those that the length counts.
func packWidth(first byte) (width, after int) {
	switch {
	case first <= 0xc6: // bytes
		return 1 << (first - 0xc4), 0
	case first <= 0xc9: // extensions
		return 1 << (first - 0xc7), 1
	case first <= 0xcb: // floats
		return 0, 4 << (first - 0xca)
	case first <= 0xcf: // integers
		return 0, 1 << (first - 0xcc)
	case first <= 0xd3:
		return 0, 1 << (first - 0xd0)
	case first <= 0xd8: // extensions of a fixed length
		return 0, 1 + 1<<(first-0xd4)
	case first <= 0xdb: // strings
		return 1 << (first - 0xd9), 0
	case first <= 0xdd: // arrays
		return 2 << (first - 0xdc), 0
	}
	return 2 << (first - 0xde), 0 // maps
}

func skipAll(b []byte, n uint64, depth int) (_ []byte, err error) {
	if n > uint64(len(b)) { // each takes a byte at least
		return nil, errCut
	}
	for ; n > 0 && err == nil; n-- {
		b, err = skip(b, depth+1)
	}
	return b, err
}

func skipBytes(b []byte, n uint64) ([]byte, error) {
	if n > uint64(len(b)) {
		return nil, errCut
	}
	return b[n:], nil
}

func skipText(b []byte, n uint64) ([]byte, error) {
	rest, err := skipBytes(b, n)
	if err == nil && !utf8.Valid(b[:n]) {
		return nil, errNotUTF8
	}
	return rest, err
}
