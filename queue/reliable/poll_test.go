package reliable

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPollPassesOverWhatWasRemoved, however much of it stands in front.
func TestPollPassesOverWhatWasRemoved(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		var gone []int64
		for i := range 20 {
			gone = append(gone, r.adds(strconv.Itoa(i)))
		}
		r.adds("left")
		for _, id := range gone {
			require.NoError(t, r.Remove(t.Context(), id))
		}
		s, err := r.Stats(t.Context())
		require.NoError(t, err)
		require.False(t, s.Oldest.IsZero())
		m, err := r.Poll(t.Context())
		require.NoError(t, err)
		require.Equal(t, "left", m.Value)
		require.NoError(t, m.Ack(t.Context()))
		r.leaves()
	})
}

func TestAQueueOfWhichAllWasRemovedLeavesNothing(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		for i := range 10 {
			require.NoError(t, r.Remove(t.Context(), r.adds(strconv.Itoa(i))))
		}
		r.leaves()
	})
}

// TestManyPollsAtOnce are more than one exchange takes.
func TestManyPollsAtOnce(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		n := 3 * mostTaken
		if strings.HasSuffix(t.Name(), "miniredis") {
			n = 100 // a busy one takes no 500 in the time of a request
		}
		_, err := r.AddAll(t.Context(), make([]string, n))
		require.NoError(t, err)
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				m, err := r.Poll(t.Context())
				if err != nil {
					t.Errorf("%v", err)
					return
				}
				_ = m.Ack(t.Context())
			})
		}
		all.Wait()
		r.leaves()
	})
}

func TestAPollWhileNothingIsThereEnds(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r.adds("later", WithDelay(time.Hour))
		for range 20 {
			r.isEmpty()
		}
	})
}
