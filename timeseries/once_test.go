package timeseries

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
		s := New[int](e, name)
		ever := s.Add(ctx, at(1), 1)
		ends := s.Add(ctx, at(2), 2, WithTTL(time.Millisecond))
		_, popped := s.PopFirst(ctx, 1)
		_, _, got := s.Get(ctx, at(2))
		return errors.Join(ever, ends, popped, got)
	}, func(e *locking.Engine) int { return hubOf(e).sweeps.Len() })
}
