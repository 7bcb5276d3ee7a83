package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// base has the key of a bucket, and does not know the type of its value.
type base struct {
	whole.Object
	h *hub
}

// newBase returns what a handle has without its codec; bad is an error of its options.
func newBase(e *locking.Engine, kind, name string, bad error) *base {
	b := &base{whole.New(e, kind, "string", name, whole.Alone), hubOf(e)}
	b.Bad = cmp.Or(bad, object.CheckAlone(e, b.Key))
	return b
}

// Failed names the operation and the bucket in an error that is not nil.
func (b *base) Failed(op string, err error) error {
	if b.Type == document {
		err = unread(err)
	}
	return b.Object.Failed(op, unsaid(err))
}

// unsaid returns an error without what a server says of a command that it does not know: that has the first arguments in it,
// and so the value.
func unsaid(err error) error {
	var reply *rueidis.RedisError
	if !errors.As(err, &reply) || !send.UnknownCommand(reply) {
		return err
	}
	return fmt.Errorf("%w: the server does not know the command", errors.ErrUnsupported)
}

// read sends a command that changes nothing. ctx bounds the wait for it.
func read[A any](ctx context.Context, b *base, as func(send.Answer, error) (A, error), op send.Operation, args ...string) (answer A, err error) {
	if err = b.Usable(ctx); err != nil {
		return answer, err
	}
	return whole.Read(ctx, &b.Object, as, op, args...)
}

// write sends a command, or a script, that changes the bucket. ctx bounds the wait for it; it may be done still when that
// has ended.
func write[A any](ctx context.Context, b *base, as func(send.Answer, error) (A, error), op send.Operation, args ...string) (answer A, err error) {
	if err = b.Usable(ctx); err != nil {
		return answer, err
	}
	return whole.WriteBriefly(ctx, &b.Object, as, op, b.Keys, args...)
}

// common has the operations that [Bucket], [Bytes] and [JSON] share.
type common struct{ b *base }

// measured has those that [Bucket] and [Bytes] share.
type measured struct{ common }

// Name returns the name that the handle was made with, before any mapping.
func (c common) Name() string { return c.b.Object.Name }

// Size returns how many bytes there are, 0 if there is no such bucket.
//
// Cost: one command. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's.
// Source: RBucket.size.
func (c measured) Size(ctx context.Context) (n int64, err error) {
	n, err = read(ctx, c.b, send.Number, strlen)
	return n, c.b.Failed("measure", err)
}

// Delete deletes the bucket, and reports whether there was one.
//
// Cost: one command. Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown], which also ends a ctx that ends before the
// answer; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RBucket.delete.
func (c common) Delete(ctx context.Context) (there bool, err error) { return c.b.Delete(ctx) }

// Exists reports whether there is such a bucket.
//
// Cost: one command. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's. Source:
// RBucket.isExists.
func (c common) Exists(ctx context.Context) (there bool, err error) { return c.b.Exists(ctx) }

// Expire deletes the bucket when d has passed, and reports whether there is one. A write without [WithTTL] or
// [WithKeepTTL] ends that: what it writes is permanent.
//
// Cost: one script call. Errors: as Delete. Source: RBucket.expire.
func (c common) Expire(ctx context.Context, d time.Duration) (there bool, err error) {
	return c.b.Expire(ctx, d)
}

// ExpireAt deletes the bucket at a time, as Expire does after a duration, by the clock of the
// server. A time that has passed deletes it at once. ExpireAt returns [ErrInvalidArgument]
// if the time is not after 1970, or is too far ahead.
//
// Cost: one script call. Errors: as Delete. Source: RBucket.expire.
func (c common) ExpireAt(ctx context.Context, at time.Time) (there bool, err error) {
	return c.b.ExpireAt(ctx, at)
}

// Persist makes the bucket permanent, and reports whether it had an end.
//
// Cost: one script call. Errors: as Delete. Source: RBucket.clearExpire.
func (c common) Persist(ctx context.Context) (had bool, err error) { return c.b.Persist(ctx) }

// Remaining returns how long the bucket stays: 0 if there is none, -1 if it has no end.
//
// Cost: one command. Errors: as Exists. Source: RBucket.remainTimeToLive.
func (c common) Remaining(ctx context.Context) (left time.Duration, err error) {
	return c.b.Remaining(ctx)
}

// Rename gives the bucket another name, over what has that name, and reports whether there was one to rename. It keeps
// its time to live. The handle stays one on the old name. On a cluster both names share a hash tag, such as a:{1} and
// b:{1}.
//
// Cost: one script call. Errors: as Delete. Source: RBucket.rename.
func (c common) Rename(ctx context.Context, to string) (bool, error) { return c.b.Rename(ctx, to) }

// RenameIfAbsent renames the bucket, as Rename does, if nothing has the new name, and reports
// whether it did.
//
// Cost: one script call. Errors: as Delete. Source: RBucket.renamenx.
func (c common) RenameIfAbsent(ctx context.Context, to string) (bool, error) {
	return c.b.RenameIfAbsent(ctx, to)
}

// Copy copies the bucket under another name, with its time to live, if nothing has that name, and reports whether it
// did. On a cluster both names share a hash tag.
//
// Cost: one script call. Errors: as Delete. Source: RBucket.copy.
func (c common) Copy(ctx context.Context, to string) (bool, error) { return c.b.Copy(ctx, to) }

// SizeInMemory returns about how many bytes the bucket takes on the server, 0 if there is none. An ACL has to
// allow memory|usage.
//
// Cost: one script call. Errors: as Exists. Source: RBucket.sizeInMemory.
func (c common) SizeInMemory(ctx context.Context) (n int64, err error) { return c.b.SizeInMemory(ctx) }
