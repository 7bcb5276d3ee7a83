package sortedset

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
		s := New[int](e, name)
		_, added := s.Add(ctx, 1, 1)
		_, _, scored := s.Score(ctx, 1)
		_, walked := collect(s.All(ctx))
		_, popped := s.PopMin(ctx, 2)
		return errors.Join(added, scored, walked, popped)
	}, func(*locking.Engine) int { return 0 })
}
