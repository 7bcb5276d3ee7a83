package set

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
)

// TestWhatIsUsedOnceLeavesNothing looks at the heap, so it does not run in parallel.
func TestWhatIsUsedOnceLeavesNothing(t *testing.T) {
	enginetest.LeavesNothing(t, func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		s, c := New[int](e, name), NewCache[int](e, name+"c")
		_, added := s.Add(ctx, 1)
		_, has := s.Has(ctx, 1)
		_, popped := s.Pop(ctx, 1)
		_, ends := c.Add(ctx, 1, WithTTL(time.Millisecond))
		_, looked := c.Has(ctx, 1)
		return errors.Join(added, has, popped, ends, looked)
	}, func(e *locking.Engine) int { return hubOf(e).sweeps.Len() })
}
