package keys

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is in Redis was put there by this rule: it stays.
func TestWhichShardAKeyIsIn(t *testing.T) {
	t.Parallel()
	require.Equal(t, "{orders:0}", Shard("orders", 0))
	require.Equal(t, "{orders:15}", Shard("orders", 15))
	for key, first := range map[string]uint64{ // of the vectors of Redisson's hash
		"": 0xb7aad9c226c6a36b, "a": 0xab0bc04b5da94740, "abc": 0x0610392ec6557ad6, `"abc"`: 0x47548224f7e82032,
	} {
		for _, n := range []int{1, 2, 7, 16, 1000, 16384} {
			require.Equal(t, int(first%uint64(n)), ShardOf(key, n), "%q of %d", key, n)
		}
	}
}

func TestShardsSpread(t *testing.T) {
	t.Parallel()
	const n, keys = 16, 160_000
	var in [n]int
	slots := map[uint16]bool{}
	for i := range keys {
		in[ShardOf("user:"+strconv.Itoa(i), n)]++
	}
	for i, got := range in {
		assert.InDelta(t, keys/n, got, 500, "shard %d", i) // five standard deviations
		slots[slot(Shard("orders", i))] = true
		// What belongs to an entry is in the slot of its shard.
		assert.Equal(t, slot(Shard("orders", i)), slot(EntryLock(Shard("orders", i), "k")))
		assert.Equal(t, slot(Shard("orders", i)), slot(MapDone(Shard("orders", i), "1")))
	}
	assert.Greater(t, len(slots), n/2)
	for _, name := range []string{"{a}b", "a{", "x}y", "{}"} {
		assert.ErrorIs(t, Spreads(name), ErrSlot)
	}
	assert.NoError(t, Spreads("orders"))
}
