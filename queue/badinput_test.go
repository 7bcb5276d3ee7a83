package queue

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestWhatCannotBeUsedIsSaidByEveryOperation, and nothing is sent.
func TestWhatCannotBeUsedIsSaidByEveryOperation(t *testing.T) {
	t.Parallel()
	e := engineOn(t, miniredisClient(t))
	for _, c := range []struct {
		name string
		opts []Option
	}{
		{"", nil},
		{"q", []Option{nil}},
		{"q", []Option{WithCodec(codec.Family{})}},
		{"q", []Option{WithValueCodec(codec.For[int](codec.Text))}},
		{"q", []Option{WithValueCodec[string](nil)}},
	} {
		for _, op := range operations(New[string](e, c.name, c.opts...), NewBounded[string](e, c.name, c.opts...), NewDelayed[string](e, c.name, c.opts...)) {
			require.ErrorIs(t, op(t.Context()), ErrInvalidArgument)
		}
	}
	q, b, d := New[string](e, "q"), NewBounded[string](e, "b"), NewDelayed[string](e, "d")
	require.ErrorIs(t, NewDelayed[string](e, "").Keep(t.Context()), ErrInvalidArgument)
	for i, op := range append(operations(q, b, d), d.Keep) {
		require.ErrorIs(t, op(nil), ErrInvalidArgument, i)
		ended, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("because")
		cancel(cause)
		require.ErrorIs(t, op(ended), context.Canceled, i)
		require.ErrorIs(t, op(ended), cause, i)
	}
	for _, n := range []int{0, -1} {
		_, err := q.PollN(t.Context(), n)
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	_, err := q.Expire(t.Context(), 0)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = q.MoveTo(t.Context(), nil)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = q.MoveTo(t.Context(), New[string](engineOn(t, miniredisClient(t)), "q"))
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = New[string](e, "q", WithCodec(codec.Text)).Offer(t.Context(), "\xff")
	require.ErrorIs(t, err, ErrInvalidArgument)
}

// TestAValueThatIsTooLongIsRefused before it is sent.
func TestAValueThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	e := engineOn(t, miniredisClient(t), func(c *core.Config) { c.MaxValue = 10 })
	_, err := New[string](e, "q", WithCodec(codec.Text)).Offer(t.Context(), "short", strings.Repeat("x", 11))
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.NotContains(t, err.Error(), "xx")
}

// TestNamesOfAnyKind are taken from, side by side.
func TestNamesOfAnyKind(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		e := engineOn(t, raw)
		base := redistest.Name(t)
		for _, name := range []string{"{" + base + "}:q", base + "{x}", base + "}{", base + "\x00\r\n ", base + strings.Repeat("n", 64<<10)} {
			q := New[string](e, name, WithCodec(codec.Text))
			result := make(chan error)
			go func() {
				_, err := q.Take(t.Context())
				result <- err
			}()
			untilWaiting(t, q, head.kind)
			offered(t, q, "a")
			require.NoError(t, <-result)
			late := NewDelayed[string](e, name, WithCodec(codec.Text))
			_, err := late.Offer(t.Context(), "a", time.Millisecond)
			require.NoError(t, err)
			_, err = late.Take(within(t))
			require.NoError(t, err)
		}
	})
}

// TestAClosedClientSaysSo.
func TestAClosedClientSaysSo(t *testing.T) {
	t.Parallel()
	e := engineOn(t, miniredisClient(t))
	q, b, d := New[string](e, "q"), NewBounded[string](e, "b"), NewDelayed[string](e, "d")
	require.NoError(t, locking.Close(t.Context(), e))
	for i, op := range append(operations(q, b, d), d.Keep) {
		require.ErrorIs(t, op(t.Context()), ErrClosed, i)
	}
}

// TestNamesThatAreUsedOnceLeaveNothing in the process. It is not parallel: it
// looks at the heap.
func TestNamesThatAreUsedOnceLeaveNothing(t *testing.T) {
	raw := redistest.Shared(t).Client(t)
	e := engineOn(t, raw)
	prefix := redistest.Name(t)
	use := func(i int) {
		q := New[string](e, prefix+decimal(int64(i)), WithCodec(codec.Text))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Microsecond)
		defer cancel()
		_, err := q.Take(ctx)
		require.Error(t, err)
		b := NewBounded[string](e, prefix+"b"+decimal(int64(i)), WithCodec(codec.Text))
		_, err = b.TryOffer(t.Context(), "a", WithWait(time.Hour))
		require.ErrorIs(t, err, ErrNoCapacity)
	}
	heap := func() int64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	for i := range 1000 {
		use(-i - 1)
	}
	before := heap()
	names := redistest.Count(t, 2000, 1_000_000)
	for i := range names {
		use(i)
	}
	redistest.Eventually(t, func() bool { return heap() < before+int64(max(1<<20, names/2)) }, soon, soon/100)
}
