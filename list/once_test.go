package list

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
)

// TestWhatIsUsedOnceLeavesNothing looks at the heap, so it does not run in parallel.
func TestWhatIsUsedOnceLeavesNothing(t *testing.T) {
	enginetest.LeavesNothing(t, func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		l := New[int](e, name)
		_, appended := l.Append(ctx, 1, 2)
		_, _, got := l.Get(ctx, 1)
		_, _, removed := l.RemoveAt(ctx, 1)
		_, ranged := l.Range(ctx, 0, -1)
		_, deleted := l.Delete(ctx)
		return errors.Join(appended, got, removed, ranged, deleted)
	}, func(*locking.Engine) int { return 0 })
}
