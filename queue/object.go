package queue

import (
	"context"
	"errors"
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// base has the keys of a queue, and does not know the type of its elements.
type base struct {
	whole.Object
	h     *hub
	count *scripts.Command
}

// common has the operations on a whole queue, which are the same for every kind.
type common struct{ q *base }

// Name returns the name that the handle was made with, before any mapping.
func (c common) Name() string { return c.q.Object.Name }

// Len returns how many elements there are.
//
// Cost: one command. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's.
// Source: RQueue.size, RScoredSortedSet.size.
func (c common) Len(ctx context.Context) (int64, error) { return c.q.length(ctx) }

// Delete deletes the queue, a bounded one and a ring buffer with the capacity, and reports whether there was one.
//
// Cost: one command. Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown], which also ends a ctx that ends before the
// answer; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RObject.delete.
func (c common) Delete(ctx context.Context) (there bool, err error) { return c.q.Delete(ctx) }

// Exists reports whether there is an element at all.
//
// Cost: one command. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's.
// Source: RObject.isExists.
func (c common) Exists(ctx context.Context) (there bool, err error) { return c.q.Exists(ctx) }

// Expire deletes the whole object when d has passed, with all that is added until then, and reports whether
// there is one. A queue that was empty in between is a new one, and stays.
//
// Cost: one script call. Errors: as Delete. Source: RObject.expire.
func (c common) Expire(ctx context.Context, d time.Duration) (there bool, err error) {
	return c.q.Expire(ctx, d)
}

// ExpireAt deletes the whole object at a time, as Expire does after a duration, by the clock of the
// server. A time that has passed deletes the object at once. ExpireAt returns [ErrInvalidArgument]
// if the time is not after 1970, or is too far ahead.
//
// Cost: one script call. Errors: as Delete. Source: RObject.expire.
func (c common) ExpireAt(ctx context.Context, at time.Time) (there bool, err error) {
	return c.q.ExpireAt(ctx, at)
}

// Persist removes the time of Expire, and reports whether there was one.
//
// Cost: one script call. Errors: as Delete. Source: RObject.clearExpire.
func (c common) Persist(ctx context.Context) (had bool, err error) { return c.q.Persist(ctx) }

// Remaining returns how long the object stays: 0 if there is none, -1 if it has no end.
//
// Cost: one command. Errors: as Exists. Source: RObject.remainTimeToLive.
func (c common) Remaining(ctx context.Context) (left time.Duration, err error) {
	return c.q.Remaining(ctx)
}

// Rename gives the object another name, with its capacity if it has one, over an object that has that name,
// and reports whether there was one to rename. The handle stays one on the old name. On a cluster both
// names share a hash tag, such as a:{1} and b:{1}.
//
// Cost: one script call. Errors: as Delete. Source: RObject.rename.
func (c common) Rename(ctx context.Context, to string) (bool, error) { return c.q.Rename(ctx, to) }

// RenameIfAbsent renames the object, as Rename does, if nothing has the new name, and reports
// whether it did.
//
// Cost: one script call. Errors: as Delete. Source: RObject.renamenx.
func (c common) RenameIfAbsent(ctx context.Context, to string) (bool, error) {
	return c.q.RenameIfAbsent(ctx, to)
}

// Copy copies the object under another name, if nothing has that name, and reports whether it did.
// It copies the capacity, if there is one, and the time when the object expires. The server does
// nothing else meanwhile, about 20 ms for a million elements. On a cluster both names share a hash
// tag.
//
// Cost: one script call. Errors: as Delete. Source: RObject.copy.
func (c common) Copy(ctx context.Context, to string) (bool, error) { return c.q.Copy(ctx, to) }

// SizeInMemory returns about how many bytes the object takes on the server, 0 if there is none. An ACL has to
// allow memory|usage.
//
// Cost: one script call. Errors: as Exists. Source: RObject.sizeInMemory.
func (c common) SizeInMemory(ctx context.Context) (n int64, err error) { return c.q.SizeInMemory(ctx) }

// length counts the elements.
func (q *base) length(ctx context.Context) (n int64, err error) {
	if err = q.Usable(ctx); err == nil {
		n, err = whole.Read(ctx, &q.Object, send.Number, q.count)
	}
	return n, q.Failed("count", err)
}

// offered tells of elements that were offered, unless err says otherwise.
func (q *base) offered(ctx context.Context, n int, err error) {
	if err == nil {
		q.h.e.Offered(ctx, q.Kind, q.Key, n)
	}
}

// took tells of elements that were taken, unless err says otherwise. What does not decode was.
func (q *base) took(ctx context.Context, n int, err error) {
	if err == nil || errors.Is(err, codec.ErrDecode) {
		q.h.e.Taken(ctx, q.Kind, q.Key, n)
	}
}

// run sends one command or script about the queue.
func (q *base) run(ctx context.Context, op send.Operation, on []string, args ...string) (send.Answer, error) {
	return q.h.e.Run(ctx, op, on, args)
}
