package reliable

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestPauseKeepsWhatIsPrefetchedFromBeginning: it goes back, in its order, and comes when the pause is over.
func TestPauseKeepsWhatIsPrefetchedFromBeginning(t *testing.T) {
	t.Parallel()
	onServersTogether(t, func(t *testing.T, r *rig) {
		began, next := make(chan string, 10), make(chan struct{})
		stop := r.serves(func(_ context.Context, m *Message[string]) error {
			began <- m.Value
			<-next
			return nil
		}, WithConcurrency(1), WithPrefetch(3))
		for _, v := range []string{"a", "b", "c", "d"} {
			r.adds(v)
		}
		running := func(n int64) func() bool {
			return func() bool { s, err := r.Stats(t.Context()); return err == nil && s.Running == n }
		}
		redistest.Eventually(t, running(4), soon, time.Millisecond)
		require.Equal(t, "a", redistest.Done(t, began))
		require.NoError(t, r.Pause(t.Context(), 0))
		time.Sleep(time.Second) // what the promise allows
		next <- struct{}{}
		redistest.Eventually(t, running(0), soon, time.Millisecond)
		require.Empty(t, began)
		s, err := r.Stats(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 3, s.Ready)
		require.NoError(t, r.Resume(t.Context()))
		for _, v := range []string{"b", "c", "d"} {
			require.Equal(t, v, redistest.Done(t, began))
			next <- struct{}{}
		}
		redistest.Eventually(t, func() bool { return r.counter("acked") == 4 }, soon, time.Millisecond)
		require.NoError(t, stop())
		r.leaves()
	})
}

// TestServePrefetchesNothingByDefault: what no handler is free for stays with the queue.
func TestServePrefetchesNothingByDefault(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		began, end := make(chan struct{}, 10), make(chan struct{})
		stop := r.serves(func(context.Context, *Message[string]) error {
			began <- struct{}{}
			<-end
			return nil
		}, WithConcurrency(2))
		_, err := r.AddAll(t.Context(), make([]string, 5))
		require.NoError(t, err)
		redistest.Done(t, began)
		redistest.Done(t, began)
		s, err := r.Stats(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2, s.Running)
		require.EqualValues(t, 3, s.Ready)
		close(end)
		redistest.Eventually(t, func() bool { return r.counter("acked") == 5 }, soon, time.Millisecond)
		require.NoError(t, stop())
	})
}

// TestLogOfACancelledMessageSaysSo, and not that it may be handled again.
func TestLogOfACancelledMessageSaysSo(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		said := new(enginetest.Log)
		other := &rig{t: t, raw: r.raw, e: engineOn(t, r.raw, func(c *core.Config) { c.Logger = slog.New(slog.NewTextHandler(said, nil)) })}
		other.Queue = New[string](other.e, r.name)
		c := other.consumer(other.policy)
		defer other.done(c)
		began := make(chan struct{})
		stop := other.serves(func(ctx context.Context, _ *Message[string]) error {
			close(began)
			<-ctx.Done()
			return nil
		})
		redistest.Eventually(t, func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.cancels != nil
		}, soon, time.Millisecond)
		id := r.adds("a")
		redistest.Done(t, began)
		require.NoError(t, r.Cancel(t.Context(), id))
		redistest.Eventually(t, func() bool { return bytes.Contains([]byte(said.String()), []byte("a message was cancelled")) }, soon, time.Millisecond)
		require.NotContains(t, said.String(), "may be again")
		require.NoError(t, stop())
	})
}

// TestMessageThatWasCancelledIsLoggedAsThatWhereOnlyARenewalTold: the word of the channel did not get through.
func TestMessageThatWasCancelledIsLoggedAsThatWhereOnlyARenewalTold(t *testing.T) {
	t.Parallel()
	onServersTogether(t, func(t *testing.T, r *rig) {
		said := new(enginetest.Log)
		other := &rig{t: t, raw: r.raw, e: engineOn(t, r.raw, func(c *core.Config) { c.Logger = slog.New(slog.NewTextHandler(said, nil)) })}
		other.Queue = New[string](other.e, r.name, WithLease(3*time.Second))
		began, ends := make(chan struct{}), make(chan error, 1)
		var first sync.Once
		stop := other.serves(func(ctx context.Context, _ *Message[string]) error {
			first.Do(func() { close(began) })
			<-ctx.Done()
			ends <- context.Cause(ctx)
			return context.Cause(ctx)
		})
		id := r.adds("a")
		redistest.Done(t, began)
		code, err := requested(t.Context(), r.Queue, removeScript, oneText, []string{anyState, "nobody listens", r.e.Publish(), r.of.done, decimal(id)})
		require.NoError(t, err)
		require.Equal(t, "2", code)
		require.ErrorIs(t, redistest.Done(t, ends), ErrLost)
		require.NoError(t, stop())
		require.Contains(t, said.String(), "was cancelled")
		require.NotContains(t, said.String(), "may be again")
		_, err = r.Find(t.Context(), id)
		require.ErrorIs(t, err, ErrNotFound)
		r.leaves()
	})
}
