package reliable

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFairPrioritiesStarveNone: a steady flow of a higher priority leaves one message of four to the lower ones.
func TestFairPrioritiesStarveNone(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		flow := func(r *rig) (at map[string]int) {
			at = map[string]int{}
			for i := range 16 {
				r.adds("2", WithPriority(2))
				m, err := r.Poll(t.Context())
				require.NoError(t, err)
				require.NoError(t, m.Ack(t.Context()))
				if at[m.Value] == 0 {
					at[m.Value] = i + 1
				}
			}
			return at
		}
		r.adds("0")
		r.adds("1", WithPriority(1))
		require.Equal(t, map[string]int{"2": 1}, flow(r), "without the option the others wait")
		fair := r.with(WithFairPriorities())
		require.Equal(t, map[string]int{"2": 1, "1": 8, "0": 12}, flow(fair))
	})
}

// TestFairPrioritiesOfManyMessages: each priority has its share, and each message comes once and in the order of its priority.
func TestFairPrioritiesOfManyMessages(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r = r.with(WithFairPriorities())
		of := map[string]int{}
		for i, v := range []string{"low", "middle", "high"} {
			for range 40 {
				r.adds(v, WithPriority(i*127))
			}
			of[v] = 0
		}
		for range 2 {
			last := map[string]int64{}
			all, err := r.ReceiveN(t.Context(), 30)
			require.NoError(t, err)
			require.Len(t, all, 30)
			for _, m := range all {
				of[m.Value]++
				require.Less(t, last[m.Value], m.ID)
				last[m.Value] = m.ID
			}
			require.NoError(t, r.AckAll(t.Context(), all...))
		}
		require.Equal(t, map[string]int{"high": 50 - 10, "middle": 5 + 10, "low": 5}, of)
		for range 60 {
			m, err := r.Poll(t.Context())
			require.NoError(t, err)
			require.NoError(t, m.Ack(t.Context()))
		}
		r.isEmpty()
		r.leaves()
	})
}
