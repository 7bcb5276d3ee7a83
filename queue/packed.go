package queue

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
)

// Elements of a delayed queue are packed as Redisson does it: the length of what
// makes one unique, that, the length of the element in 8 bytes, the lowest first,
// and the element.

const (
	uniqueBytes = 8
	sizeBytes   = 8
)

// pack returns an element packed, which is no other's.
func pack(text string) string {
	b := make([]byte, 1+uniqueBytes, 1+uniqueBytes+sizeBytes+len(text))
	b[0] = uniqueBytes
	_, _ = rand.Read(b[1:]) // it never fails
	b = binary.LittleEndian.AppendUint64(b, uint64(len(text)))
	return string(append(b, text...))
}

// unpack returns the element in a packed one.
func unpack(packed string) (string, error) {
	if packed == "" {
		return "", errors.New("no packed element: empty")
	}
	start := 1 + int(packed[0]) + sizeBytes
	if len(packed) < start {
		return "", fmt.Errorf("no packed element: %d bytes", len(packed))
	}
	size := binary.LittleEndian.Uint64([]byte(packed[start-sizeBytes : start]))
	if size != uint64(len(packed)-start) {
		return "", fmt.Errorf("no packed element: it says that %d bytes come, and there are %d", size, len(packed)-start)
	}
	return packed[start:], nil
}
