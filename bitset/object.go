package bitset

import (
	"context"
	"time"
)

// Name returns the name that the handle was made with, before any mapping.
func (s *Set) Name() string { return s.o.Name }

// Delete deletes the bitset, and reports whether there was one.
//
// Cost: one command. Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown], which also ends a ctx that ends before the
// answer; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RBitSet.delete.
func (s *Set) Delete(ctx context.Context) (there bool, err error) { return s.o.Delete(ctx) }

// Exists reports whether there is such a bitset. One whose bits are all 0 may be there.
//
// Cost: one command. Errors: as Count. Source: RBitSet.isExists.
func (s *Set) Exists(ctx context.Context) (there bool, err error) { return s.o.Exists(ctx) }

// Expire deletes the bitset when d has passed, and reports whether there is one. Writes keep that time.
//
// Cost: one script call. Errors: as Delete. Source: RBitSet.expire.
func (s *Set) Expire(ctx context.Context, d time.Duration) (there bool, err error) {
	return s.o.Expire(ctx, d)
}

// ExpireAt deletes the bitset at a time, as Expire does after a duration, by the clock of the
// server. A time that has passed deletes it at once. ExpireAt returns [ErrInvalidArgument]
// if the time is not after 1970, or is too far ahead.
//
// Cost: one script call. Errors: as Delete. Source: RBitSet.expire.
func (s *Set) ExpireAt(ctx context.Context, at time.Time) (there bool, err error) {
	return s.o.ExpireAt(ctx, at)
}

// Persist makes the bitset permanent, and reports whether it had an end.
//
// Cost: one script call. Errors: as Delete. Source: RBitSet.clearExpire.
func (s *Set) Persist(ctx context.Context) (had bool, err error) { return s.o.Persist(ctx) }

// Remaining returns how long the bitset stays: 0 if there is none, -1 if it has no end.
//
// Cost: one command. Errors: as Count. Source: RBitSet.remainTimeToLive.
func (s *Set) Remaining(ctx context.Context) (left time.Duration, err error) {
	return s.o.Remaining(ctx)
}

// Rename gives the bitset another name, over what has that name, and reports whether there was one to rename. It keeps
// its time to live. The handle stays one on the old name. On a cluster both names share a hash tag, such as a:{1} and
// b:{1}.
//
// Cost: one script call. Errors: as Delete. Source: RBitSet.rename.
func (s *Set) Rename(ctx context.Context, to string) (bool, error) { return s.o.Rename(ctx, to) }

// RenameIfAbsent renames the bitset, as Rename does, if nothing has the new name, and reports
// whether it did.
//
// Cost: one script call. Errors: as Delete. Source: RBitSet.renamenx.
func (s *Set) RenameIfAbsent(ctx context.Context, to string) (bool, error) {
	return s.o.RenameIfAbsent(ctx, to)
}

// Copy copies the bitset under another name, with its time to live, if nothing has that name, and reports whether it
// did. On a cluster both names share a hash tag.
//
// Cost: one script call. Errors: as Delete. Source: RBitSet.copy.
func (s *Set) Copy(ctx context.Context, to string) (bool, error) { return s.o.Copy(ctx, to) }

// SizeInMemory returns about how many bytes the bitset takes on the server, 0 if there is none. An ACL has to
// allow memory|usage.
//
// Cost: one script call. Errors: as Count. Source: RBitSet.sizeInMemory.
func (s *Set) SizeInMemory(ctx context.Context) (n int64, err error) { return s.o.SizeInMemory(ctx) }
