package locking

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
)

func TestAWaitsErrorIsWhatTheServerSaidLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFake(t).e
		silence := errors.New("silence")
		ctx, cancel := core.Within(t.Context(), time.Millisecond)
		defer cancel()
		<-ctx.Done()
		over := core.ContextError(ctx)

		var o send.Outage
		require.ErrorIs(t, o.Ended(e.Sender, over), context.DeadlineExceeded, "the server was not asked")
		require.NotErrorIs(t, o.Ended(e.Sender, over), core.ErrNotAcquired)
		require.Equal(t, core.ErrNotAcquired, o.Refusal())

		o.Refused(e.Sender)
		time.Sleep(send.LongestSleep)
		require.Equal(t, core.ErrNotAcquired, o.Ended(e.Sender, over))
		require.Equal(t, context.Canceled, o.Ended(e.Sender, context.Canceled), "the caller's own end")
		time.Sleep(send.LongestSleep)
		require.ErrorIs(t, o.Ended(e.Sender, over), context.DeadlineExceeded, "that was long ago")

		o.Refused(e.Sender)
		o.Failed(e.Sender, silence)
		require.ErrorIs(t, o.Ended(e.Sender, over), silence)
		require.NotErrorIs(t, o.Ended(e.Sender, over), context.DeadlineExceeded)
		require.Equal(t, silence, o.Refusal())
		o.Answered()
		require.Equal(t, core.ErrNotAcquired, o.Ended(e.Sender, over), "it was refused a moment ago")
	})
}

func TestWaitersWhoHaveWaitedGiveUpTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFake(t).e
		silence := errors.New("silence")
		var o send.Outage
		before := e.Now().Mono
		for lasted := time.Duration(0); lasted <= e.WatchdogTimeout; {
			require.NoError(t, o.GivenUp(e.Sender, before))
			lasted, _ = o.Failed(e.Sender, silence)
			time.Sleep(time.Second)
		}
		require.Equal(t, silence, o.GivenUp(e.Sender, before))
		require.NoError(t, o.GivenUp(e.Sender, e.Now().Mono), "one who has just come asks once")
		o.Answered()
		require.NoError(t, o.GivenUp(e.Sender, before))
	})
}
