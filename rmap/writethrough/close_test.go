package writethrough

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestACloseThatGivesUpLeavesTheRestToOthers: the writer is not called any more,
// and nobody has to wait for the hold of who called it.
func TestACloseThatGivesUpLeavesTheRestToOthers(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	name := maptest.CacheNamed(t, raw)
	calls, down := atomic.Int64{}, errors.New("down")
	w := New(rmap.New[string, int](maptest.EngineOn(t, raw), name), func(context.Context, []Change[string, int]) error {
		calls.Add(1)
		return down
	}, ways["behind"]...)
	require.NoError(t, w.Put(t.Context(), "k", 1))
	redistest.Eventually(t, func() bool { return calls.Load() > 0 }, maptest.Soon, time.Millisecond)
	counted := 0
	for wait := 10 * time.Millisecond; counted < 2; wait *= 2 { // the second call waits, too
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		err := w.Close(ctx)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		if strings.Contains(err.Error(), "1 changes") { // it had the time to look
			counted++
		}
	}
	called := calls.Load()
	s := newBehindMap()
	next := New(rmap.New[string, int](maptest.EngineOn(t, raw), name), s.write, ways["behind"]...)
	require.NoError(t, next.Close(t.Context()))
	require.Equal(t, map[string]int{"k": 1}, s.now())
	require.Equal(t, called, calls.Load(), "the writer of the one that was closed")
	require.NoError(t, w.Close(t.Context()), "now there is nothing left")
}

// TestACloseThatIsRefusedForGood does not wait for it to be over.
func TestACloseThatIsRefusedForGood(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	name := maptest.CacheNamed(t, raw)
	w := New(rmap.New[string, int](maptest.EngineOn(t, raw), name), newBehindMap().write, ways["behind"]...)
	require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(keys.MapWrites(name)).Value("no stream").Build()).Error())
	require.ErrorContains(t, w.Close(t.Context()), "WRONGTYPE")
	raw.Do(t.Context(), raw.B().Del().Key(keys.MapWrites(name)).Build())
}

// TestWhoHasClosedWritesNothingOfOthers, though they go on.
func TestWhoHasClosedWritesNothingOfOthers(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	name := maptest.CacheNamed(t, raw)
	first, second := newBehindMap(), newBehindMap()
	w := New(rmap.New[string, int](maptest.EngineOn(t, raw), name), first.write, WithBehind(10), WithWriteDelay(50*time.Millisecond))
	other := New(rmap.New[string, int](maptest.EngineOn(t, raw), name), second.write, ways["behind"]...)
	require.NoError(t, w.Put(t.Context(), "k", 1))
	require.NoError(t, w.Close(t.Context()))
	require.NoError(t, other.Put(t.Context(), "l", 2)) // while the other one waits for what comes
	require.NoError(t, other.Close(t.Context()))
	require.Equal(t, map[string]int{"k": 1}, first.now())
	require.Equal(t, map[string]int{"l": 2}, second.now())
}

// TestCloseWaitsForWhatWasQueued when it was called, and not for what others go on
// to queue.
func TestCloseWaitsForWhatWasQueued(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	name := maptest.CacheNamed(t, raw)
	s := newBehindMap()
	other := New(rmap.New[string, int](maptest.EngineOn(t, raw), name), s.write, ways["behind"]...)
	w := New(rmap.New[string, int](maptest.EngineOn(t, raw), name), s.write, ways["behind"]...)
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
				if err := other.Put(context.Background(), "l", 2); err != nil {
					stopped <- err
					return
				}
			}
		}
	}()
	require.NoError(t, w.Put(t.Context(), "k", 1))
	ctx, cancel := context.WithTimeout(t.Context(), maptest.Soon)
	defer cancel()
	require.NoError(t, w.Close(ctx))
	require.Equal(t, 1, s.now()["k"])
	close(stop)
	require.NoError(t, <-stopped)
	require.NoError(t, other.Close(t.Context()))
	left, err := raw.Do(t.Context(), raw.B().Exists().Key(keys.MapWrites(name)).Build()).AsInt64()
	require.NoError(t, err)
	require.Zero(t, left)
}

// TestAChangeThatComesAsAWritingClosesHasNobodyDrain with the writer of that one.
func TestAChangeThatComesAsAWritingClosesHasNobodyDrain(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	w := New(rmap.New[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw)), newBehindMap().write, ways["behind"]...)
	w.drain.mu.Lock()
	came := make(chan struct{})
	go func() {
		w.drains()
		close(came)
	}()
	redistest.Eventually(t, func() bool { return len(w.drain.news) == 1 }, maptest.Soon, time.Millisecond) // it has not seen a Close
	w.drain.closed.Store(true)
	w.drain.mu.Unlock()
	<-came
	w.drain.mu.Lock()
	defer w.drain.mu.Unlock()
	require.Nil(t, w.drain.stop)
}
