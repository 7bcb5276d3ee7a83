package keys

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// Shard returns the i-th hash of a sharded map. The whole of it is the hash tag, so
// that the hashes of one map spread over the slots.
func Shard(name string, i int) string { return "{" + name + ":" + strconv.Itoa(i) + "}" }

// ShardOf returns which of n hashes an encoded key is in: the first word of its
// HighwayHash-128, modulo n.
func ShardOf(key string, n int) int {
	sum := sum128(key)
	return int(binary.LittleEndian.Uint64(sum[:]) % uint64(n))
}

// Spreads returns ErrSlot for a name whose shards would not have a hash tag each.
func Spreads(name string) error {
	if strings.ContainsAny(name, "{}") {
		return ErrSlot
	}
	return nil
}
