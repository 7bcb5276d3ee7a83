package queue

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestDelayedQueueMoveOfMixedDelaysWalksALittleAtATime: the elements that are due are
// anywhere in the list, and one call of the server looks for a few of them.
func TestDelayedQueueMoveOfMixedDelaysWalksALittleAtATime(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		raw := server.Client(t)
		waiting := redistest.Count(t, 60_000, 1_000_000)
		q := delayedOn(t, engineOn(t, raw))
		now := time.Now().UnixMilli()
		const due = 30
		isDue := map[int]bool{}
		for len(isDue) < due {
			isDue[waiting/4+rand.IntN(waiting/2)] = true
		}
		for at := 0; at < waiting; at += 1000 {
			push := raw.B().Rpush().Key(q.q.of.list).Element()
			add := raw.B().Zadd().Key(q.q.of.times).ScoreMember()
			for i := at; i < at+1000; i++ {
				score := float64(now + 3_600_000)
				if isDue[i] {
					score = float64(now - 1000)
				}
				packed := pack(decimal(int64(i)))
				push, add = push.Element(packed), add.ScoreMember(score, packed)
			}
			require.NoError(t, raw.Do(t.Context(), push.Build()).Error())
			require.NoError(t, raw.Do(t.Context(), add.Build()).Error())
		}
		moved := int64(0)
		for more := true; more; {
			got, err := q.q.h.move(t.Context(), &q.q.of, now)
			require.NoError(t, err)
			require.Positive(t, got.elements)
			require.EqualValues(t, 1, got.elements, "so many walks in one call")
			moved, more = moved+got.elements, got.more
		}
		require.EqualValues(t, due, moved)
		left, err := q.Len(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, waiting-due, left)
		for range due {
			v, err := q.Queue().Poll(t.Context())
			require.NoError(t, err)
			at := 0
			for _, c := range v {
				at = at*10 + int(c-'0')
			}
			require.True(t, isDue[at], v)
			delete(isDue, at)
		}
	})
}
