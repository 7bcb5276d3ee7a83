package exchange

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
)

// insisted makes a request whose turn does not come.
func insisted(ctx context.Context) (done <-chan error, dropped <-chan time.Duration) {
	ended, gaveUp, began := make(chan error, 1), make(chan time.Duration, 1), time.Now()
	go func() {
		_, err := Insist(ctx, send.New(core.New(nil, core.Config{})), func(kept context.Context) (struct{}, error) {
			<-kept.Done()
			gaveUp <- time.Since(began)
			return struct{}{}, kept.Err()
		})
		ended <- err
	}()
	return ended, gaveUp
}

// A caller who has gone leaves a request behind, but not for ever: who calls
// while the server is silent, and leaves, and calls again, would fill the memory.
func TestARequestWaitsForItsTurnAfterItsCallerHasGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		done, dropped := insisted(ctx)
		require.ErrorIs(t, <-done, context.DeadlineExceeded)
		synctest.Wait()
		assert.Empty(t, dropped, "its turn may come yet")
		assert.Equal(t, time.Minute+turnWithin, <-dropped)
		time.Sleep(time.Minute) // the engine lets go of whoever has no more work
	})
}

func TestARequestThatIsMadeLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var kept context.Context
		got, err := Insist(ctx, send.New(core.New(nil, core.Config{})), func(ctx context.Context) (int, error) { kept = ctx; return 7, nil })
		require.NoError(t, err)
		assert.Equal(t, 7, got)
		require.Error(t, kept.Err())
		cancel()
		time.Sleep(time.Minute) // as above
	})
}
