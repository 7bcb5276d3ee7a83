package queue

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestTheACLOfTheDocsDeniesNothingThatIsNeeded runs every operation under the user
// that docs/redis.md sets up, and asks the server what it denied.
func TestTheACLOfTheDocsDeniesNothingThatIsNeeded(t *testing.T) {
	t.Parallel()
	user := redistest.UserOn(t, redistest.Start(t), "../docs/redis.md")
	e := engineOn(t, user.Client(t))
	q := New[string](e, "orders:1", WithCodec(codec.Text))
	bounded := NewBounded[string](e, "orders:2", WithCodec(codec.Text))
	_, err := bounded.TrySetCapacity(t.Context(), 10)
	require.NoError(t, err)
	late := NewDelayed[string](e, "orders:4", WithCodec(codec.Text))
	_, err = late.Queue().Offer(t.Context(), "a", "a")
	require.NoError(t, err)
	for _, op := range operations(q, bounded, late) {
		offered(t, q, "a", "b", "c", "d")
		offeredTo(t, bounded, "a", "b")
		require.NoError(t, op(t.Context()))
		_, err := bounded.Drain(t.Context())
		require.NoError(t, err)
	}
	_, err = q.Drain(t.Context())
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := q.TakeLast(t.Context())
		assert.NoError(t, err)
		_, err = bounded.Take(t.Context())
		assert.NoError(t, err)
	}()
	untilWaiting(t, q, tail.kind)
	offered(t, q, "a")
	redistest.Eventually(t, func() bool { return e.Open() == nil && bounded.q.h.poller.Waiting(announced, "orders:2") }, soon, time.Millisecond)
	offeredTo(t, bounded, "a")
	<-done
	_, err = late.Offer(t.Context(), "due", 0)
	require.NoError(t, err)
	keep(t, late)
	for v, err := range late.Consume(t.Context()) {
		require.NoError(t, err)
		if v == "due" {
			break
		}
	}
	_, err = late.Delete(t.Context())
	require.NoError(t, err)
	offered(t, q, "a")
	_, err = q.Copy(t.Context(), "orders:5")
	require.NoError(t, err)
	_, err = q.Rename(t.Context(), "orders:3")
	require.NoError(t, err)
	user.NothingDenied(t)
}

// operations is every operation that neither waits nor leaves the name.
func operations(q *Queue[string], b *Bounded[string], d *Delayed[string]) []func(ctx context.Context) error {
	return []func(ctx context.Context) error{
		func(ctx context.Context) error { _, err := q.Offer(ctx, "a"); return err },
		func(ctx context.Context) error { _, err := q.OfferFirst(ctx, "a"); return err },
		func(ctx context.Context) error { _, err := q.OfferIfExists(ctx, "a"); return err },
		func(ctx context.Context) error { _, err := q.Poll(ctx); return err },
		func(ctx context.Context) error { _, err := q.PollLast(ctx); return err },
		func(ctx context.Context) error { _, err := q.PollN(ctx, 2); return err },
		func(ctx context.Context) error { _, err := q.Peek(ctx); return err },
		func(ctx context.Context) error { _, err := q.PeekLast(ctx); return err },
		func(ctx context.Context) error { _, err := q.Take(ctx); return err },
		func(ctx context.Context) error { _, err := q.TakeLast(ctx); return err },
		func(ctx context.Context) error { _, _, err := TakeAny(ctx, q, q); return err },
		func(ctx context.Context) error { _, err := q.MoveTo(ctx, q); return err },
		func(ctx context.Context) error { _, err := q.Remove(ctx, "a", 1); return err },
		func(ctx context.Context) error { _, err := q.Drain(ctx); return err },
		func(ctx context.Context) error { return redistest.FirstError(q.Values(ctx)) },
		func(ctx context.Context) error { return first(q.Consume(ctx)) },
		func(ctx context.Context) error { _, err := q.Len(ctx); return err },
		func(ctx context.Context) error { _, err := q.Exists(ctx); return err },
		func(ctx context.Context) error { _, err := q.Expire(ctx, time.Hour); return err },
		func(ctx context.Context) error { _, err := q.Persist(ctx); return err },
		func(ctx context.Context) error { _, err := q.Remaining(ctx); return err },
		func(ctx context.Context) error { _, err := q.ExpireAt(ctx, time.Now().Add(time.Hour)); return err },
		func(ctx context.Context) error { _, err := q.SizeInMemory(ctx); return err },
		func(ctx context.Context) error { _, err := q.Delete(ctx); return err },
		func(ctx context.Context) error { _, err := b.Offer(ctx, "a"); return err },
		func(ctx context.Context) error { _, err := b.TryOffer(ctx, "a"); return err },
		func(ctx context.Context) error { _, err := b.Poll(ctx); return err },
		func(ctx context.Context) error { _, err := b.PollN(ctx, 2); return err },
		func(ctx context.Context) error { _, err := b.Peek(ctx); return err },
		func(ctx context.Context) error { _, err := b.Take(ctx); return err },
		func(ctx context.Context) error { _, err := b.Remove(ctx, "a", 1); return err },
		func(ctx context.Context) error { _, err := b.Drain(ctx); return err },
		func(ctx context.Context) error { return redistest.FirstError(b.Values(ctx)) },
		func(ctx context.Context) error { return first(b.Consume(ctx)) },
		func(ctx context.Context) error { _, err := b.Free(ctx); return err },
		func(ctx context.Context) error { _, err := b.Len(ctx); return err },
		func(ctx context.Context) error { _, err := b.Exists(ctx); return err },
		func(ctx context.Context) error { return b.Reconcile(ctx, 20) },
		func(ctx context.Context) error { _, err := b.TrySetCapacity(ctx, 20); return err },
		func(ctx context.Context) error { _, err := b.Expire(ctx, time.Hour); return err },
		func(ctx context.Context) error { _, err := b.Persist(ctx); return err },
		func(ctx context.Context) error { _, err := b.Remaining(ctx); return err },
		func(ctx context.Context) error { _, err := d.Offer(ctx, "a", time.Hour); return err },
		func(ctx context.Context) error { _, err := d.Move(ctx); return err },
		func(ctx context.Context) error { _, err := d.Poll(ctx); return err },
		func(ctx context.Context) error { _, err := d.Take(ctx); return err },
		func(ctx context.Context) error { _, err := d.Remove(ctx, "a", 1); return err },
		func(ctx context.Context) error { _, err := d.Len(ctx); return err },
		func(ctx context.Context) error {
			for _, err := range d.Waiting(ctx) {
				return err
			}
			return nil
		},
	}
}

func first(all func(yield func(string, error) bool)) error {
	for _, err := range all {
		return err
	}
	return nil
}
