package list

import (
	"context"
	"time"
)

// Name returns the name that the handle was made with, before any mapping.
func (l *List[T]) Name() string { return l.o.Name }

// Delete deletes the list, and reports whether there was one.
//
// Cost: one command. Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown], which also ends a ctx that ends before the
// answer; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RList.delete.
func (l *List[T]) Delete(ctx context.Context) (there bool, err error) { return l.o.Delete(ctx) }

// Exists reports whether there is such a list. An empty one does not exist.
//
// Cost: one command. Errors: as Len. Source: RList.isExists.
func (l *List[T]) Exists(ctx context.Context) (there bool, err error) { return l.o.Exists(ctx) }

// Expire deletes the list when d has passed, and reports whether there is one. Writes keep that time.
//
// Cost: one script call. Errors: as Delete. Source: RList.expire.
func (l *List[T]) Expire(ctx context.Context, d time.Duration) (there bool, err error) {
	return l.o.Expire(ctx, d)
}

// ExpireAt deletes the list at a time, as Expire does after a duration, by the clock of the
// server. A time that has passed deletes it at once. ExpireAt returns [ErrInvalidArgument]
// if the time is not after 1970, or is too far ahead.
//
// Cost: one script call. Errors: as Delete. Source: RList.expire.
func (l *List[T]) ExpireAt(ctx context.Context, at time.Time) (there bool, err error) {
	return l.o.ExpireAt(ctx, at)
}

// Persist makes the list permanent, and reports whether it had an end.
//
// Cost: one script call. Errors: as Delete. Source: RList.clearExpire.
func (l *List[T]) Persist(ctx context.Context) (had bool, err error) { return l.o.Persist(ctx) }

// Remaining returns how long the list stays: 0 if there is none, -1 if it has no end.
//
// Cost: one command. Errors: as Len. Source: RList.remainTimeToLive.
func (l *List[T]) Remaining(ctx context.Context) (left time.Duration, err error) {
	return l.o.Remaining(ctx)
}

// Rename gives the list another name, over what has that name, and reports whether there was one to rename. It keeps
// its time to live. The handle stays one on the old name. On a cluster both names share a hash tag, such as a:{1} and
// b:{1}.
//
// Cost: one script call. Errors: as Delete. Source: RList.rename.
func (l *List[T]) Rename(ctx context.Context, to string) (bool, error) { return l.o.Rename(ctx, to) }

// RenameIfAbsent renames the list, as Rename does, if nothing has the new name, and reports
// whether it did.
//
// Cost: one script call. Errors: as Delete. Source: RList.renamenx.
func (l *List[T]) RenameIfAbsent(ctx context.Context, to string) (bool, error) {
	return l.o.RenameIfAbsent(ctx, to)
}

// Copy copies the list under another name, with its time to live, if nothing has that name, and reports whether it
// did. On a cluster both names share a hash tag.
//
// Cost: one script call. Errors: as Delete. Source: RList.copy.
func (l *List[T]) Copy(ctx context.Context, to string) (bool, error) { return l.o.Copy(ctx, to) }

// SizeInMemory returns about how many bytes the list takes on the server, 0 if there is none. An ACL has to
// allow memory|usage.
//
// Cost: one script call. Errors: as Len. Source: RList.sizeInMemory.
func (l *List[T]) SizeInMemory(ctx context.Context) (n int64, err error) {
	return l.o.SizeInMemory(ctx)
}
