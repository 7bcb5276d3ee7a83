package locktest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/lock"
)

var ending = map[string]func(*testing.T, Suite){
	"a closed client answers closed": func(t *testing.T, s Suite) {
		p := s.Start(t, long)
		l := p.Locker(s.Name(t))
		require.NoError(t, p.Close(Bounded(t)))
		require.NoError(t, p.Close(Bounded(t)), "twice")
		_, err := l.Lock(Bounded(t))
		require.ErrorIs(t, err, lock.ErrClosed)
		_, err = l.TryLock(Bounded(t))
		require.ErrorIs(t, err, lock.ErrClosed)
	},
	"close wakes waiters": func(t *testing.T, s Suite) {
		name := s.Name(t)
		there := s.Start(t, long)
		defer Unlock(t, Take(t, rival(there, name)))
		p := s.Start(t, long)
		woken := make(chan error, 2)
		for range 2 {
			go func() { // ends with the client
				_, err := p.Locker(name).Lock(context.Background())
				woken <- err
			}()
		}
		pause(t, 50*time.Millisecond)
		require.NoError(t, p.Close(Bounded(t)))
		require.ErrorIs(t, <-woken, lock.ErrClosed)
		require.ErrorIs(t, <-woken, lock.ErrClosed)
	},
	"close ends the hold's context and waits for its unlock": func(t *testing.T, s Suite) {
		name := s.Name(t)
		p, there := s.Start(t, long), s.Start(t, long)
		hold := Take(t, p.Locker(name))
		ctx := hold.Context(context.Background())
		closed := make(chan error, 1)
		go func() { closed <- p.Close(context.Background()) }() // ends after the unlock below
		await(t, ctx.Done(), "the end of the hold's context")
		require.ErrorIs(t, context.Cause(ctx), lock.ErrClosed)
		require.ErrorIs(t, hold.Err(), lock.ErrClosed)
		RequireBusy(t, rival(there, name))
		Unlock(t, hold)
		require.NoError(t, <-closed)
		requireFree(t, rival(there, name))
	},
	"close leaves a lock that is not unlocked to its lease and names it": func(t *testing.T, s Suite) {
		name := s.Name(t)
		p, there := s.Start(t, long), s.Start(t, long)
		hold := Take(t, p.Locker(name))
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		err := p.Close(ctx)
		require.ErrorContains(t, err, name)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		RequireBusy(t, rival(there, name))
		require.ErrorIs(t, hold.Unlock(context.Background()), lock.ErrClosed)
		RequireBusy(t, rival(there, name))
	},
}
