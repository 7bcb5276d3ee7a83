package reliable

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// acksTogether has a step acknowledge first attempts, and returns which of them it knew.
func (r *rig) acksTogether(ids ...string) string {
	r.t.Helper()
	args := append(r.e.Preamble(r.e.Request(r.of.lane, 0), r.of.wake),
		"1", "me", "0", "1000", "10", "0 1000", "5000", "-", "100", "1000000", r.of.done, "1", strconv.Itoa(len(ids)))
	args = append(append(args, ids...), "0", "0")
	got, err := r.e.Run(r.t.Context(), stepScript, r.of.on(r.of.lane+":test"), args)
	require.NoError(r.t, err)
	all, err := got.ToArray()
	require.NoError(r.t, err)
	settled, err := all[1].ToString()
	require.NoError(r.t, err)
	return settled
}

// TestOfAcksTogetherThoseCountThatAreLeased: they are taken out of the leases at once, and
// told apart by what else is known of them.
func TestOfAcksTogetherThoseCountThatAreLeased(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		ends := decimal(time.Now().UnixMilli() + engine.Millis(time.Hour))
		for _, id := range []string{"11", "12", "13", "14"} {
			r.do("HSET", r.part("body"), id, "body")
		}
		r.do("ZADD", r.part("lease"), ends, "11", ends, "13", ends, "16", ends, "17")
		r.do("HSET", r.part("tries"), "12", "1") // its lease ran out
		r.do("ZADD", r.part("dead"), ends, "14")
		require.Equal(t, "00", r.acksTogether("12", "14"), "none of them")
		require.Equal(t, "101000", r.acksTogether("11", "12", "13", "13", "14", "15"), "and 15 was removed")
		require.EqualValues(t, 2, r.counter("acked"))
		r.do("HSET", r.part("body"), "16", "body", "17", "body")
		require.Equal(t, "11", r.acksTogether("16", "17"), "all of them")
		require.EqualValues(t, 4, r.counter("acked"))
		for id, there := range map[string]int64{"11": 0, "12": 1, "13": 0, "14": 1, "16": 0, "17": 0} {
			n, err := asInt(r.do("HEXISTS", r.part("body"), id))
			require.NoError(t, err)
			require.Equal(t, there, n, id)
		}
	})
}
