package engine

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWorkThatIsDueLaterIsDoneUntilClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		key, other := Key{Kind: "map", Name: "a"}, Key{Kind: "map", Name: "b"}
		var ran atomic.Int64
		require.True(t, s.e.Due(key, time.Second, func() time.Duration { ran.Add(1); return time.Second }))
		require.True(t, s.e.Due(other, time.Second, func() time.Duration { t.Error("it has left"); return -1 }))
		s.e.NotDue(other)
		time.Sleep(3500 * time.Millisecond)
		require.EqualValues(t, 3, ran.Load())
		began := time.Now()
		require.NoError(t, s.e.Close(t.Context()))
		require.Zero(t, time.Since(began), "nobody waits for what is due later")
		require.EqualValues(t, 3, ran.Load())
		require.False(t, s.e.Due(key, 0, func() time.Duration { return -1 }))
	})
}
