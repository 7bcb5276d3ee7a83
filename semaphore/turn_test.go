package semaphore

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// TestSemaphoreWithFleetOrderWaitThatEndsWithoutATurnTellsWhy: the turn was lost, and
// the caller's wait ends before it queues again.
func TestSemaphoreWithFleetOrderWaitThatEndsWithoutATurnTellsWhy(t *testing.T) {
	t.Parallel()
	type waiter struct {
		queue    *fleetQueue
		wait     func(ctx context.Context) error
		answered func() bool // that there are too few
	}
	permits := func(r *rig) waiter {
		s := NewPermits(r.E, r.of.key, WithFleetOrder())
		var p *Permit
		return waiter{s.plain.order, s.waiting(terms{n: 1}, &p), func() bool {
			room := s.i.places.Get(s.of.key)
			defer s.i.places.Put(s.of.key, room)
			return room.end(errWaitOver) != errWaitOver
		}}
	}
	plain := func(r *rig) waiter {
		s := New(r.E, r.of.key, WithFleetOrder())
		return waiter{s.order, func(ctx context.Context) error { return s.h.acquire(ctx, s.of, 1) }, func() bool {
			p := s.h.places.Get(s.of.key)
			defer s.h.places.Put(s.of.key, p)
			return p.end(errWaitOver) != errWaitOver
		}}
	}
	for name, c := range map[string]struct {
		of    func(r *rig) waiter
		cause error
		want  error
	}{
		"a cancelled wait":             {plain, nil, context.Canceled},
		"a wait that is over":          {plain, errWaitOver, ErrNotAcquired},
		"a cancelled wait, permits":    {permits, nil, context.Canceled},
		"a wait that is over, permits": {permits, errWaitOver, ErrNotAcquired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t).set(0)
			w := c.of(r)
			ctx, leave := context.WithCancelCause(t.Context())
			lead := func() (*lock.Hold, error) { return w.queue.line.TryLock(ctx) }
			err := w.queue.inTurn(ctx, lead, func(turn context.Context) error {
				turn, pass := context.WithCancelCause(turn)
				waits := make(chan error, 1)
				go func() { waits <- w.wait(turn) }() // ends with the turn
				redistest.Eventually(t, w.answered, soon, time.Millisecond)
				pass(errPassedOver)
				err := redistest.Done(t, waits)
				leave(c.cause)
				return err
			})
			require.ErrorIs(t, err, c.want)
			require.NotErrorIs(t, err, errPassedOver)
		})
	}
}
