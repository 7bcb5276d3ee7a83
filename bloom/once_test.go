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

// TestFiltersUsedOnceLeaveNothing looks at the heap, so it does not run in parallel.
func TestFiltersUsedOnceLeaveNothing(t *testing.T) {
	enginetest.LeavesNothing(t, func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		f := New[string](e, name)
		_, made := f.Init(ctx, 10, 0.1)
		add := f.Add(ctx, "a")
		_, has := f.Has(ctx, "a")
		_, goes := f.Expire(ctx, time.Second)
		return errors.Join(made, add, has, goes)
	}, func(*locking.Engine) int { return 0 })
}

// TestNoCallTakesLong, and no answer is long, of 100,000 values and of a filter of 40 MB, which Init takes longer to make.
func TestNoCallTakesLong(t *testing.T) {
	t.Parallel()
	e, bounded := enginetest.BoundedOn(t, redistest.Start(t))
	f, ctx := New[string](e, "long"), t.Context()
	require.NoError(t, last(f.Init(ctx, 20_000_000, 0.0005)))
	vs := values("v", redistest.Count(t, 10_000, 100_000))
	for op, do := range map[string]func() error{
		"add":      func() error { return f.Add(ctx, vs...) },
		"add new":  func() error { return last(f.AddNew(ctx, vs...)) },
		"has each": func() error { return last(f.HasEach(ctx, vs...)) },
		"count":    func() error { return last(f.Count(ctx)) },
	} {
		bounded.Judge(op, func() {}, do)
	}
	n, err := f.Count(ctx)
	require.NoError(t, err)
	require.InEpsilon(t, len(vs), n, 0.05)
}
