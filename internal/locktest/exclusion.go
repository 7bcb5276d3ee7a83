package locktest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/lock"
)

var exclusion = map[string]func(*testing.T, Suite){
	"a free lock is taken at once": func(t *testing.T, s Suite) {
		hold := Take(t, s.one(t, long))
		require.NoError(t, hold.Err())
		Unlock(t, hold)
	},
	"a held lock is busy for another process": func(t *testing.T, s Suite) {
		here, there := s.pair(t, long)
		hold := Take(t, here)
		RequireBusy(t, there)
		Unlock(t, hold)
		requireFree(t, there)
	},
	"a held lock is busy for another goroutine of the same process": func(t *testing.T, s Suite) {
		l, other := s.within(t, long)
		hold := Take(t, l)
		RequireBusy(t, other)
		Unlock(t, hold)
		requireFree(t, other)
	},
	"locks of different names do not meet": func(t *testing.T, s Suite) {
		p := s.Start(t, long)
		one, two := Take(t, p.Locker(s.Name(t))), Take(t, p.Locker(s.Name(t)))
		Unlock(t, one)
		Unlock(t, two)
	},
	"a counter loses no update under two processes of eight goroutines": func(t *testing.T, s Suite) {
		name := s.Name(t)
		here, there := s.Start(t, long), s.Start(t, long)
		const goroutines, rounds, alone = 8, 25, 1000
		var inside atomic.Int32
		counter, updates := 0, 0 // guarded by the lock, and by nothing else
		var wg sync.WaitGroup
		for i := range 2 * goroutines {
			l, weight := rival(here, name), int32(alone)
			if i%2 == 1 {
				l = there.Locker(name)
				if shares(there) {
					weight = 1 // several of these may be inside
				}
			}
			if weight == alone {
				updates += rounds
			}
			wg.Go(func() {
				for range rounds {
					err := lock.Do(Bounded(t), l, func(context.Context) error {
						if now := inside.Add(weight); weight == alone {
							assert.EqualValues(t, alone, now, "another is inside")
							counter++
						} else {
							assert.Less(t, now, int32(alone), "one is inside that excludes it")
						}
						inside.Add(-weight)
						return nil
					})
					assert.NoError(t, err)
				}
			})
		}
		wg.Wait()
		require.Equal(t, updates, counter)
	},
	"an unlocked hold frees the lock for every process": func(t *testing.T, s Suite) {
		here, there := s.pair(t, long)
		for _, l := range []lock.Locker{here, there, there, here} {
			Unlock(t, Take(t, l))
		}
	},
}
