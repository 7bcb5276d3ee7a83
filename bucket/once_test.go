package bucket

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
		b, many, bytes := New[int](e, name), NewMany[int](e), NewBytes(e, name)
		set := b.Set(ctx, 1, WithTTL(hour))
		_, _, updated := b.Update(ctx, increment)
		_, _, got := b.Get(ctx)
		_, read := many.Get(ctx, name)
		_, appended := bytes.Append(ctx, []byte("x"))
		_, deleted := b.Delete(ctx)
		return errors.Join(set, updated, got, read, appended, deleted)
	}, func(*locking.Engine) int { return 0 })
}
