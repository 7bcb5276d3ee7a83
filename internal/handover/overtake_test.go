package handover

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOvertakeLetsSharersGoFirst has one that wants a hold alone between those who
// share one.
func TestOvertakeLetsSharersGoFirst(t *testing.T) {
	t.Parallel()
	var q Queue[int]
	waiter := func(shared bool) *Waiter[int] {
		w := NewWaiter[int](true)
		w.Shared = shared
		return w
	}
	require.True(t, q.TryEnter())
	alone, first, second := waiter(false), waiter(true), waiter(true)
	for _, w := range []*Waiter[int]{alone, first, second} {
		require.False(t, q.Enter(w))
	}
	q.Overtake()
	require.Empty(t, first.Turn(), "the turn is that of one alone")
	require.Zero(t, q.Share(1), "the first in the order wants a hold alone")
	q.Settle()
	q.Overtake()
	require.Equal(t, Turn[int]{}, <-first.Turn(), "it asks for another hold")
	require.Equal(t, 1, q.Share(2))
	require.Equal(t, Turn[int]{Hold: 2, Handed: true}, <-second.Turn())
	q.Settle()
	q.Overtake()
	require.Empty(t, alone.Turn())
	for range 3 {
		require.Empty(t, alone.Turn())
		q.Pass()
	}
	require.Equal(t, Turn[int]{}, <-alone.Turn())
	q.Pass()
	require.Zero(t, q.Waiting())
	require.True(t, q.TryEnter())
}
