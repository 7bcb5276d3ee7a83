package reliable

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// beside is another queue of the same client.
func (r *rig) beside(name string, opts ...Option) *rig {
	other := *r
	other.Queue = New[string](r.e, r.name+name, opts...)
	return &other
}

// fills adds n messages of that value.
func (r *rig) fills(v string, n int) {
	r.t.Helper()
	values := make([]string, n)
	for i := range values {
		values[i] = v
	}
	_, err := r.AddAll(r.t.Context(), values)
	require.NoError(r.t, err)
}

// servesAll serves in the background. stop ends it and returns its error.
func servesAll(t *testing.T, n int, queues ...Served) (stop func() error) {
	return servesFor(t, n, askPatience, queues)
}

// servesInOrder is servesAll where no queue is passed over for an answer that is slow.
func servesInOrder(t *testing.T, n int, queues ...Served) (stop func() error) {
	return servesFor(t, n, soon, queues)
}

func servesFor(t *testing.T, n int, patience time.Duration, queues []Served) (stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serveAll(ctx, n, patience, queues) }()
	var once sync.Once
	var err error
	stop = func() error {
		once.Do(func() {
			cancel()
			err = <-ended
		})
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

// noting is a handler that writes down what it handles.
type noting struct {
	mu  sync.Mutex
	all []string
}

func (n *noting) handle(_ context.Context, m *Message[string]) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, m.Value)
	return nil
}

func (n *noting) told() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.all...)
}

// TestServeAllServesTheFirstQueueFirst.
func TestServeAllServesTheFirstQueueFirst(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		first, second := r.beside("1"), r.beside("2")
		second.fills("second", 5)
		first.fills("first", 5)
		n := &noting{}
		stop := servesInOrder(t, 1, first.With(n.handle), second.With(n.handle))
		redistest.Eventually(t, func() bool { return len(n.told()) == 10 }, soon, time.Millisecond)
		want := []string{"first", "first", "first", "first", "first", "second", "second", "second", "second", "second"}
		require.Equal(t, want, n.told())
		require.NoError(t, stop())
		first.leaves()
		second.leaves()
	})
}

// TestServeAllServesByWeight, and what stands before it first.
func TestServeAllServesByWeight(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		urgent, a, b := r.beside("urgent"), r.beside("a"), r.beside("b")
		a.fills("a", 40)
		b.fills("b", 40)
		urgent.fills("urgent", 3)
		n := &noting{}
		stop := servesInOrder(t, 4, urgent.With(n.handle), Weighted(a.With(n.handle), 3), Weighted(b.With(n.handle), 1))
		redistest.Eventually(t, func() bool { return len(n.told()) == 83 }, soon, time.Millisecond)
		require.NoError(t, stop())
		of := map[string]int{}
		for _, v := range n.told()[:40] {
			of[v]++
		}
		require.Equal(t, 3, of["urgent"])
		require.InDelta(t, 28, of["a"], 7)
		require.InDelta(t, 9, of["b"], 7)
		for _, q := range []*rig{urgent, a, b} {
			q.leaves()
		}
	})
}

// TestServeAllHandlesNoMoreThanItHasHandlers, each message once, under a flow of several queues and beside another process.
func TestServeAllHandlesNoMoreThanItHasHandlers(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		const handlers = 3
		each := redistest.Count(t, 90, 300)
		var now, most, done atomic.Int64
		h := func(context.Context, *Message[string]) error {
			is := now.Add(1)
			for old := most.Load(); is > old && !most.CompareAndSwap(old, is); old = most.Load() {
			}
			now.Add(-1)
			done.Add(1)
			return nil
		}
		queues := []*rig{r.beside("1"), r.beside("2"), r.beside("3")}
		stop := servesAll(t, handlers, queues[0].With(h), queues[1].With(h), Weighted(queues[2].With(h), 2))
		var all sync.WaitGroup
		for i, q := range queues {
			all.Go(func() {
				for range each / 10 {
					q.fills("v", 10)
				}
			})
			if i == 1 {
				other := q.other().serves(func(context.Context, *Message[string]) error { done.Add(1); return nil })
				defer func() { require.NoError(t, other()) }()
			}
		}
		all.Wait()
		redistest.Eventually(t, func() bool { return done.Load() == int64(3*each) }, soon, time.Millisecond)
		require.LessOrEqual(t, most.Load(), int64(handlers))
		require.NoError(t, stop())
		for _, q := range queues {
			redistest.Eventually(t, func() bool { return q.counter("acked") == int64(each) }, soon, time.Millisecond)
			require.Zero(t, q.counter("ranout"))
			q.leaves()
		}
	})
}

// TestServeAllIsToldOfMessages of each of its queues while it waits.
func TestServeAllIsToldOfMessages(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		queues := []*rig{r.beside("1"), r.beside("2")}
		got := make(chan string, 10)
		h := func(_ context.Context, m *Message[string]) error { got <- m.Value; return nil }
		stop := servesAll(t, 1, queues[0].With(h), queues[1].With(h))
		redistest.Within(t, mostWait/2, func() (longest time.Duration) {
			for _, q := range queues {
				q.awaitIdle(1)
			}
			for i := range 10 {
				began := time.Now()
				queues[i%2].adds("v")
				redistest.Done(t, got)
				longest = max(longest, time.Since(began))
			}
			return longest
		})
		require.NoError(t, stop())
	})
}

// TestServeAllHoldsToPausesLimitersAndBounds of each queue.
func TestServeAllHoldsToPausesLimitersAndBounds(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		paused, limited, bounded, plain := r.beside("paused"), r.beside("limited"), r.beside("bounded"), r.beside("plain")
		for _, q := range []*rig{paused, limited, bounded, plain} {
			q.fills("v", 3)
		}
		require.NoError(t, paused.Pause(t.Context(), 0))
		turns := &countingLimiter{turns: make(chan struct{}, 3)}
		turns.turns <- struct{}{}
		n := &noting{}
		var at atomic.Int64
		gate := make(chan struct{})
		holds := func(ctx context.Context, m *Message[string]) error {
			at.Add(1)
			<-gate
			return nil
		}
		limit := &noting{}
		stop := servesAll(t, 10, paused.With(n.handle), limited.With(limit.handle, WithLimiter(turns)),
			bounded.With(holds, WithConcurrency(2)), plain.With(n.handle))
		redistest.Eventually(t, func() bool { return len(n.told()) == 3 && at.Load() == 2 && len(limit.told()) == 1 }, soon, time.Millisecond)
		require.EqualValues(t, 3, paused.counter("added")-paused.counter("acked"))
		s, err := limited.Stats(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2, s.Ready, "without a turn they stay with the queue")
		s, err = bounded.Stats(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, s.Ready)
		turns.turns <- struct{}{}
		turns.turns <- struct{}{}
		require.NoError(t, paused.Resume(t.Context()))
		close(gate)
		redistest.Eventually(t, func() bool { return len(n.told()) == 6 && at.Load() == 3 && len(limit.told()) == 3 }, soon, time.Millisecond)
		require.NoError(t, stop())
	})
}

// countingLimiter gives the turns that it was given.
type countingLimiter struct{ turns chan struct{} }

func (l *countingLimiter) Wait(ctx context.Context) error {
	select {
	case <-l.turns:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestServeAllEndsWithAQueueThatCannotBeServed.
func TestServeAllEndsWithAQueueThatCannotBeServed(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		h := (&noting{}).handle
		good, wrong, other := r.beside("good"), r.beside("wrong"), r.beside("other")
		ctx, cancel := timeout(t)
		defer cancel()
		if !strings.HasSuffix(t.Name(), "miniredis") { // which does not tell types apart everywhere
			wrong.do("SET", wrong.part("lease"), "x")
			require.ErrorContains(t, ServeAll(ctx, 2, good.With(h), wrong.With(h)), "another type")
			require.NoError(t, ctx.Err())
		}
		other.with(WithMaxAttempts(3))
		require.NoError(t, New[string](r.e, other.name, WithMaxAttempts(3)).SetTerms(ctx))
		require.ErrorIs(t, ServeAll(ctx, 2, good.With(h), other.With(h, WithMaxAttempts(4))), ErrOtherTerms)
		for _, queues := range [][]Served{
			nil, {nil}, {good.With(nil)}, {good.With(h, nil)}, {Weighted(good.With(h), 0)}, {Weighted(nil, 1)}, {(*Queue[string])(nil).With(h)},
			{good.With(h), New[string](r.e, "").With(h)},
		} {
			require.ErrorIs(t, ServeAll(ctx, 1, queues...), ErrInvalidArgument)
		}
		require.ErrorIs(t, ServeAll(ctx, 0, good.With(h)), ErrInvalidArgument)
		var none context.Context
		require.ErrorIs(t, ServeAll(none, 1, good.With(h)), ErrInvalidArgument)
	})
}

// TestServeAllEndsGracefully: handlers end, what no handler has seen goes back, and what handlers have failed is tried again.
func TestServeAllEndsGracefully(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		queues := []*rig{r.beside("1"), r.beside("2")}
		for _, q := range queues {
			q.fills("v", 5)
		}
		began, gate := make(chan struct{}, 10), make(chan struct{})
		h := func(context.Context, *Message[string]) error {
			began <- struct{}{}
			<-gate
			return nil
		}
		stop := servesAll(t, 6, queues[0].With(h), queues[1].With(h, WithGrace(time.Minute)))
		for range 6 {
			redistest.Done(t, began)
		}
		ended := make(chan error)
		go func() { ended <- stop() }()
		close(gate)
		require.NoError(t, redistest.Done(t, ended))
		s, err := queues[1].Stats(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 4, s.Ready)
		require.Zero(t, s.Running)

		slow := queues[1].With(func(ctx context.Context, _ *Message[string]) error {
			began <- struct{}{}
			<-ctx.Done()
			return errors.New("too slow")
		}, WithGrace(time.Millisecond))
		stop = servesAll(t, 1, slow)
		redistest.Done(t, began)
		require.ErrorContains(t, stop(), "have not ended")
	})
}

// TestServeAllServesTheOthersWhileAServerIsSilent: the first queue is of another client, whose server does not answer. It is served
// again when that does.
func TestServeAllServesTheOthersWhileAServerIsSilent(t *testing.T) {
	t.Parallel()
	silent := redistest.Start(t)
	first, second := rigOn(t, silent.Client(t)), rigOn(t, redistest.Shared(t).Client(t))
	n := &noting{}
	stop := servesAll(t, 2, first.With(n.handle), second.With(n.handle))
	first.adds("first")
	redistest.Eventually(t, func() bool { return len(n.told()) == 1 }, soon, time.Millisecond)
	silent.Pause()
	second.fills("second", 10)
	redistest.Eventually(t, func() bool { return len(n.told()) == 11 }, soon, time.Millisecond)
	second.fills("second", 10)
	redistest.Eventually(t, func() bool { return len(n.told()) == 21 }, soon, time.Millisecond)
	silent.Resume()
	first.adds("again")
	redistest.Eventually(t, func() bool { return len(n.told()) == 22 }, soon, time.Millisecond)
	require.NoError(t, stop())
}

// TestServeAllServesTheFirstQueueFirstWhereATakeGetsLessThanItAskedFor: its messages are large, or its terms are not known yet.
func TestServeAllServesTheFirstQueueFirstWhereATakeGetsLessThanItAskedFor(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		first, second := r.beside("1"), r.beside("2")
		require.NoError(t, r.other().beside("1", WithMaxAttempts(7)).SetTerms(t.Context()))
		first.fills(strings.Repeat("1", 700_000), 3)
		second.fills("2", 3)
		began, gate := make(chan string, 6), make(chan struct{})
		h := func(_ context.Context, m *Message[string]) error {
			began <- m.Value[:1]
			<-gate
			return nil
		}
		stop := servesInOrder(t, 3, first.With(h), second.With(h))
		for range 3 {
			require.Equal(t, "1", redistest.Done(t, began))
		}
		close(gate)
		for range 3 {
			require.Equal(t, "2", redistest.Done(t, began))
		}
		require.NoError(t, stop())
		first.leaves()
		second.leaves()
	})
}
