package counter

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
)

// TestCountersUsedOnceLeaveNothing looks at the heap, so it does not run in parallel.
func TestCountersUsedOnceLeaveNothing(t *testing.T) {
	enginetest.LeavesNothing(t, func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		h := hubOf(e)
		h.ids.mu.Lock()
		h.ids.kept = 60 * time.Millisecond
		h.ids.mu.Unlock()
		g := NewIDs(e, name+"i")
		_, next := g.Next(ctx)
		_, gone := g.Expire(ctx, time.Second)
		c := New(e, name+"c", WithTTL(time.Second))
		_, add := c.Add(ctx, 1)
		a := NewAdder(e, name+"a")
		local := a.Add(ctx, 1)
		_, over := a.Delete(ctx)
		d := NewDistinct[string](e, name+"d")
		values := d.Add(ctx, "a")
		_, ends := d.Expire(ctx, time.Second)
		return errors.Join(next, gone, add, local, values, ends, over)
	}, func(e *locking.Engine) int {
		h := hubOf(e)
		h.ids.mu.Lock()
		defer h.ids.mu.Unlock()
		h.adders.mu.Lock()
		defer h.adders.mu.Unlock()
		return len(h.adders.of) + len(h.ids.of)
	})
}
