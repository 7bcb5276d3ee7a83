package bloom

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestFiltersUsedOnceLeaveNothing is not parallel: it looks at the heap.
func TestFiltersUsedOnceLeaveNothing(t *testing.T) {
	enginetest.LeavesNothing(t, func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		f := New[string](e, name)
		_, made := f.Init(ctx, 10, 0.1)
		_, goes := f.Expire(ctx, time.Second)
		add := f.Add(ctx, "a")
		_, has := f.Has(ctx, "a")
		return errors.Join(made, goes, add, has)
	}, func(*locking.Engine) int { return 0 })
}

// TestNoCallTakesLong, and no answer is long, of 100,000 values and of a filter of 40 MB.
func TestNoCallTakesLong(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	metered := redistest.Meter(t, server)
	weighed := &redistest.Weighed{Client: metered}
	f := New[string](engineOn(t, weighed), "long")
	require.NoError(t, last(f.Init(t.Context(), 20_000_000, 0.0005)))
	most, what := metered.Most()
	t.Logf("%v for %s", most, what)
	vs := values("v", redistest.Count(t, 10_000, 100_000))
	do := func(op string, err error) {
		t.Helper()
		require.NoError(t, err)
		most, what := metered.Most()
		t.Logf("%s: %v for %s", op, most, what)
	}
	do("add", f.Add(t.Context(), vs...))
	_, err := f.AddNew(t.Context(), vs...)
	do("add new", err)
	_, err = f.HasEach(t.Context(), vs...)
	do("has each", err)
	n, err := f.Count(t.Context())
	do("count", err)
	require.InEpsilon(t, len(vs), n, 0.05)
	require.Less(t, weighed.Most.Load(), int64(64<<10))
}
