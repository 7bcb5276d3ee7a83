package locking

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/wait"
)

// watchBy is a wait by a listener that others have waited by, or will.
func (s *fakeServer) watchBy(ctx context.Context, l *looker, by *wait.Listener, looked bool) <-chan error {
	ended := make(chan error, 1)
	go func() { // ends with the watch
		ended <- s.e.Watch(ctx, wait.Watch{
			Key: s.Key(), Channels: []pubsub.Channel{s.e.Channel(s.Channel())}, Look: l.look, By: by, Looked: looked,
		})
	}()
	synctest.Wait()
	return ended
}

func TestAListenerServesSeveralWaitsBehindEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		by := wait.NewListener(func(string) bool { return true }, nil)
		first := looker{left: -1}
		ended := s.watchBy(t.Context(), &first, by, true)
		require.EqualValues(t, 2, first.looks.Load(), "nobody listened when another looked: before the subscription, and behind it")
		first.over.Store(true)
		by.Poke()
		require.NoError(t, <-ended)
		require.True(t, by.Listens(), "it stays open")

		second := looker{left: -1}
		ctx, leave := context.WithCancel(t.Context())
		ended = s.watchBy(ctx, &second, by, true)
		require.Zero(t, second.looks.Load(), "another has looked for it")
		by.Poke()
		synctest.Wait()
		require.EqualValues(t, 1, second.looks.Load())
		time.Sleep(send.LongestSleep)
		synctest.Wait()
		require.EqualValues(t, 2, second.looks.Load(), "the cap")
		leave()
		require.ErrorIs(t, <-ended, context.Canceled)

		by.Poke() // between two waits
		third := looker{left: -1}
		third.over.Store(true)
		require.NoError(t, <-s.watchBy(t.Context(), &third, by, true))
		require.EqualValues(t, 1, third.looks.Load(), "what was heard meanwhile counts")
		by.Close()
		require.False(t, by.Listens())
	})
}
