package rwlock_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rwlock"
)

// Waits end at any moment, also while those of the process go first or a
// generation ends: nobody is in beside a writer, nobody is forgotten, and nothing
// is left.
func TestWaitsThatEndAtAnyMomentLeaveNothing(t *testing.T) {
	t.Parallel()
	addr, name := redistest.Shared(t).Addr(), redistest.Name(t)
	span := redistest.Span(t, 3*time.Second, time.Minute)
	var inside, writing atomic.Int64
	var reads, writes, left atomic.Int64
	var all sync.WaitGroup
	var locks []*rwlock.Lock
	for p := range 3 {
		var opts []rwlock.Option
		if p == 0 {
			opts = append(opts, rwlock.WithReaderPreference())
		}
		locks = append(locks, locktest.Open(t, addr, rueidisson.WithHandover(8, 2*time.Millisecond)).RWLock(name, opts...))
	}
	end := time.Now().Add(span)
	// On a machine that is busy with other tests few get in within such waits: it goes on until each was seen.
	latest := end.Add(time.Minute)
	more := func() bool {
		seen := reads.Load() > 0 && writes.Load() > 0 && left.Load() > 0
		return time.Now().Before(end) || !seen && time.Now().Before(latest)
	}
	turn := func(l *rwlock.Lock) {
		ctx, cancel := context.WithTimeout(context.Background(), rand.N(12*time.Millisecond))
		defer cancel()
		if rand.N(4) > 0 {
			hold, err := l.Read().Lock(ctx)
			if err != nil {
				left.Add(1)
				return
			}
			reads.Add(1)
			inside.Add(1)
			assert.Zero(t, writing.Load())
			time.Sleep(rand.N(time.Millisecond))
			assert.Zero(t, writing.Load())
			inside.Add(-1)
			assert.NoError(t, hold.Unlock(context.Background()))
			return
		}
		hold, err := l.Write().Lock(ctx)
		if err != nil {
			left.Add(1)
			return
		}
		writes.Add(1)
		assert.EqualValues(t, 1, writing.Add(1))
		assert.Zero(t, inside.Load())
		time.Sleep(rand.N(time.Millisecond))
		var read *lock.Hold
		if rand.N(3) == 0 {
			read, err = l.Read().Lock(hold.Context(context.Background()))
			assert.NoError(t, err)
		}
		assert.Zero(t, inside.Load())
		writing.Add(-1)
		if read == nil {
			assert.NoError(t, hold.Unlock(context.Background()))
			return
		}
		inside.Add(1)
		assert.NoError(t, hold.Unlock(context.Background()))
		time.Sleep(rand.N(time.Millisecond))
		assert.Zero(t, writing.Load(), "a writer is in beside the hold that took the writer's place")
		inside.Add(-1)
		assert.NoError(t, read.Unlock(context.Background()))
	}
	for _, l := range locks {
		for range 12 {
			all.Go(func() {
				for more() {
					turn(l)
				}
			})
		}
	}
	all.Wait()
	t.Logf("%d reads, %d writes, %d left", reads.Load(), writes.Load(), left.Load())
	for _, n := range []*atomic.Int64{&reads, &writes, &left} {
		require.Positive(t, n.Load())
	}
	locktest.Unlock(t, locktest.Take(t, locks[0].Write()))
	locktest.Unlock(t, locktest.Take(t, locks[1].Read()))
}
