package reliable

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// turns is a limiter that gives one when it is told.
type turns struct {
	mu    sync.Mutex
	asked int
	next  chan error
}

func (l *turns) Wait(ctx context.Context) error {
	l.mu.Lock()
	l.asked++
	l.mu.Unlock()
	select {
	case err := <-l.next:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *turns) times() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

// TestLimiterIsAskedBeforeAMessageIsTaken: what has to wait is ready, and another consumer may have it.
func TestLimiterIsAskedBeforeAMessageIsTaken(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		l, handled := &turns{next: make(chan error)}, make(chan string, 10)
		for _, v := range []string{"a", "b", "c"} {
			r.adds(v)
		}
		stop := r.serves(func(_ context.Context, m *Message[string]) error { handled <- m.Value; return nil }, WithLimiter(l), WithPrefetch(9))
		l.next <- nil
		require.Equal(t, "a", redistest.Done(t, handled))
		redistest.Eventually(t, func() bool { return l.times() == 2 && r.counter("acked") == 1 }, soon, time.Millisecond)
		s, err := r.Stats(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2, s.Ready)
		require.Zero(t, s.Running)
		r.other().acks("b")
		l.next <- nil
		require.Equal(t, "c", redistest.Done(t, handled))
		l.next <- nil
		redistest.Eventually(t, func() bool { return r.counter("acked") == 3 }, soon, time.Millisecond)
		time.Sleep(20 * time.Millisecond)
		require.Equal(t, 3, l.times(), "one turn is in hand, and no more are asked for")
		r.adds("d")
		require.Equal(t, "d", redistest.Done(t, handled))
		require.NoError(t, stop())
		r.leaves()
	})
}

// TestLimiterThatFailsEndsServe, since it would give no turn later either.
func TestLimiterThatFailsEndsServe(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		h := func(context.Context, *Message[string]) error { return nil }
		require.ErrorIs(t, r.Serve(t.Context(), h, WithLimiter(nil)), ErrInvalidArgument)
		l, never := &turns{next: make(chan error, 1)}, errors.New("burst is 0")
		l.next <- never
		require.ErrorIs(t, r.Serve(t.Context(), h, WithLimiter(l)), never)
	})
}
