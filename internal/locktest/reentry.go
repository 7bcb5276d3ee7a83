package locktest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/lock"
)

var reentry = map[string]func(*testing.T, Suite){
	"the hold's context re-enters, and the lock is free after the last level": func(t *testing.T, s Suite) {
		here, there := s.pair(t, long)
		outer := Take(t, here)
		inner, err := here.Lock(outer.Context(Bounded(t)))
		require.NoError(t, err)
		Unlock(t, inner)
		RequireBusy(t, there)
		require.NoError(t, outer.Err())
		Unlock(t, outer)
		requireFree(t, there)
	},
	"levels may be unlocked in any order": func(t *testing.T, s Suite) {
		here, there := s.pair(t, long)
		outer := Take(t, here)
		inner, err := here.TryLock(outer.Context(Bounded(t)))
		require.NoError(t, err)
		Unlock(t, outer)
		require.NoError(t, inner.Err())
		require.ErrorIs(t, outer.Err(), lock.ErrReleased)
		RequireBusy(t, there)
		Unlock(t, inner)
		requireFree(t, there)
	},
	"a plain context does not re-enter": func(t *testing.T, s Suite) {
		l, other := s.within(t, long)
		defer Unlock(t, Take(t, l))
		RequireBusy(t, other)
	},
	"a hold carries nobody into another lock": func(t *testing.T, s Suite) {
		p := s.Start(t, long)
		one, name := p.Locker(s.Name(t)), s.Name(t)
		two := p.Locker(name)
		outer, other := Take(t, one), Take(t, rival(p, name))
		_, err := two.TryLock(outer.Context(Bounded(t)))
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		Unlock(t, other)
		Unlock(t, outer)
	},
	"a hold carries nobody into the same lock of another process": func(t *testing.T, s Suite) {
		here, there := s.pair(t, long)
		outer := Take(t, here)
		_, err := there.TryLock(outer.Context(Bounded(t)))
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		Unlock(t, outer)
	},
	"a carried hold that has ended is as if it were not there": func(t *testing.T, s Suite) {
		here, there := s.pair(t, long)
		outer := Take(t, here)
		ctx := outer.Context(context.Background())
		Unlock(t, outer)
		_, err := here.Lock(ctx)
		require.ErrorIs(t, err, context.Canceled, "the context has ended with the hold")
		values := context.WithoutCancel(ctx)
		hold, err := here.Lock(values)
		require.NoError(t, err)
		RequireBusy(t, there)
		Unlock(t, hold)
	},
	"an inner hold that has ended leaves the outer one to re-enter": func(t *testing.T, s Suite) {
		l := s.one(t, long)
		outer := Take(t, l)
		inner, err := l.Lock(outer.Context(context.Background()))
		require.NoError(t, err)
		ctx := context.WithoutCancel(inner.Context(outer.Context(context.Background())))
		Unlock(t, inner)
		again, err := l.TryLock(ctx)
		require.NoError(t, err)
		Unlock(t, again)
		Unlock(t, outer)
	},
	"many goroutines re-enter and leave": func(t *testing.T, s Suite) {
		here, there := s.pair(t, long)
		outer := Take(t, here)
		ctx := outer.Context(Bounded(t))
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				assert.NoError(t, lock.Do(ctx, here, func(context.Context) error { return nil }))
			})
		}
		wg.Wait()
		RequireBusy(t, there)
		Unlock(t, outer)
		requireFree(t, there)
	},
	"a re-entry with a longer lease lengthens, one with a shorter lease does not shorten": func(t *testing.T, s Suite) {
		l := s.one(t, ample)
		outer := Take(t, l, lock.WithLease(25*time.Second))
		ctx := outer.Context(Bounded(t))
		inner, err := l.Lock(ctx, lock.WithLease(time.Minute))
		require.NoError(t, err)
		require.Greater(t, time.Until(outer.Deadline()), 30*time.Second)
		Unlock(t, inner)
		inner, err = l.Lock(ctx, lock.WithLease(time.Second))
		require.NoError(t, err)
		require.Greater(t, time.Until(outer.Deadline()), 30*time.Second)
		Unlock(t, inner)
		Unlock(t, outer)
	},
}
