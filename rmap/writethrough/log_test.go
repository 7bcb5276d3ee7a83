package writethrough

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestTheLogHearsOfAStoreThatRefuses, once until it takes something again, and of
// every panic: nobody else does.
func TestTheLogHearsOfAStoreThatRefuses(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	l, calls := &enginetest.Log{}, atomic.Int64{}
	e := maptest.EngineOn(t, raw, func(c *core.Config) {
		c.Logger = slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelWarn}))
	})
	w := New(rmap.New[string, int](e, maptest.CacheNamed(t, raw)), func(context.Context, []Change[string, int]) error {
		switch calls.Add(1) {
		case 1, 2, 3:
			return errors.New("it is down")
		case 4:
			panic("oops")
		}
		return nil
	}, WithBehind(10), WithWriteDelay(time.Millisecond))
	require.NoError(t, w.Put(t.Context(), "k", 1))
	require.NoError(t, w.Close(t.Context()))
	require.Equal(t, 1, strings.Count(l.String(), "level=WARN"), l.String())
	require.Contains(t, l.String(), "it is down")
	require.Equal(t, 1, strings.Count(l.String(), "level=ERROR"), l.String())
	require.Contains(t, l.String(), "oops")
}

// TestABatchThatIsFullWaitsForNothing, and one that is not for the delay.
func TestABatchThatIsFullWaitsForNothing(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	s := newBehindMap()
	w := New(rmap.New[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw)), s.write, WithBehind(3), WithWriteDelay(time.Hour))
	for _, k := range []string{"a", "b", "c", "d"} {
		require.NoError(t, w.Put(t.Context(), k, 1))
	}
	redistest.Eventually(t, func() bool { return len(s.now()) == 3 }, maptest.Soon, time.Millisecond)
	require.NoError(t, w.PutMany(t.Context(), map[string]int{"e": 1, "f": 1}))
	redistest.Eventually(t, func() bool { return len(s.now()) == 6 }, maptest.Soon, time.Millisecond)
	require.NoError(t, w.Close(t.Context()))
}
