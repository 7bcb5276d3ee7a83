package readthrough

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestACallerWithTheLockOfAnEntryLeavesWhenItsContextEnds, also while a server
// refuses what was loaded.
func TestACallerWithTheLockOfAnEntryLeavesWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"map", "locked"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := maptest.NewRefusing(t)
			full := make(chan struct{})
			l := New(mapkinds.LoadKinds[kind](r.E, "m"), func(ctx context.Context, k string) (int, bool, error) {
				r.Do(maptest.Refusals["OOM"].Refuse)
				close(full)
				return maptest.Quick(ctx, k)
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
			r.Do(maptest.Refusals["OOM"].Allow)
			require.NoError(t, hold.Unlock(t.Context()))
		})
	}
}

// TestALeaseStaysWhileItsLoadIsRefused for want of memory: nobody loads again. On a machine that stands still a refusal may
// last until the write is given up. That round counts for nothing.
func TestALeaseStaysWhileItsLoadIsRefused(t *testing.T) {
	t.Parallel()
	for kind, on := range mapkinds.LoadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r, calls, full := maptest.NewRefusing(t), atomic.Int64{}, make(chan struct{}, 1)
			e := maptest.EngineOn(t, r.E.Redis, func(c *core.Config) { c.Observer = r })
			l := New(on(e, "m"), func(ctx context.Context, k string) (int, bool, error) {
				if calls.Add(1) == 1 {
					r.Refuse(maptest.Refusals["OOM"].Refuse, maptest.Refusals["OOM"].Allow)
					full <- struct{}{}
				}
				return maptest.Quick(ctx, k)
			}, WithLoadTimeout(time.Second))
			require.NoError(t, l.Put(t.Context(), "other", 1)) // so that a sharded map has said how many shards there are
			for round := 1; ; round++ {
				calls.Store(0)
				var other sync.WaitGroup
				other.Go(func() {
					<-full
					time.Sleep(2 * time.Second) // which is more than the lease
					r.Do(maptest.Refusals["OOM"].Allow)
				})
				v, _, err := l.Get(t.Context(), strconv.Itoa(round))
				other.Wait()
				require.NoError(t, err)
				require.Equal(t, round, v)
				if !r.Over() {
					require.EqualValues(t, 1, calls.Load())
					break
				}
				require.Less(t, round, 5, "each round was given up")
			}
			stats, err := r.Admin.Do(t.Context(), r.Admin.B().Info().Section("errorstats").Build()).ToString()
			require.NoError(t, err)
			require.Contains(t, stats, "errorstat_OOM", "it was refused")
			_, err = l.Remove(t.Context(), "other")
			require.NoError(t, err)
			maptest.NothingIsLeft(t, r.Admin, "m")
		})
	}
}

// TestALoadOutlastsAServerThatRefuses to take what was loaded: it is not loaded again.
func TestALoadOutlastsAServerThatRefuses(t *testing.T) {
	t.Parallel()
	for how, of := range maptest.Refusals {
		if how == "NOPERM" {
			continue // which is no passing reason
		}
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			for kind, on := range mapkinds.LoadKinds {
				t.Run(kind, func(t *testing.T) {
					t.Parallel()
					r := maptest.NewRefusing(t)
					calls := map[string]int{}
					l := New(on(r.E, "m"), func(ctx context.Context, k string) (int, bool, error) {
						calls[k]++
						r.Refuse(of.Refuse, of.Allow)
						return maptest.Quick(ctx, k)
					})
					for k, want := range map[string]bool{"5": true, "none": false} {
						if how == "OOM" && !want {
							continue // it takes no memory
						}
						v, there, err := l.Get(t.Context(), k)
						require.NoError(t, err)
						require.Equal(t, want, there)
						require.Equal(t, want, v == 5)
						require.Equal(t, 1, calls[k])
					}
					maptest.NothingIsLeft(t, r.Admin, "m")
				})
			}
		})
	}
}
