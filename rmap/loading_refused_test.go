package rmap

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
)

// TestACallerWithTheLockOfAnEntryLeavesWhenItsContextEnds, also while a server
// refuses what was loaded.
func TestACallerWithTheLockOfAnEntryLeavesWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"map", "locked"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRefusing(t)
			full := make(chan struct{})
			l := NewLoading(loadKinds[kind](r.e, "m"), func(ctx context.Context, k string) (int, bool, error) {
				r.do(refusals["OOM"].refuse)
				close(full)
				return quick(ctx, k)
			})
			hold, err := l.Lock("5").Lock(t.Context())
			require.NoError(t, err)
			ctx, leave := context.WithCancel(hold.Context(t.Context()))
			go func() { // ends with the loader
				<-full
				leave()
			}()
			_, _, err = l.Get(ctx, "5")
			require.ErrorIs(t, err, context.Canceled)
			r.do(refusals["OOM"].allow)
			require.NoError(t, hold.Unlock(t.Context()))
		})
	}
}

// TestALeaseStaysWhileItsLoadIsRefused for want of memory: nobody loads again. On a machine that stands still a refusal may
// last until the write is given up. That round counts for nothing.
func TestALeaseStaysWhileItsLoadIsRefused(t *testing.T) {
	t.Parallel()
	for kind, on := range loadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r, calls, full := newRefusing(t), atomic.Int64{}, make(chan struct{}, 1)
			e := engineOn(t, r.e.Redis, func(c *core.Config) { c.Observer = r })
			l := NewLoading(on(e, "m"), func(ctx context.Context, k string) (int, bool, error) {
				if calls.Add(1) == 1 {
					r.refuse(refusals["OOM"].refuse, refusals["OOM"].allow)
					full <- struct{}{}
				}
				return quick(ctx, k)
			}, WithLoadTimeout(time.Second))
			require.NoError(t, l.Put(t.Context(), "other", 1)) // so that a sharded map has said how many shards there are
			for round := 1; ; round++ {
				calls.Store(0)
				var other sync.WaitGroup
				other.Go(func() {
					<-full
					time.Sleep(2 * time.Second) // which is more than the lease
					r.do(refusals["OOM"].allow)
				})
				v, _, err := l.Get(t.Context(), strconv.Itoa(round))
				other.Wait()
				require.NoError(t, err)
				require.Equal(t, round, v)
				if !r.over() {
					require.EqualValues(t, 1, calls.Load())
					break
				}
				require.Less(t, round, 5, "each round was given up")
			}
			stats, err := r.admin.Do(t.Context(), r.admin.B().Info().Section("errorstats").Build()).ToString()
			require.NoError(t, err)
			require.Contains(t, stats, "errorstat_OOM", "it was refused")
			_, err = l.Remove(t.Context(), "other")
			require.NoError(t, err)
			nothingIsLeft(t, r.admin, "m")
		})
	}
}
