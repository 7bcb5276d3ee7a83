package writethrough

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/sweep"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
)

var writingUsesOnce = map[string]enginetest.UsedOnce{
	"writing through": writingOnce(),
	"writing behind":  writingOnce(WithBehind(1), WithWriteDelay(time.Millisecond)),
}

func writingOnce(opts ...Option) enginetest.UsedOnce {
	return func(ctx context.Context, e *locking.Engine, raw rueidis.Client, name string) error {
		m := rmap.New[string, int](e, name)
		w := New(m, func(context.Context, []Change[string, int]) error { return nil }, opts...)
		return errors.Join(w.Put(ctx, "5", 5), mapkinds.Holds(ctx, w, 5), w.Close(ctx), mapkinds.Deletes(ctx, m),
			raw.Do(ctx, raw.B().Del().Key(keys.FenceToken(keys.MapDrain(name))).Build()).Error())
	}
}

// TestWritingUsedOnceLeavesNothing is not parallel: it looks at the heap.
func TestWritingUsedOnceLeavesNothing(t *testing.T) {
	for kind, once := range writingUsesOnce {
		t.Run(kind, func(t *testing.T) {
			enginetest.LeavesNothing(t, once, func(e *locking.Engine) int { return sweep.Of(e).Len() })
		})
	}
}
