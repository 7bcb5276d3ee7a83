package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// door is where those of a process wait who have something to offer to a bounded
// queue that is full. One of them looks whether there is room; the others stand
// behind it, in order.
type door struct {
	places.Entry
	first chan struct{} // full while somebody is
}

func newDoor(string) *door { return &door{first: make(chan struct{}, 1)} }

// put offers elements when there is room.
func (q *bounded[T]) put(ctx context.Context, vs []T) (size int64, err error) {
	if err = q.usable(ctx); err == nil && len(vs) > mostInOne {
		err = fmt.Errorf("%w: %d elements at once: at most %d", ErrOption, len(vs), mostInOne)
	}
	if err == nil && len(vs) == 0 {
		return q.length(ctx)
	}
	var texts []string
	if err == nil {
		texts, err = q.encode(vs...)
	}
	if err == nil {
		size, err = q.offerInOrder(ctx, texts)
	}
	return size, q.failed("offer to", err)
}

// offerInOrder offers elements when there is room, behind those of the process who
// wait for that already.
func (q *bounded[T]) offerInOrder(ctx context.Context, texts []string) (int64, error) {
	d := q.h.doors.Get(q.key)
	defer q.h.doors.Put(q.key, d)
	if len(d.first) == 0 {
		if size, err := q.offerNow(ctx, texts); !errors.Is(err, ErrFull) && !q.waitsFor(ctx, err) {
			return size, err
		}
	}
	return q.offerLater(ctx, d, texts)
}

// waitsFor reports whether a first offer that failed is no reason not to wait.
func (q *bounded[T]) waitsFor(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && engine.Passing(err) && !engine.MayHaveRun(err) && !ours(err)
}

// ours reports an outcome that is not the server's word.
func ours(err error) bool {
	return errors.Is(err, ErrNoCapacity) || errors.Is(err, ErrFull) || errors.Is(err, ErrOption) || errors.Is(err, ErrClosed)
}

// tryPut offers an element now, or within a time.
func (q *bounded[T]) tryPut(ctx context.Context, v T, opts []TryOption) (size int64, err error) {
	cfg, err := resolveTry(opts)
	if err == nil {
		err = q.usable(ctx)
	}
	var texts []string
	if err == nil {
		texts, err = q.encode(v)
	}
	if err == nil {
		size, err = q.offerNow(ctx, texts)
	}
	if errors.Is(err, ErrFull) && cfg.wait > 0 {
		waiting, cancel := context.WithTimeout(ctx, cfg.wait)
		defer cancel()
		if size, err = q.offerInOrder(waiting, texts); err != nil && waiting.Err() != nil && ctx.Err() == nil && !engine.MayHaveRun(err) {
			err = ErrFull
		}
	}
	return size, q.failed("offer to", err)
}

// offerNow offers if there is room. It is sent once. If ctx ends well before the
// answer, nobody knows.
func (q *bounded[T]) offerNow(ctx context.Context, texts []string) (int64, error) {
	size, err, answered := engine.Await(q.h.e, ctx, patience, func() (int64, error) { return q.offerOnce(ctx, texts) })
	if !answered {
		err = fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return size, err
}

func (q *bounded[T]) offerOnce(ctx context.Context, texts []string) (int64, error) {
	size, err := engine.Number(q.run(ctx, boundedOffer, q.object, texts...))
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

// offerLater waits for room, behind those of the process who came before.
func (q *bounded[T]) offerLater(ctx context.Context, d *door, texts []string) (int64, error) {
	select {
	case d.first <- struct{}{}:
	case <-ctx.Done():
		return 0, engine.ContextError(ctx)
	case <-q.h.e.Closing():
		return 0, ErrClosed
	}
	defer func() { <-d.first }()
	return q.watch(ctx, texts)
}

// watch offers whenever there may be room.
func (q *bounded[T]) watch(ctx context.Context, texts []string) (size int64, err error) {
	over := q.h.e.Watch(ctx, engine.Watch{
		Key:      engine.Key{Kind: "bounded queue", Name: q.key},
		Channels: q.channels(),
		Look: func(ctx context.Context) (left time.Duration, done bool, _ error) {
			size, err = q.offerNow(ctx, texts)
			switch {
			case errors.Is(err, ErrFull):
				return -1, false, nil
			case q.waitsFor(ctx, err):
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

// channels are where it is announced that there is room.
func (q *bounded[T]) channels() []pubsub.Channel {
	plain := pubsub.Channel{Kind: pubsub.Plain, Name: q.channel}
	if q.sharded == "0" {
		return []pubsub.Channel{plain}
	}
	return []pubsub.Channel{plain, {Kind: pubsub.Sharded, Name: q.channel}}
}
