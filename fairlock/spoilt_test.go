package fairlock

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// spoil makes one of the lock's keys a string, as another program would by mistake.
func (b *bench) spoil(i int) {
	require.NoError(b.t, b.do("DEL", b.keys(5)[i]).Error())
	require.NoError(b.t, b.do("SET", b.keys(5)[i], "data").Error())
}

// A lock is given back also where a key of another type stands in the place of
// its queue, of the deadlines or of the living.
func TestAKeyOfAnotherTypeKeepsNobodyFromGivingBack(t *testing.T) {
	t.Parallel()
	for i, name := range map[int]string{1: "the queue", 2: "the deadlines", 3: "the living"} {
		for way, give := range map[string]func(b *bench) string{
			"release":               func(b *bench) string { return b.release(a) },
			"release with a waiter": func(b *bench) string { return b.release(a, b2) },
			"force":                 func(b *bench) string { return b.force(there) },
		} {
			t.Run(name+", "+way, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.acquire(a, once)
				b.acquire(b2, queue)
				b.acquire(x, queue)
				b.spoil(i)
				require.NotEqual(t, "-1", give(b))
				require.Empty(t, b.holder())
				if way != "force" {
					require.Equal(t, "-1", give(b), "a second run finds it gone")
				}
			})
		}
	}
}

// Whoever meets such a key when it queues leaves nothing behind, neither the first
// nor one that had a place before.
func TestAnAcquireThatMeetsAKeyOfAnotherTypeWritesNothing(t *testing.T) {
	t.Parallel()
	for i, name := range map[int]string{1: "the queue", 2: "the deadlines", 3: "the living", 4: "the tombstones"} {
		for _, mode := range []string{queue, again} {
			t.Run(name+", mode "+mode, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.acquire(x, once)
				b.spoil(i)
				res := acquireScript.Exec(t.Context(), b.raw, b.keys(5), []string{"1000", a, mode, "1400", "10000"})
				require.ErrorContains(t, res.Error(), "WRONGTYPE")
				require.NoError(t, b.do("DEL", b.keys(5)[i]).Error())
				left, err := b.do("EXISTS", b.keys(5)[1], b.keys(5)[2], b.keys(5)[3]).AsInt64()
				require.NoError(t, err)
				require.Zero(t, left, "of the queue, the deadlines and the living")
			})
		}
	}
}
