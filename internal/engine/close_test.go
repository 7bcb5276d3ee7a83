package engine

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestWhatIsToRunWhenTheClientCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		ran := 0
		wake := make(chan struct{})
		s.e.WhenClosing(func() {
			require.ErrorIs(t, s.e.Open(), ErrClosed)
			ran++
			close(wake)
		})
		require.True(t, s.e.Spawn(func() { <-wake })) // whom Close waits for
		synctest.Wait()
		require.Zero(t, ran)
		require.NoError(t, s.e.Close(context.Background()))
		require.NoError(t, s.e.Close(context.Background()))
		require.Equal(t, 1, ran)
		s.e.WhenClosing(func() { ran++ })
		require.Equal(t, 2, ran, "at once")
	})
}
