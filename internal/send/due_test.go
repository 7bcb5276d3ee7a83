package send

import (
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
)

func TestWorkThatIsDueLaterIsDoneUntilClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := offline(t)
		key, other := core.Key{Kind: "map", Name: "a"}, core.Key{Kind: "map", Name: "b"}
		var ran atomic.Int64
		require.True(t, s.Due(key, time.Second, func() time.Duration { ran.Add(1); return time.Second }))
		require.True(t, s.Due(other, time.Second, func() time.Duration { t.Error("it has left"); return -1 }))
		s.NotDue(other)
		time.Sleep(3500 * time.Millisecond)
		require.EqualValues(t, 3, ran.Load())
		began := time.Now()
		require.NoError(t, s.Close(t.Context()))
		require.Zero(t, time.Since(began), "nobody waits for what is due later")
		require.EqualValues(t, 3, ran.Load())
		require.False(t, s.Due(key, 0, func() time.Duration { return -1 }))
	})
}

// TestDueRunThatWaitsDelaysNoOtherKind has more runs of one kind wait for a server than
// run at the same time. What is due of another kind comes in its time, and the ones
// that wait are done when the server answers.
func TestDueRunThatWaitsDelaysNoOtherKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := offline(t)
		answers := make(chan struct{})
		var ran, answered atomic.Int64
		for i := range 2 * dueAtOnce {
			key := core.Key{Kind: "election", Name: strconv.Itoa(i)}
			s.Due(key, time.Second, func() time.Duration { <-answers; answered.Add(1); return -1 })
		}
		s.Due(core.Key{Kind: "delayed queue", Name: "0"}, 2*time.Second, func() time.Duration { ran.Add(1); return time.Second })
		time.Sleep(4500 * time.Millisecond)
		require.EqualValues(t, 3, ran.Load())
		close(answers)
		synctest.Wait()
		require.EqualValues(t, 2*dueAtOnce, answered.Load())
		require.NoError(t, s.Close(t.Context()))
	})
}
