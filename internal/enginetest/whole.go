package enginetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// Whole has the operations of queues and streams on the whole object.
type Whole interface {
	Rename(ctx context.Context, to string) (bool, error)
	RenameIfAbsent(ctx context.Context, to string) (bool, error)
	Copy(ctx context.Context, to string) (bool, error)
	ExpireAt(ctx context.Context, at time.Time) (bool, error)
	SizeInMemory(ctx context.Context) (int64, error)
	Remaining(ctx context.Context) (time.Duration, error)
	Exists(ctx context.Context) (bool, error)
	Len(ctx context.Context) (int64, error)
	Delete(ctx context.Context) (bool, error)
}

// Kinds returns a handle of each kind, and how elements get there.
type Kinds func(ctx context.Context, e *locking.Engine) map[string]func(name string) (Whole, func(vs ...string) error)

// AsAnObject checks that objects are copied, renamed where nothing is in the way, expire at a time, and take memory,
// whatever their kind.
func AsAnObject(t *testing.T, kinds Kinds) {
	for _, version := range []string{"7.0", "8.0", "valkey-8.1"} {
		raw := redistest.Shared(t, redistest.Version(version)).Client(t)
		for kind, of := range kinds(t.Context(), Plain(t, raw)) {
			t.Run(version+" "+kind, func(t *testing.T) {
				t.Parallel()
				asAnObject(t, of)
			})
		}
	}
}

func asAnObject(t *testing.T, of func(name string) (Whole, func(vs ...string) error)) {
	ctx, name := t.Context(), redistest.Name(t)
	q, offer := of(name)
	other, offerOther := of(name + "-b")
	third, _ := of(name + "-c")
	t.Cleanup(func() {
		for _, one := range []Whole{q, other, third} {
			_, _ = one.Delete(context.Background())
		}
	})
	is := func(want bool) func(is bool, err error) {
		return func(is bool, err error) { t.Helper(); require.NoError(t, err); require.Equal(t, want, is) }
	}
	has := func(q Whole, want int64) {
		t.Helper()
		n, err := q.Len(ctx)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	size := func(q Whole) int64 { t.Helper(); n, err := q.SizeInMemory(ctx); require.NoError(t, err); return n }
	require.Zero(t, size(q))
	is(false)(q.Copy(ctx, name+"-b"))
	is(false)(q.RenameIfAbsent(ctx, name+"-b"))
	is(false)(q.ExpireAt(ctx, time.Now().Add(time.Hour)))

	require.NoError(t, offer("a", "b"))
	require.Positive(t, size(q))
	is(true)(q.ExpireAt(ctx, time.Now().Add(time.Hour)))
	is(true)(q.Copy(ctx, name+"-b"))
	require.Positive(t, size(other))
	for _, q := range []Whole{q, other} {
		left, err := q.Remaining(ctx)
		require.NoError(t, err)
		require.InDelta(t, time.Hour, left, float64(time.Minute))
	}
	require.NoError(t, offerOther("c"))
	has(q, 2)
	has(other, 3)
	is(false)(q.Copy(ctx, name+"-b"))
	is(false)(q.RenameIfAbsent(ctx, name+"-b"))
	has(q, 2)
	has(other, 3)
	is(true)(q.RenameIfAbsent(ctx, name+"-c"))
	is(false)(q.Exists(ctx))
	has(third, 2)
	is(true)(third.Rename(ctx, name+"-b"))
	has(other, 2)
	is(true)(other.ExpireAt(ctx, time.Now().Add(-time.Hour)))
	is(false)(other.Exists(ctx))
	require.Zero(t, size(other))

	for _, at := range []time.Time{{}, time.Now().Add(2 * core.LongestLease)} {
		_, err := q.ExpireAt(ctx, at)
		require.ErrorIs(t, err, core.ErrInvalidArgument)
	}
	_, err := q.Copy(ctx, "")
	require.ErrorIs(t, err, core.ErrInvalidArgument)
}
