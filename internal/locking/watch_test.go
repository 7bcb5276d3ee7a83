package locking

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/wait"
)

// looker is a wait that ends when it is told to, and counts its looks.
type looker struct {
	looks atomic.Int32
	over  atomic.Bool
	left  time.Duration
	slow  time.Duration // what a look that fails takes
	err   atomic.Pointer[error]
}

func (l *looker) look(context.Context) (time.Duration, bool, error) {
	l.looks.Add(1)
	if err := l.err.Load(); err != nil {
		time.Sleep(l.slow)
		return l.left, false, *err
	}
	return l.left, l.over.Load(), nil
}

func (s *fakeServer) watch(ctx context.Context, l *looker, heard func(string) bool) <-chan error {
	ended := make(chan error, 1)
	go func() { // ends with the watch
		ended <- s.e.Watch(ctx, wait.Watch{
			Key: s.Key(), Channels: []pubsub.Channel{s.e.Channel(s.Channel())}, Heard: heard, Look: l.look,
		})
	}()
	synctest.Wait()
	return ended
}

func TestAWatchThatIsDoneAtTheFirstLookSubscribesToNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.set(func() { s.deaf = io.ErrUnexpectedEOF })
		var l looker
		l.over.Store(true)
		require.NoError(t, <-s.watch(t.Context(), &l, nil))
		require.EqualValues(t, 1, l.looks.Load())
	})
}

func TestAWatchLooksWhenItHearsAndOnlyThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		l := looker{left: -1}
		ended := s.watch(t.Context(), &l, func(payload string) bool { return payload == "now" })
		require.EqualValues(t, 2, l.looks.Load(), "before and behind the subscription")
		s.say("later")
		synctest.Wait()
		require.EqualValues(t, 2, l.looks.Load())
		l.over.Store(true)
		s.say("now")
		require.NoError(t, <-ended)
		require.EqualValues(t, 3, l.looks.Load())
	})
}

func TestAWatchLooksWhenWhatIsLeftIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		l := looker{left: 1700 * time.Millisecond}
		ended := s.watch(t.Context(), &l, nil)
		l.over.Store(true)
		require.NoError(t, <-ended)
		require.Equal(t, 1701*time.Millisecond, time.Since(s.started))
	})
}

func TestAWatchThatKnowsNothingLooksEveryFewSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		l := looker{left: -1}
		ended := s.watch(t.Context(), &l, nil)
		time.Sleep(time.Minute)
		require.InDelta(t, 14, l.looks.Load(), 2)
		l.over.Store(true)
		require.NoError(t, <-ended)
	})
}

func TestWhatEndsAWatch(t *testing.T) {
	refusal := errors.New("no such thing")
	for _, of := range []struct {
		title string
		end   func(s *fakeServer, l *looker, cancel func())
		want  error
	}{
		{"its context", func(_ *fakeServer, _ *looker, cancel func()) { cancel() }, context.Canceled},
		{"the client's end", func(s *fakeServer, _ *looker, _ func()) { _ = Close(context.Background(), s.e) }, core.ErrClosed},
		{"an error that will not pass", func(s *fakeServer, l *looker, _ func()) {
			err := errors.Join(core.ErrInvalidArgument, refusal)
			l.err.Store(&err)
			s.say("0")
		}, refusal},
		{"an outage of more than a watchdog timeout", func(_ *fakeServer, l *looker, _ func()) {
			err := io.ErrUnexpectedEOF
			l.err.Store(&err)
		}, io.ErrUnexpectedEOF},
	} {
		t.Run(of.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFake(t)
				l := looker{left: -1}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended := s.watch(ctx, &l, nil)
				of.end(s, &l, cancel)
				require.ErrorIs(t, <-ended, of.want)
			})
		})
	}
}

func TestAWatchOutlastsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		var l looker
		down := io.ErrUnexpectedEOF
		l.err.Store(&down)
		ended := s.watch(t.Context(), &l, nil)
		time.Sleep(20 * time.Second)
		l.over.Store(true)
		l.err.Store(nil)
		require.NoError(t, <-ended)
		require.Less(t, time.Since(s.started), 22*time.Second)
	})
}

// The channels of a bounded queue on a cluster are of both kinds.
// TestASubscriptionThatStandsDoesNotSlowDownWhoMeetsAnOutage: looks that fail slowly
// are one outage also where nothing is heard of its subscriptions.
func TestASubscriptionThatStandsDoesNotSlowDownWhoMeetsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t, func(c *core.Config) { c.WatchdogTimeout = 12 * time.Second })
		l := looker{left: -1, slow: 2*s.e.SendTimeout() + time.Second}
		ended := s.watch(t.Context(), &l, nil)
		silence := errors.New("silence")
		l.err.Store(&silence)
		began := time.Now()
		require.ErrorIs(t, <-ended, silence)
		require.Less(t, time.Since(began), s.e.WatchdogTimeout+4*l.slow)
	})
}

func TestAWatchHearsChannelsOfSeveralKinds(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	e, _ := watching(t, 30*time.Second)
	name := redistest.Name(t)
	both := []pubsub.Channel{{Kind: pubsub.Plain, Name: name}, {Kind: pubsub.Sharded, Name: name}}
	for _, verb := range []string{"PUBLISH", "SPUBLISH"} {
		l := looker{left: -1}
		looked := make(chan struct{}, 10)
		ended := make(chan error, 1)
		go func() { // ends with the watch
			ended <- e.Watch(t.Context(), wait.Watch{
				Key: core.Key{Kind: "queue", Name: name}, Channels: both,
				Heard: func(payload string) bool { return payload == verb },
				Look: func(ctx context.Context) (time.Duration, bool, error) {
					defer func() { looked <- struct{}{} }()
					return l.look(ctx)
				},
			})
		}()
		<-looked
		if verb == "PUBLISH" {
			<-looked // else the subscriptions of the first round stand still
		}
		l.over.Store(true)
		c := server.Client(t)
		require.NoError(t, c.Do(t.Context(), c.B().Arbitrary(verb).Args(name, verb).Build()).Error())
		require.NoError(t, <-ended)
	}
}
