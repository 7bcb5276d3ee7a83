package keys

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"
	"unsafe"

	"github.com/minio/highwayhash"
)

// groupKey is the key of the hash that stands for a value of a group of locks.
var groupKey = func() (key []byte) {
	for _, word := range []uint64{0x9e3779b97f4a7c15, 0xf39cc0605cedc834, 0x1082276bf3a27251, 0xf86c6a11d0c18e95} {
		key = binary.LittleEndian.AppendUint64(key, word)
	}
	return key
}()

// GroupField returns the field of a group's hash that stands for an encoded value:
// its hash, in base64.
func GroupField(value string) string {
	sum := Hash(value)
	return base64.RawStdEncoding.EncodeToString(sum[:])
}

// Hash returns Redisson's hash of an encoded value: HighwayHash-128, the two words of
// it big-endian.
func Hash(value string) (swapped [highwayhash.Size128]byte) {
	sum := sum128(value)
	for half := 0; half < len(sum); half += 8 {
		binary.BigEndian.PutUint64(swapped[half:], binary.LittleEndian.Uint64(sum[half:]))
	}
	return swapped
}

// HashWords returns the two words of that hash.
func HashWords(value string) (h0, h1 uint64) {
	sum := sum128(value)
	return binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:])
}

// sum128 returns the hash of a value, each half of it little-endian. It does not copy the value.
func sum128(value string) [highwayhash.Size128]byte {
	return highwayhash.Sum128(unsafe.Slice(unsafe.StringData(value), len(value)), groupKey)
}

// GroupValues returns one text for some fields of a group, in the slot of the group. It is no
// key on the server.
func GroupValues(group string, fields []string) string {
	return Suffix(group, strconv.Itoa(len(group))+":"+strings.Join(fields, ","))
}

// GroupOf undoes GroupValues. The length says whether braces are the group's own.
func GroupOf(values string) (group string, fields []string) {
	rest, list := cutLast(values)
	group, length := cutLast(rest)
	if strconv.Itoa(len(group)) != length {
		group = group[1 : len(group)-1]
	}
	return group, strings.Split(list, ",")
}

func cutLast(s string) (before, after string) {
	i := strings.LastIndexByte(s, ':')
	return s[:i], s[i+1:]
}
