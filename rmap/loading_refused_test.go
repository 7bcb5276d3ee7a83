package rmap

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// TestALeaseStaysWhileItsLoadIsRefused for want of memory: nobody loads again.
func TestALeaseStaysWhileItsLoadIsRefused(t *testing.T) {
	t.Parallel()
	for kind, on := range loadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r, calls, full := newRefusing(t), atomic.Int64{}, make(chan struct{})
			l := NewLoading(on(engineOn(t, r.e.Redis), "m"), func(ctx context.Context, k string) (int, bool, error) {
				if calls.Add(1) == 1 {
					r.do(refusals["OOM"].refuse)
					close(full)
				}
				return quick(ctx, k)
			}, WithLoadTimeout(time.Second))
			var other sync.WaitGroup
			defer other.Wait()
			other.Go(func() {
				<-full
				time.Sleep(2500 * time.Millisecond) // which is more than the lease
				assert.NoError(t, r.admin.Do(t.Context(), r.admin.B().ConfigSet().ParameterValue().ParameterValue("maxmemory", "0").Build()).Error())
			})
			require.NoError(t, l.Put(t.Context(), "other", 1)) // so that a sharded map has said how many shards there are
			v, _, err := l.Get(t.Context(), "5")
			require.NoError(t, err)
			require.Equal(t, 5, v)
			require.EqualValues(t, 1, calls.Load())
			stats, err := r.admin.Do(t.Context(), r.admin.B().Info().Section("errorstats").Build()).ToString()
			require.NoError(t, err)
			require.Contains(t, stats, "errorstat_OOM", "it was refused")
			_, err = l.Remove(t.Context(), "other")
			require.NoError(t, err)
			nothingIsLeft(t, r.admin, "m")
		})
	}
}
