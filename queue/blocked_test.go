package queue

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestATakeWhoseCallerHasGone says in the log that there may be a loss: the caller knows only that ctx has ended.
func TestATakeWhoseCallerHasGone(t *testing.T) {
	t.Parallel()
	for what, take := range map[string]func(ctx context.Context, q *Queue[string]) error{
		"take": func(ctx context.Context, q *Queue[string]) error { _, err := q.Take(ctx); return err },
		"take any": func(ctx context.Context, q *Queue[string]) error {
			_, _, err := TakeAny(ctx, q, New[string](q.q.h.e, q.Name()+"-other", WithCodec(codec.Text)))
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			client, proxy := through(t, server)
			log := new(enginetest.Log)
			q := New[string](engineOn(t, client, log.To), named(t, server.Client(t)), WithCodec(codec.Text))
			offered(t, New[string](engineOn(t, server.Client(t)), q.Name(), WithCodec(codec.Text)), "a")
			lost := proxy.DropReply(redistest.All(redistest.Command("LPOP", "LMPOP"), redistest.Arg(q.Name())), 1, redistest.Silent())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- take(ctx, q) }()
			lost.Await(t)
			cancel()
			require.ErrorIs(t, redistest.Done(t, ended), context.Canceled)
			redistest.Eventually(t, func() bool { return strings.Contains(log.String(), "an element may be lost") }, soon, time.Millisecond)
			require.Contains(t, log.String(), q.Name())
		})
	}
}

// TestATakeWhoseAnswerIsLost waits on, and says that there may be a loss.
func TestATakeWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := through(t, server)
	log := new(enginetest.Log)
	q := New[string](engineOn(t, client, shortSends, log.To), named(t, server.Client(t)), WithCodec(codec.Text))
	offered(t, q, "a")
	lost := proxy.DropReply(redistest.All(redistest.Command("LPOP"), redistest.Arg(q.Name())), 1)
	result := make(chan string)
	go func() {
		v, err := q.Take(t.Context())
		assert.NoError(t, err)
		result <- v
	}()
	lost.Await(t)
	untilWaiting(t, q, head.kind)
	require.Contains(t, log.String(), "an element may be lost")
	require.Contains(t, log.String(), q.Name())
	offered(t, q, "b")
	require.Equal(t, "b", <-result)
}

// TestACloseTellsWhatItCouldNotPutBack.
func TestACloseTellsWhatItCouldNotPutBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, proxy := through(t, server)
	log := new(enginetest.Log)
	e := engineOn(t, client, shortSends, log.To)
	q := New[string](e, redistest.Name(t), WithCodec(codec.Text))
	offered(t, q, "a")
	proxy.Refuse()
	proxy.CutAll()
	e.During(func() { q.q.h.putBack(head, q.q.Key, []poller.Item{{Text: "b"}}) })
	require.NoError(t, locking.Close(t.Context(), e))
	require.Contains(t, log.String(), "giving back ends")
	require.Contains(t, log.String(), "the client was closed")
	require.Contains(t, log.String(), q.Name())
	proxy.Accept()
}
