package sortedset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// base has the key of a set, and does not know the type of its members.
type base struct {
	whole.Object
	h *hub
}

// newBase returns what a handle has without its codec; bad is an error of its options.
func newBase(e *locking.Engine, kind, name string, bad error) *base {
	b := &base{whole.New(e, kind, "sorted set", name, whole.Alone), hubOf(e)}
	anySlot := func(string) error { return nil }
	b.Bad = cmp.Or(bad, object.CheckNameBy(e, b.Key, anySlot), e.Fits(len(b.Key)))
	return b
}

// read sends a command that changes nothing. ctx bounds the wait for it.
func read[A any](ctx context.Context, b *base, as func(send.Answer, error) (A, error), op send.Operation, args ...string) (answer A, err error) {
	if err = b.Usable(ctx); err != nil {
		return answer, err
	}
	return whole.Read(ctx, &b.Object, as, op, args...)
}

// write sends a command, or a script, about keys. ctx bounds the wait for it; it may be done still when that has ended.
func write[A any](ctx context.Context, b *base, as func(send.Answer, error) (A, error), op send.Operation, on []string, args ...string) (answer A, err error) {
	if err = b.Usable(ctx); err != nil {
		return answer, err
	}
	return send.Sent(b.Engine.Sender, ctx, func(ctx context.Context) (A, error) {
		return as(b.Engine.RunBriefly(ctx, op, on, args))
	})
}

// checkCount refuses a negative number of members.
func checkCount(n int) error {
	if n < 0 {
		return fmt.Errorf("%w: %d members", ErrInvalidArgument, n)
	}
	return nil
}

// decimal returns a number for commands.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// common has the operations on a whole set.
type common struct{ b *base }

// Name returns the name that the handle was made with, before any mapping.
func (c common) Name() string { return c.b.Object.Name }

// Delete deletes the set, and reports whether there was one.
//
// Cost: one command. Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown], which also ends a ctx that ends before the
// answer; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RScoredSortedSet.delete.
func (c common) Delete(ctx context.Context) (there bool, err error) { return c.b.Delete(ctx) }

// Exists reports whether there is such a set: it has a member.
//
// Cost: one command. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's.
// Source: RScoredSortedSet.isExists.
func (c common) Exists(ctx context.Context) (there bool, err error) { return c.b.Exists(ctx) }

// Expire deletes the whole set when d has passed, with all that is added until then, and reports whether there is one. A set
// that has become empty, and is written anew, has no such time.
//
// Cost: one script call. Errors: as Delete. Source: RScoredSortedSet.expire.
func (c common) Expire(ctx context.Context, d time.Duration) (there bool, err error) {
	return c.b.Expire(ctx, d)
}

// ExpireAt deletes the whole set at a time, as Expire does after a duration, by the clock of the
// server. A time that has passed deletes it at once. ExpireAt returns [ErrInvalidArgument]
// if the time is not after 1970, or is too far ahead.
//
// Cost: one script call. Errors: as Delete. Source: RScoredSortedSet.expire.
func (c common) ExpireAt(ctx context.Context, at time.Time) (there bool, err error) {
	return c.b.ExpireAt(ctx, at)
}

// Persist removes the time of Expire, and reports whether there was one.
//
// Cost: one script call. Errors: as Delete. Source: RScoredSortedSet.clearExpire.
func (c common) Persist(ctx context.Context) (had bool, err error) { return c.b.Persist(ctx) }

// Remaining returns how long the set stays: 0 if there is none, -1 if it has no end.
//
// Cost: one command. Errors: as Exists. Source: RScoredSortedSet.remainTimeToLive.
func (c common) Remaining(ctx context.Context) (left time.Duration, err error) {
	return c.b.Remaining(ctx)
}

// Rename gives the set another name, over what has that name, and reports whether there was one to rename. It keeps
// its time to live. The handle stays one on the old name. On a cluster both names share a hash tag, such as a:{1} and
// b:{1}.
//
// Cost: one script call. Errors: as Delete. Source: RScoredSortedSet.rename.
func (c common) Rename(ctx context.Context, to string) (bool, error) { return c.b.Rename(ctx, to) }

// RenameIfAbsent renames the set, as Rename does, if nothing has the new name, and reports
// whether it did.
//
// Cost: one script call. Errors: as Delete. Source: RScoredSortedSet.renamenx.
func (c common) RenameIfAbsent(ctx context.Context, to string) (bool, error) {
	return c.b.RenameIfAbsent(ctx, to)
}

// Copy copies the set under another name, with its time to live, if nothing has that name, and reports whether it
// did. On a cluster both names share a hash tag. The server does nothing else meanwhile: some tenths of a second for a million members.
//
// Cost: one script call. Errors: as Delete. Source: RScoredSortedSet.copy.
func (c common) Copy(ctx context.Context, to string) (bool, error) { return c.b.Copy(ctx, to) }

// Len returns how many members there are.
//
// Cost: one command. Errors: as Exists. Source: RScoredSortedSet.size.
func (c common) Len(ctx context.Context) (n int64, err error) {
	n, err = read(ctx, c.b, send.Number, zcard)
	return n, c.b.Failed("count", err)
}

// SizeInMemory returns about how many bytes the set takes on the server, 0 if there is none. An ACL has to
// allow memory|usage.
//
// Cost: one script call. Errors: as Exists. Source: RScoredSortedSet.sizeInMemory.
func (c common) SizeInMemory(ctx context.Context) (n int64, err error) { return c.b.SizeInMemory(ctx) }

// with returns the key of this set, and those of others in its slot.
func (b *base) with(names ...string) ([]string, error) {
	keys := []string{b.Key}
	for _, name := range names {
		key := b.Engine.Map(name)
		if key == "" {
			return nil, fmt.Errorf("%w: empty name of another set", ErrInvalidArgument)
		}
		if err := b.Engine.Fits(len(key)); err != nil {
			return nil, err
		}
		if b.Engine.Cluster() && !b.Engine.SameSlot(b.Key, key) {
			return nil, fmt.Errorf("%w: %s is in another slot of the cluster: give both names one hash tag", ErrInvalidArgument, object.Quoted(name))
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// severalFailed names the operation and the set in the error of an operation on several sets.
func (b *base) severalFailed(op string, err error) error {
	switch {
	case send.WrongType(err):
		return object.Failed(op, b.Kind, b.Name, fmt.Errorf("one of the keys is no sorted set: %w", err))
	case send.UnknownCommand(err):
		err = fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return b.Failed(op, err)
}
