package multimap

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/sweep"
)

// TestMultimapUsedOnceLeavesNothing is not parallel: it looks at the heap.
func TestMultimapUsedOnceLeavesNothing(t *testing.T) {
	enginetest.LeavesNothing(t, func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		m := kinds["list"](e, name, WithRequestIDs())
		_, err := m.put(ctx, "k", "v")
		_, ends := m.expire(ctx, "expire", "k", time.Second)
		return errors.Join(err, ends)
	}, func(e *locking.Engine) int { return sweep.Of(e).Len() })
}
