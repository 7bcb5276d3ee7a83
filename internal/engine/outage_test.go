package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAWaitsErrorIsWhatTheServerSaidLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFake(t).e
		silence := errors.New("silence")
		ctx, cancel := Within(t.Context(), time.Millisecond)
		defer cancel()
		<-ctx.Done()
		over := ContextError(ctx)

		var o Outage
		require.ErrorIs(t, o.Ended(e, over), context.DeadlineExceeded, "the server was not asked")
		require.NotErrorIs(t, o.Ended(e, over), ErrNotAcquired)
		require.Equal(t, ErrNotAcquired, o.Refusal())

		o.Refused(e)
		time.Sleep(longestSleep)
		require.Equal(t, ErrNotAcquired, o.Ended(e, over))
		require.Equal(t, context.Canceled, o.Ended(e, context.Canceled), "the caller's own end")
		time.Sleep(longestSleep)
		require.ErrorIs(t, o.Ended(e, over), context.DeadlineExceeded, "that was long ago")

		o.Refused(e)
		o.Failed(e, silence)
		require.ErrorIs(t, o.Ended(e, over), silence)
		require.NotErrorIs(t, o.Ended(e, over), context.DeadlineExceeded)
		require.Equal(t, silence, o.Refusal())
		o.Answered()
		require.Equal(t, ErrNotAcquired, o.Ended(e, over), "it was refused a moment ago")
	})
}

func TestWaitersWhoHaveWaitedGiveUpTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFake(t).e
		silence := errors.New("silence")
		var o Outage
		before := e.Now().Mono
		for lasted := time.Duration(0); lasted <= e.WatchdogTimeout; {
			require.NoError(t, o.GivenUp(e, before))
			lasted, _ = o.Failed(e, silence)
			time.Sleep(time.Second)
		}
		require.Equal(t, silence, o.GivenUp(e, before))
		require.NoError(t, o.GivenUp(e, e.Now().Mono), "one who has just come asks once")
		o.Answered()
		require.NoError(t, o.GivenUp(e, before))
	})
}
