package locktest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/lock"
)

var waiting = map[string]func(*testing.T, Suite){
	"a waiter of another process is woken by the unlock": func(t *testing.T, s Suite) {
		here, there := s.pair(t, long)
		wakes(t, Take(t, here), there)
	},
	"a waiter of the same process is woken by the unlock": func(t *testing.T, s Suite) {
		l, other := s.within(t, long)
		wakes(t, Take(t, l), other)
	},
	"a try that waits gets a lock that is freed in time": func(t *testing.T, s Suite) {
		here, there := s.pair(t, long)
		hold := Take(t, here)
		got := make(chan error, 1)
		go func() { // ends when the wait does
			second, err := there.TryLock(context.Background(), lock.WithWait(15*time.Second))
			if err == nil {
				err = second.Unlock(context.Background())
			}
			got <- err
		}()
		Unlock(t, hold)
		require.NoError(t, <-got)
	},
	"a try that waits in vain is not acquired": func(t *testing.T, s Suite) {
		held, others := s.rivals(t, long)
		defer Unlock(t, Take(t, held))
		for _, l := range others {
			_, err := l.TryLock(Bounded(t), lock.WithWait(inVain))
			require.ErrorIs(t, err, lock.ErrNotAcquired)
			require.NotErrorIs(t, err, context.DeadlineExceeded, "the caller's own context has not ended")
		}
	},
	"a try that nobody answers in its wait is no refusal": func(t *testing.T, s Suite) {
		p, silence, restore := s.Mute(t, long)
		name := s.Name(t)
		l := p.Locker(name)
		Unlock(t, Take(t, l)) // its connections are there
		silence()
		began := time.Now()
		_, err := l.TryLock(Bounded(t), lock.WithWait(short))
		took := time.Since(began)
		restore()
		require.Error(t, err)
		require.NotErrorIs(t, err, lock.ErrNotAcquired, "nobody has seen that it is held")
		require.Less(t, took, 5*time.Second)
		Unlock(t, Take(t, rival(s.Start(t, long), name)))
	},
	"a context that ends the wait is returned with its cause": func(t *testing.T, s Suite) {
		held, others := s.rivals(t, long)
		defer Unlock(t, Take(t, held))
		because := errors.New("because")
		for _, l := range others {
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(60*time.Millisecond, func() { cancel(because) })
			_, err := l.Lock(ctx)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, because)
		}
	},
	"a deadline that ends the wait is a deadline error": func(t *testing.T, s Suite) {
		here, there := s.pair(t, long)
		defer Unlock(t, Take(t, here))
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Millisecond)
		defer cancel()
		_, err := there.Lock(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	},
	"a context that has ended takes nothing": func(t *testing.T, s Suite) {
		l := s.one(t, long)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := l.Lock(ctx)
		require.ErrorIs(t, err, context.Canceled)
		requireFree(t, l)
	},
	"a waiter that leaves does not keep the lock from the next": func(t *testing.T, s Suite) {
		here, there := s.pair(t, long)
		hold := Take(t, here)
		ctx, cancel := context.WithCancel(context.Background())
		left := make(chan error, 1)
		go func() { // ends when ctx does
			_, err := there.Lock(ctx)
			left <- err
		}()
		cancel()
		require.ErrorIs(t, <-left, context.Canceled)
		Unlock(t, hold)
		RequireFree(t, there) // what has left gives back what it may have got
	},
	"a waiter takes over when the holder's lease ends": func(t *testing.T, s Suite) {
		here, there := s.pair(t, long)
		Take(t, here, lock.WithLease(short))
		Unlock(t, Take(t, there))
	},
}

// wakes waits with l while hold stands, and expects to get the lock well
// before any lease would end.
func wakes(t *testing.T, hold *lock.Hold, l lock.Locker) {
	t.Helper()
	type result struct {
		hold *lock.Hold
		err  error
	}
	got := make(chan result, 1)
	ctx := Bounded(t)
	go func() { // ends with ctx at the latest
		second, err := l.Lock(ctx)
		got <- result{second, err}
	}()
	select {
	case r := <-got:
		require.Fail(t, "it did not wait", "%v", r.err)
	case <-time.After(100 * time.Millisecond):
	}
	Unlock(t, hold)
	r := <-got
	require.NoError(t, r.err)
	assert.NoError(t, r.hold.Unlock(context.Background()))
}
