package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/keys"
)

// What is done to all keys of a queue is the same for every kind of queue.

func (q *handle[T]) length(ctx context.Context) (n int64, err error) {
	if err = q.usable(ctx); err == nil {
		n, err = read(ctx, q, engine.Number, llen)
	}
	return n, q.failed("count", err)
}

func (q *handle[T]) deleteAll(ctx context.Context) (there bool, err error) {
	if err = q.usable(ctx); err == nil {
		there, err = write(ctx, q, engine.Yes, unlink, q.object)
	}
	return there, q.failed("delete", err)
}

func (q *handle[T]) exists(ctx context.Context) (there bool, err error) {
	if err = q.usable(ctx); err == nil {
		there, err = read(ctx, q, engine.Yes, exists)
	}
	return there, q.failed("look for", err)
}

func (q *handle[T]) expire(ctx context.Context, d time.Duration) (there bool, err error) {
	if err = engine.CheckTTL("time to live", d); err == nil {
		there, err = q.setTime(ctx, decimal(engine.Millis(d)))
	}
	return there, q.failed("expire", err)
}

func (q *handle[T]) expireAt(ctx context.Context, at time.Time) (there bool, err error) {
	ms, err := engine.Instant(at)
	if err == nil {
		there, err = q.setTime(ctx, ms)
	}
	return there, q.failed("expire", err)
}

func (q *handle[T]) sizeInMemory(ctx context.Context) (n int64, err error) {
	if err = q.usable(ctx); err == nil {
		n, err = engine.Reading(q.h.e, ctx, func() (int64, error) { return q.h.e.SizeInMemory(ctx, q.object) })
	}
	return n, q.failed("measure", err)
}

func (q *handle[T]) persist(ctx context.Context) (had bool, err error) {
	had, err = q.setTime(ctx, "")
	return had, q.failed("persist", err)
}

func (q *handle[T]) setTime(ctx context.Context, ms string) (bool, error) {
	if err := q.usable(ctx); err != nil {
		return false, err
	}
	return write(ctx, q, engine.Yes, expireScript, q.object, ms)
}

func (q *handle[T]) remaining(ctx context.Context) (left time.Duration, err error) {
	if err = q.usable(ctx); err == nil {
		left, err = engine.Remainder(read(ctx, q, engine.Number, pttl))
	}
	return left, q.failed("look at", err)
}

func (q *handle[T]) rename(ctx context.Context, to string, object func(key string) []string, ifAbsent bool) (done bool, err error) {
	pairs, err := q.renaming(ctx, to, object)
	if err == nil {
		done, err = write(ctx, q, engine.Yes, renameScript, pairs, flag(ifAbsent))
	}
	return done, q.failed("rename", err)
}

func flag(is bool) string {
	if is {
		return "1"
	}
	return "0"
}

func (q *handle[T]) copyTo(ctx context.Context, to string, object func(key string) []string) (done bool, err error) {
	pairs, err := q.renaming(ctx, to, object)
	if err == nil {
		done, err = write(ctx, q, engine.Yes, copyScript, pairs)
	}
	return done, q.failed("copy", err)
}

// renaming is the keys of the queue, each with its new name.
func (q *handle[T]) renaming(ctx context.Context, to string, object func(key string) []string) ([]string, error) {
	if err := q.usable(ctx); err != nil {
		return nil, err
	}
	mapped := q.h.e.Map(to)
	if mapped == "" {
		return nil, fmt.Errorf("%w: empty new name", ErrOption)
	}
	if err := q.together(mapped); err != nil {
		return nil, err
	}
	var pairs []string
	for i, key := range object(mapped) {
		pairs = append(pairs, q.object[i], key)
	}
	return pairs, nil
}

// together refuses a key that no command can have beside those of the queue.
func (q *handle[T]) together(key string) error {
	if !q.h.e.Cluster() {
		return nil
	}
	if err := keys.OnCluster(key); err != nil || !q.h.e.SameSlot(q.key, key) {
		return fmt.Errorf("%w: %q is in another slot of the cluster: give both names one hash tag", ErrOption, key)
	}
	return nil
}
