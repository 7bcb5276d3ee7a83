package bitset

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
		s := New(e, name)
		_, set := s.Set(ctx, 1, 2)
		_, got := s.Get(ctx, 1)
		_, added := s.Int(8, 0).Add(ctx, 1)
		_, counted := s.Count(ctx)
		_, deleted := s.Delete(ctx)
		return errors.Join(set, got, added, counted, deleted)
	}, func(*locking.Engine) int { return 0 })
}
