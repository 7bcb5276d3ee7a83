package reliable

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

type handler = func(ctx context.Context, m *Message[string]) error

// serves runs Serve until stop, which returns its error.
func (r *rig) serves(h handler, opts ...ServeOption) (stop func() error) {
	ctx, cancel := context.WithCancel(r.t.Context())
	end := make(chan error, 1)
	go func() { end <- r.Serve(ctx, h, opts...) }()
	stop = sync.OnceValue(func() error { cancel(); return <-end })
	r.t.Cleanup(func() { _ = stop() })
	return stop
}

func TestServeHandlesEverythingOnce(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		n := redistest.Count(t, 1000, 20_000)
		values := make([]string, n)
		for i := range values {
			values[i] = strconv.Itoa(i)
		}
		var most, now, all atomic.Int64
		h := func(_ context.Context, m *Message[string]) error {
			is := now.Add(1)
			for old := most.Load(); is > old && !most.CompareAndSwap(old, is); old = most.Load() {
			}
			all.Add(1)
			if all.Load()%7 == 0 {
				runtime.Gosched()
			}
			now.Add(-1)
			return nil
		}
		stops := []func() error{r.serves(h, WithConcurrency(8), WithPrefetch(8)), r.other().serves(h, WithConcurrency(8))}
		_, err := r.AddAll(t.Context(), values)
		require.NoError(t, err)
		redistest.Eventually(t, func() bool { return r.counter("acked") == int64(n) }, soon, time.Millisecond)
		for _, stop := range stops {
			require.NoError(t, stop())
		}
		require.EqualValues(t, n, all.Load())
		require.LessOrEqual(t, most.Load(), int64(16))
		r.leaves()
	})
}

func TestWhatAHandlerReturns(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		var tries sync.Map
		broken := errors.New("broken")
		stop := r.serves(func(ctx context.Context, m *Message[string]) error {
			n, _ := tries.LoadOrStore(m.Value, new(atomic.Int64))
			attempt := n.(*atomic.Int64).Add(1)
			if int(attempt) != m.Attempt {
				t.Errorf("%s: attempt %d is called %d", m.Value, attempt, m.Attempt)
			}
			switch {
			case m.Value == "discard":
				return Discard(broken)
			case m.Value == "poison":
				panic("poison")
			case m.Value == "goes":
				runtime.Goexit()
			case m.Value == "acks":
				return m.Ack(ctx)
			case m.Value == "in" && attempt == 1:
				return RetryIn(broken, 5*time.Millisecond)
			case m.Value == "twice" && attempt < 3:
				return broken
			}
			return nil
		}, WithConcurrency(3), WithMaxAttempts(3), WithBackoff(func(n int) time.Duration { return time.Duration(n) * time.Millisecond }))
		for _, v := range []string{"discard", "poison", "goes", "acks", "in", "twice", "plain"} {
			r.adds(v)
		}
		redistest.Eventually(t, func() bool { return r.counter("acked") == 4 && r.counter("dead") == 3 }, soon, time.Millisecond)
		require.NoError(t, stop())
		causes := map[string]string{}
		for info, err := range r.Messages(t.Context(), Dead) {
			require.NoError(t, err)
			v, err := r.Decode(info)
			require.NoError(t, err)
			causes[v] = info.Cause
			require.Equal(t, Dead, info.State)
			want := 3
			if v == "discard" {
				want = 1
			}
			require.Equal(t, want, info.Attempts, v)
		}
		require.Equal(t, map[string]string{"discard": "broken", "poison": "panic: poison", "goes": errGone.Error()}, causes)
	})
}

func TestServeEndsWithItsHandlers(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		began, end := make(chan struct{}), make(chan struct{})
		stop := r.serves(func(ctx context.Context, m *Message[string]) error {
			began <- struct{}{}
			<-end
			return ctx.Err()
		}, WithConcurrency(1), WithPrefetch(2))
		for _, v := range []string{"a", "b", "c", "d"} {
			r.adds(v)
		}
		redistest.Done(t, began)
		redistest.Eventually(t, func() bool {
			n, err := asInt(r.do("ZCARD", r.part("lease")))
			return err == nil && n == 3
		}, soon, time.Millisecond)
		done := make(chan error)
		go func() { done <- stop() }()
		redistest.Eventually(t, func() bool { // what no handler has seen goes back
			n, err := asInt(r.do("ZCARD", r.part("lease")))
			return err == nil && n == 1
		}, soon, time.Millisecond)
		close(end)
		require.NoError(t, redistest.Done(t, done))
		left := map[string]bool{} // in any order: one may just have been on its way
		for _, m := range collect(t, r, 3) {
			require.Equal(t, 1, m.Attempt)
			left[m.Value] = true
		}
		require.Equal(t, map[string]bool{"b": true, "c": true, "d": true}, left)
		r.leaves()
	})
}

func TestAHandlerThatReturnsAfterServe(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		began, end := make(chan struct{}), make(chan struct{})
		stop := r.serves(func(ctx context.Context, m *Message[string]) error {
			close(began)
			<-ctx.Done()
			<-end
			return nil
		}, WithGrace(10*time.Millisecond))
		id := r.adds("a")
		redistest.Done(t, began)
		err := stop()
		require.ErrorContains(t, err, strconv.FormatInt(id, 10))
		info, err := r.Find(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, Running, info.State)
		close(end)
		redistest.Eventually(t, func() bool { return r.counter("acked") == 1 }, soon, time.Millisecond)
		r.leaves()
	})
}

func TestHandlersThatAreSlowerThanTheLeaseKeepTheirMessages(t *testing.T) {
	t.Parallel()
	onServersTogether(t, func(t *testing.T, r *rig) {
		const n = 40
		var lost, all atomic.Int64
		stop := r.serves(func(ctx context.Context, m *Message[string]) error {
			all.Add(1)
			select {
			case <-ctx.Done():
				lost.Add(1)
			case <-time.After(5 * time.Second):
			}
			return nil
		}, WithConcurrency(n/2), WithLease(4*time.Second))
		for i := range n {
			r.adds(strconv.Itoa(i))
		}
		redistest.Eventually(t, func() bool { return r.counter("acked") == n }, soon, time.Millisecond)
		require.NoError(t, stop())
		require.Zero(t, lost.Load())
		require.EqualValues(t, n, all.Load())
	})
}

func TestBadInputToServe(t *testing.T) {
	t.Parallel()
	r := rigOn(t, redistest.Shared(t).Client(t))
	h := func(context.Context, *Message[string]) error { return nil }
	require.ErrorIs(t, r.Serve(t.Context(), nil), ErrInvalidArgument)
	for _, opt := range []ServeOption{
		nil, WithConcurrency(0), WithPrefetch(-1), WithGrace(-1), WithLease(0), WithMaxAttempts(0), WithBackoff(nil), WithConcurrency(1 << 30),
	} {
		require.ErrorIs(t, r.Serve(t.Context(), h, opt), ErrInvalidArgument)
	}
	require.NoError(t, RetryIn(nil, time.Second))
	require.NoError(t, Discard(nil))
	r.do("SET", r.part("ready"), "text")
	require.ErrorContains(t, r.Serve(t.Context(), h), "another type")
}
