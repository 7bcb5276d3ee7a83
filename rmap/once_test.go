package rmap_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/sweep"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
)

var usesOnce = map[string]enginetest.UsedOnce{
	"map": func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		m := rmap.New[string, int](e, name, rmap.WithCodec(codec.Text), rmap.WithEntryLock())
		ids := rmap.New[string, int](e, name, rmap.WithCodec(codec.Text), rmap.WithRequestIDs())
		_, _, err := m.Compute(ctx, "5", mapkinds.PlusOne)
		return errors.Join(err, mapkinds.Holds(ctx, ids, 1), mapkinds.Deletes(ctx, ids))
	},
	"cache": func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		m := rmap.NewCache[string, int](e, name, rmap.WithTTL(time.Second))
		return errors.Join(m.Put(ctx, "5", 5), mapkinds.Holds(ctx, m, 5))
	},
	"sharded": func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		m := rmap.NewSharded[string, int](e, name, 3)
		return errors.Join(m.Put(ctx, "5", 5), mapkinds.Holds(ctx, m, 5), mapkinds.Deletes(ctx, m))
	},
}

// TestWhatIsUsedOnceLeavesNothing: nobody closes a near cache. It is not parallel: it looks at the heap.
func TestWhatIsUsedOnceLeavesNothing(t *testing.T) {
	for kind, once := range usesOnce {
		t.Run(kind, func(t *testing.T) {
			enginetest.LeavesNothing(t, once, func(e *locking.Engine) int { return sweep.Of(e).Len() })
		})
	}
}
