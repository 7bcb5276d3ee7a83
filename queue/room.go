package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/wait"
)

// put offers elements by a push when there is room.
func (q *bounded[T]) put(ctx context.Context, push string, vs []T) (size int64, err error) {
	if err = q.Usable(ctx); err == nil && len(vs) > paging.Most {
		err = fmt.Errorf("%w: %d elements at once: at most %d", ErrInvalidArgument, len(vs), paging.Most)
	}
	if err == nil && len(vs) == 0 {
		return q.length(ctx)
	}
	var texts []string
	if err == nil {
		texts, err = q.encode(vs...)
	}
	if err == nil {
		d := q.h.doors.Get(q.Key)
		defer q.h.doors.Put(q.Key, d)
		size, err = q.offerInOrder(ctx, d, append([]string{push}, texts...))
		q.offered(ctx, len(vs), err)
	}
	return size, q.Failed("offer to", err)
}

// offerInOrder offers elements by push, when there is room, after the callers of the process that
// already wait for it.
func (q *bounded[T]) offerInOrder(ctx context.Context, d *wait.Door, words []string) (int64, error) {
	if len(d.First) == 0 {
		if size, err := q.offerNow(ctx, words); !errors.Is(err, ErrFull) && !q.waitsFor(ctx, err) {
			return size, err
		}
	}
	return q.offerLater(ctx, d, words)
}

// waitsFor reports whether a first offer that failed is no reason not to wait.
func (q *bounded[T]) waitsFor(ctx context.Context, err error) bool {
	ours := errors.Is(err, ErrNoCapacity) || errors.Is(err, ErrFull) || errors.Is(err, ErrInvalidArgument) || errors.Is(err, ErrClosed)
	return err != nil && ctx.Err() == nil && send.Transient(err) && !send.MayHaveRun(err) && !ours
}

// tryPut offers an element now, or within a time.
func (q *bounded[T]) tryPut(ctx context.Context, push string, v T, opts []TryOption) (size int64, err error) {
	cfg, err := object.Options(tryConfig{}, opts, TryOption.applyTry)
	if err == nil {
		err = q.Usable(ctx)
	}
	var texts []string
	if err == nil {
		texts, err = q.encode(v)
	}
	words := append([]string{push}, texts...)
	if err == nil {
		size, err = q.offerNow(ctx, words)
	}
	if errors.Is(err, ErrFull) && cfg.wait > 0 {
		waiting, cancel := core.Within(ctx, cfg.wait)
		defer cancel()
		d := q.h.doors.Get(q.Key)
		defer q.h.doors.Put(q.Key, d)
		d.Outage.Refused(q.h.e.Sender)
		if size, err = q.offerInOrder(waiting, d, words); err != nil && waiting.Err() != nil && ctx.Err() == nil && !send.MayHaveRun(err) {
			// ErrFull is the server's answer, of late. After a failure the error is that failure.
			if err = d.Outage.Ended(q.h.e.Sender, core.ContextError(waiting)); err == core.ErrNotAcquired {
				err = ErrFull
			}
		}
	}
	q.offered(ctx, 1, err)
	return size, q.Failed("offer to", err)
}

// offerNow offers if there is room. It is sent once. If ctx ends well before the
// answer, nobody knows.
func (q *bounded[T]) offerNow(ctx context.Context, words []string) (int64, error) {
	size, err, answered := send.Await(q.h.e.Sender, ctx, patience, func() (int64, error) { return q.offerOnce(ctx, words) })
	if !answered {
		err = core.Left(err)
	}
	return size, err
}

func (q *bounded[T]) offerOnce(ctx context.Context, words []string) (int64, error) {
	size, err := send.Number(q.run(ctx, boundedOffer, q.Keys, words...))
	switch {
	case err != nil:
		return 0, err
	case size == -1:
		return 0, ErrFull
	case size == -2:
		return 0, ErrNoCapacity
	}
	return size, nil
}

// offerLater waits for room, after the callers of the process that came before.
func (q *bounded[T]) offerLater(ctx context.Context, d *wait.Door, words []string) (int64, error) {
	since := q.h.e.Now().Mono
	select {
	case d.First <- struct{}{}:
	case <-ctx.Done():
		return 0, d.Outage.Because(q.h.e.Sender, core.ContextError(ctx))
	case <-q.h.e.Closing():
		return 0, ErrClosed
	}
	defer func() { <-d.First }()
	size, err := q.watch(ctx, d, since, words)
	if err != nil && ctx.Err() != nil {
		err = d.Outage.Because(q.h.e.Sender, err)
	}
	return size, err
}

// watch offers whenever there may be room, unless another who waited has given the server
// up since.
func (q *bounded[T]) watch(ctx context.Context, d *wait.Door, since time.Duration, words []string) (size int64, err error) {
	channels := []pubsub.Channel{{Kind: pubsub.Plain, Name: q.channel}} // where it is announced that there is room
	if q.sharded != "0" {
		channels = append(channels, pubsub.Channel{Kind: pubsub.Sharded, Name: q.channel})
	}
	over := q.h.e.Watch(ctx, wait.Watch{
		Key:      core.Key{Kind: "bounded queue", Name: q.Key},
		Channels: channels, Outage: &d.Outage, Since: since,
		Look: func(ctx context.Context) (left time.Duration, done bool, _ error) {
			size, err = q.offerNow(ctx, words)
			switch {
			case errors.Is(err, ErrFull):
				return -1, false, nil
			case q.waitsFor(ctx, err), err != nil && ctx.Err() != nil: // which is no answer
				return -1, false, err
			}
			return 0, true, nil
		},
	})
	if over != nil {
		return 0, over
	}
	return size, err
}
