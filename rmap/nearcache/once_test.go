package nearcache

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/sweep"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
)

var nearUsesOnce = map[string]enginetest.UsedOnce{
	"near, tracked":   nearOnce(nil),
	"near, announced": nearOnce([]rmap.MapOption{rmap.WithAnnounce()}, WithAnnounced()),
}

func nearOnce(opts []rmap.MapOption, with ...Option) enginetest.UsedOnce {
	return func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		m := rmap.New[string, int](e, name, opts...)
		n := New(m, with...)
		return errors.Join(n.Put(ctx, "5", 5), mapkinds.Holds(ctx, n, 5), mapkinds.Holds(ctx, n, 5), mapkinds.Deletes(ctx, m))
	}
}

// TestNearUsedOnceLeavesNothing is not parallel: it looks at the heap.
func TestNearUsedOnceLeavesNothing(t *testing.T) {
	for kind, once := range nearUsesOnce {
		t.Run(kind, func(t *testing.T) {
			enginetest.LeavesNothing(t, once, func(e *locking.Engine) int { return sweep.Of(e).Len() })
		})
	}
}
