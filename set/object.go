package set

import (
	"cmp"
	"context"
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

// newBase returns what a handle has without its codec; bad is an error of its options. onCluster says which names a cluster
// takes.
func newBase(e *locking.Engine, kind, of, name string, bad error, onCluster func(string) error) *base {
	b := &base{whole.New(e, kind, of, name, whole.Alone), hubOf(e)}
	b.Bad = cmp.Or(bad, object.CheckNameBy(e, b.Key, onCluster), e.Fits(len(b.Key)))
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

// writes sends a command that changes the set for each part of texts, and adds up what it answers.
func (b *base) writes(ctx context.Context, op send.Operation, texts []string) (int64, error) {
	return inParts(texts, mostMembers, func(some []string) (int64, error) {
		return write(ctx, b, send.Number, op, b.Keys, some...)
	})
}

// mostRandom bounds what is picked at random.
const mostRandom = 10_000

// checkCount refuses a number of members that is negative, or above most.
func checkCount(n, most int) error {
	if n < 0 || n > most {
		return fmt.Errorf("%w: %d members: from 0 to %d", ErrInvalidArgument, n, most)
	}
	return nil
}

// decimal returns a number for commands.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// common has the operations that [Set] and [Cache] share.
type common struct{ b *base }

// Name returns the name that the handle was made with, before any mapping.
func (c common) Name() string { return c.b.Object.Name }

// Delete deletes the set, and reports whether there was one.
//
// Cost: one command. Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown], which also ends a ctx that ends before the
// answer; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RSet.delete.
func (c common) Delete(ctx context.Context) (there bool, err error) { return c.b.Delete(ctx) }

// Exists reports whether there is such a set: it has a member. Of a [Cache] an expired one counts until it is swept.
//
// Cost: one command. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's.
// Source: RSet.isExists.
func (c common) Exists(ctx context.Context) (there bool, err error) { return c.b.Exists(ctx) }

// Expire deletes the whole set when d has passed, with all that is added until then, and reports whether there is one. A set
// that has become empty, and is written anew, has no such time.
//
// Cost: one script call. Errors: as Delete. Source: RSet.expire.
func (c common) Expire(ctx context.Context, d time.Duration) (there bool, err error) {
	return c.b.Expire(ctx, d)
}

// ExpireAt deletes the whole set at a time, as Expire does after a duration, by the clock of the
// server. A time that has passed deletes it at once. ExpireAt returns [ErrInvalidArgument]
// if the time is not after 1970, or is too far ahead.
//
// Cost: one script call. Errors: as Delete. Source: RSet.expire.
func (c common) ExpireAt(ctx context.Context, at time.Time) (there bool, err error) {
	return c.b.ExpireAt(ctx, at)
}

// Persist removes the time of Expire, and reports whether there was one.
//
// Cost: one script call. Errors: as Delete. Source: RSet.clearExpire.
func (c common) Persist(ctx context.Context) (had bool, err error) { return c.b.Persist(ctx) }

// Rename gives the set another name, over what has that name, and reports whether there was one to rename. It keeps
// its time to live. The handle stays one on the old name. On a cluster both names share a hash tag, such as a:{1} and
// b:{1}.
//
// Cost: one script call. Errors: as Delete. Source: RSet.rename.
func (c common) Rename(ctx context.Context, to string) (bool, error) { return c.b.Rename(ctx, to) }

// RenameIfAbsent renames the set, as Rename does, if nothing has the new name, and reports
// whether it did.
//
// Cost: one script call. Errors: as Delete. Source: RSet.renamenx.
func (c common) RenameIfAbsent(ctx context.Context, to string) (bool, error) {
	return c.b.RenameIfAbsent(ctx, to)
}

// Copy copies the set under another name, with its time to live, if nothing has that name, and reports whether it
// did. On a cluster both names share a hash tag. The server does nothing else meanwhile: about 0.1 s for a million members.
//
// Cost: one script call. Errors: as Delete. Source: RSet.copy.
func (c common) Copy(ctx context.Context, to string) (bool, error) { return c.b.Copy(ctx, to) }

// SizeInMemory returns about how many bytes the set takes on the server, 0 if there is none. An ACL has to
// allow memory|usage.
//
// Cost: one script call. Errors: as Exists. Source: RSet.sizeInMemory.
func (c common) SizeInMemory(ctx context.Context) (n int64, err error) { return c.b.SizeInMemory(ctx) }
