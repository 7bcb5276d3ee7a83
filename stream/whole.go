package stream

import (
	"context"
	"time"
)

// common has the operations on a whole stream.
type common struct{ q *base }

// Name returns the name that the handle was made with, before any mapping.
func (c common) Name() string { return c.q.Object.Name }

// Delete deletes the stream with its groups, and reports whether there was one. Dead letters of groups stay:
// see [Group.PurgeDead].
//
// Cost: one command. Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown], which also ends a ctx that ends before the
// answer; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RObject.delete.
func (c common) Delete(ctx context.Context) (there bool, err error) { return c.q.Delete(ctx) }

// Exists reports whether there is a stream. A stream also exists without entries.
//
// Cost: one command. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's.
// Source: RObject.isExists.
func (c common) Exists(ctx context.Context) (there bool, err error) { return c.q.Exists(ctx) }

// Expire deletes the whole stream when d has passed, with all that is added until then, and reports whether
// there is one.
//
// Cost: one script call. Errors: as Delete. Source: RObject.expire.
func (c common) Expire(ctx context.Context, d time.Duration) (there bool, err error) {
	return c.q.Expire(ctx, d)
}

// ExpireAt deletes the stream at a time, as Expire does after a duration, by the clock of the
// server. A time that has passed deletes the stream at once. ExpireAt returns [ErrInvalidArgument]
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

// Remaining returns how long the stream stays: 0 if there is none, -1 if it has no end.
//
// Cost: one command. Errors: as Exists. Source: RObject.remainTimeToLive.
func (c common) Remaining(ctx context.Context) (left time.Duration, err error) {
	return c.q.Remaining(ctx)
}

// Rename gives the stream another name, with its groups, over a stream that has that name,
// and reports whether there was one to rename. Dead letters of groups keep the old name. The handle
// stays one on the old name. On a cluster both names share a hash tag, such as a:{1} and b:{1}.
//
// Cost: one script call. Errors: as Delete. Source: RObject.rename.
func (c common) Rename(ctx context.Context, to string) (bool, error) { return c.q.Rename(ctx, to) }

// RenameIfAbsent renames the stream, as Rename does, if nothing has the new name, and reports
// whether it did.
//
// Cost: one script call. Errors: as Delete. Source: RObject.renamenx.
func (c common) RenameIfAbsent(ctx context.Context, to string) (bool, error) {
	return c.q.RenameIfAbsent(ctx, to)
}

// Copy copies the stream under another name, with its groups and the time when it expires, if
// nothing has that name, and reports whether that is so and there is a stream. The server does nothing else
// meanwhile, about 20 ms for a million entries. On a cluster both names share a hash tag.
//
// Cost: one script call. Errors: as Delete. Source: RObject.copy.
func (c common) Copy(ctx context.Context, to string) (bool, error) { return c.q.Copy(ctx, to) }

// SizeInMemory returns about how many bytes the stream takes on the server, 0 if there is none. An ACL has to
// allow memory|usage.
//
// Cost: one script call. Errors: as Exists. Source: RObject.sizeInMemory.
func (c common) SizeInMemory(ctx context.Context) (n int64, err error) { return c.q.SizeInMemory(ctx) }
