package queue

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// kindsOf is every operation of kinds of queues that have nothing but a name in
// common, under names that begin so. Those that take find something there.
func kindsOf(e *locking.Engine, name string, opts ...Option) []func(ctx context.Context) error {
	return append(ringOperations(NewRing[string](e, name, opts...)),
		priorityOperations(NewPriority[string](e, beside(name, "p"), opts...))...)
}

// beside is another name, unless there is none.
func beside(name, more string) string {
	if name == "" {
		return ""
	}
	return name + more
}

func priorityOperations(q *Priority[string]) []func(ctx context.Context) error {
	return []func(ctx context.Context) error{
		func(ctx context.Context) error { _, err := q.Offer(ctx, "a", 1); return err },
		func(ctx context.Context) error {
			_, err := q.OfferAll(ctx, Scored[string]{"b", 2}, Scored[string]{"c", 3}, Scored[string]{"d", 4}, Scored[string]{"e", 5}, Scored[string]{"f", 6}, Scored[string]{"g", 7}, Scored[string]{"h", 8})
			return err
		},
		func(ctx context.Context) error { _, err := q.OfferIfAbsent(ctx, "a", 2); return err },
		func(ctx context.Context) error { _, err := q.Poll(ctx); return err },
		func(ctx context.Context) error { _, err := q.PollLast(ctx); return err },
		func(ctx context.Context) error { _, err := q.PollN(ctx, 2); return err },
		func(ctx context.Context) error { _, err := q.Take(ctx); return err },
		func(ctx context.Context) error { _, err := q.TakeLast(ctx); return err },
		func(ctx context.Context) error {
			for _, err := range q.Consume(ctx) {
				return err
			}
			return nil
		},
		func(ctx context.Context) error { _, err := q.Peek(ctx); return err },
		func(ctx context.Context) error { _, err := q.PeekLast(ctx); return err },
		func(ctx context.Context) error { _, _, err := q.Score(ctx, "a"); return err },
		func(ctx context.Context) error { _, err := q.Remove(ctx, "z"); return err },
		func(ctx context.Context) error {
			for _, err := range q.Values(ctx) {
				return err
			}
			return nil
		},
		func(ctx context.Context) error { _, err := q.Len(ctx); return err },
		func(ctx context.Context) error { _, err := q.Exists(ctx); return err },
		func(ctx context.Context) error { _, err := q.Expire(ctx, time.Hour); return err },
		func(ctx context.Context) error { _, err := q.Persist(ctx); return err },
		func(ctx context.Context) error { _, err := q.Remaining(ctx); return err },
		func(ctx context.Context) error { _, err := q.Drain(ctx); return err },
		func(ctx context.Context) error { _, err := q.Delete(ctx); return err },
	}
}

func ringOperations(q *Ring[string]) []func(ctx context.Context) error {
	return []func(ctx context.Context) error{
		func(ctx context.Context) error { _, err := q.TrySetCapacity(ctx, 9); return err },
		func(ctx context.Context) error { return q.SetCapacity(ctx, 10) },
		func(ctx context.Context) error { _, err := q.Capacity(ctx); return err },
		func(ctx context.Context) error { _, err := q.Offer(ctx, "a", "b", "c", "d", "e"); return err },
		func(ctx context.Context) error { _, err := q.Poll(ctx); return err },
		func(ctx context.Context) error { _, err := q.PollN(ctx, 2); return err },
		func(ctx context.Context) error { _, err := q.Peek(ctx); return err },
		func(ctx context.Context) error { _, err := q.PeekLast(ctx); return err },
		func(ctx context.Context) error { _, err := q.Oldest(ctx, 1); return err },
		func(ctx context.Context) error { _, err := q.Newest(ctx, 1); return err },
		func(ctx context.Context) error { _, err := q.Remove(ctx, "a", 1); return err },
		func(ctx context.Context) error { return redistest.FirstError(q.Values(ctx)) },
		func(ctx context.Context) error { _, err := q.Len(ctx); return err },
		func(ctx context.Context) error { _, err := q.Exists(ctx); return err },
		func(ctx context.Context) error { _, err := q.Expire(ctx, time.Hour); return err },
		func(ctx context.Context) error { _, err := q.Persist(ctx); return err },
		func(ctx context.Context) error { _, err := q.Remaining(ctx); return err },
		func(ctx context.Context) error { _, err := q.Drain(ctx); return err },
		func(ctx context.Context) error { _, err := q.Clear(ctx); return err },
		func(ctx context.Context) error { _, err := q.Delete(ctx); return err },
	}
}

// TestKindsRefuseWhatCannotBeUsed, and nothing is sent.
func TestKindsRefuseWhatCannotBeUsed(t *testing.T) {
	t.Parallel()
	e := engineOn(t, miniredisClient(t))
	for _, op := range append(kindsOf(e, ""), kindsOf(e, "q", nil)...) {
		require.ErrorIs(t, op(t.Context()), ErrInvalidArgument)
	}
	for i, op := range kindsOf(e, "q") {
		require.ErrorIs(t, op(nil), ErrInvalidArgument, i)
		ended, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("because")
		cancel(cause)
		require.ErrorIs(t, op(ended), context.Canceled, i)
		require.ErrorIs(t, op(ended), cause, i)
	}
	require.NoError(t, locking.Close(t.Context(), e))
	for i, op := range kindsOf(e, "q") {
		require.ErrorIs(t, op(t.Context()), ErrClosed, i)
	}
}

// TestKindsOfAnyName do all that they do.
func TestKindsOfAnyName(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		e := engineOn(t, raw)
		base := redistest.Name(t)
		for _, name := range []string{"{" + base + "}:q", base + "{x}", base + "}{", base + "\x00\r\n ", base + strings.Repeat("n", 64<<10)} {
			for i, op := range kindsOf(e, name, WithCodec(codec.Text)) {
				require.NoError(t, op(within(t)), i)
			}
		}
	})
}

// TestTheACLOfTheDocsIsEnoughForAllKinds.
func TestTheACLOfTheDocsIsEnoughForAllKinds(t *testing.T) {
	t.Parallel()
	user := redistest.UserOn(t, redistest.Start(t), "../docs/redis.md")
	for i, op := range kindsOf(engineOn(t, user.Client(t)), "orders", WithCodec(codec.Text)) {
		require.NoError(t, op(within(t)), i)
	}
	user.NothingDenied(t)
}
