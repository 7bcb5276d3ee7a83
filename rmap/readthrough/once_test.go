package readthrough

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/sweep"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

var loadingUsesOnce = map[string]enginetest.UsedOnce{
	"loading": func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		m := rmap.New[string, int](e, name)
		l := New(m, maptest.Quick, WithAbsentFor(time.Hour))
		_, _, err := l.Get(ctx, "none")
		return errors.Join(err, mapkinds.Holds(ctx, l, 5), mapkinds.Deletes(ctx, m))
	},
}

// TestLoadingUsedOnceLeavesNothing is not parallel: it looks at the heap.
func TestLoadingUsedOnceLeavesNothing(t *testing.T) {
	for kind, once := range loadingUsesOnce {
		t.Run(kind, func(t *testing.T) {
			enginetest.LeavesNothing(t, once, func(e *locking.Engine) int { return sweep.Of(e).Len() })
		})
	}
}
