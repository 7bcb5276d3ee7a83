package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// base has the keys of a queue, and does not know the type of its elements.
type base struct {
	h      *hub
	kind   string // "queue", for errors
	is     string // "list", for errors
	name   string // as the caller wrote it
	key    string // as it is mapped
	count  *scripts.Command
	keysOf func(key string) []string
	object []string // all keys, that of the elements first
	bad    error    // what every operation returns, if the handle cannot be used
}

// common has the operations on a whole queue, which are the same for every kind.
type common struct{ q *base }

// Name returns the name that the handle was made with, before any mapping.
func (c common) Name() string { return c.q.name }

// Len returns how many elements there are.
//
// Cost: one command. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's.
// Source: RQueue.size, RScoredSortedSet.size.
func (c common) Len(ctx context.Context) (int64, error) { return c.q.length(ctx) }

// Delete deletes the object, a bounded one and a ring buffer with the capacity, a stream with its groups, and reports whether
// there was one.
//
// Cost: one command. Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown], which also ends a ctx that ends before the
// answer; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RObject.delete.
func (c common) Delete(ctx context.Context) (there bool, err error) {
	if err = c.q.usable(ctx); err == nil {
		there, err = write(ctx, c.q, send.Yes, unlink, c.q.object)
	}
	return there, c.q.failed("delete", err)
}

// Exists reports whether there is an element at all. A stream also exists without entries.
//
// Cost: one command. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's.
// Source: RObject.isExists.
func (c common) Exists(ctx context.Context) (there bool, err error) {
	if err = c.q.usable(ctx); err == nil {
		there, err = read(ctx, c.q, send.Yes, exists)
	}
	return there, c.q.failed("look for", err)
}

// Expire deletes the whole object when d has passed, with all that is added until then, and reports whether
// there is one. Except a stream, one that was empty in between is a new one, and stays.
//
// Cost: one script call. Errors: as Delete. Source: RObject.expire.
func (c common) Expire(ctx context.Context, d time.Duration) (there bool, err error) {
	if err = send.CheckTTL("time to live", d); err == nil {
		there, err = c.q.setTime(ctx, decimal(core.Millis(d)))
	}
	return there, c.q.failed("expire", err)
}

// ExpireAt is Expire at a time, by the clock of the server. A time that has passed deletes the object at
// once. ExpireAt returns [ErrInvalidArgument] if the time is not after 1970, or is too far ahead.
//
// Cost: one script call. Errors: as Delete. Source: RObject.expire.
func (c common) ExpireAt(ctx context.Context, at time.Time) (there bool, err error) {
	ms, err := send.Instant(at)
	if err == nil {
		there, err = c.q.setTime(ctx, ms)
	}
	return there, c.q.failed("expire", err)
}

// Persist removes the time of Expire, and reports whether there was one.
//
// Cost: one script call. Errors: as Delete. Source: RObject.clearExpire.
func (c common) Persist(ctx context.Context) (had bool, err error) {
	had, err = c.q.setTime(ctx, "")
	return had, c.q.failed("persist", err)
}

// Remaining returns how long the object stays: 0 if there is none, -1 if it has no end.
//
// Cost: one command. Errors: as Exists. Source: RObject.remainTimeToLive.
func (c common) Remaining(ctx context.Context) (left time.Duration, err error) {
	if err = c.q.usable(ctx); err == nil {
		left, err = send.Remainder(read(ctx, c.q, send.Number, pttl))
	}
	return left, c.q.failed("look at", err)
}

// Rename gives the object another name, with its capacity if it has one, over an object that has that name,
// and reports whether there was one to rename. The handle stays one on the old name. On a cluster both
// names share a hash tag, such as a:{1} and b:{1}.
//
// Cost: one script call. Errors: as Delete. Source: RObject.rename.
func (c common) Rename(ctx context.Context, to string) (bool, error) {
	return c.q.pairs(ctx, "rename", to, renameScript, "0")
}

// RenameIfAbsent is Rename if nothing has the new name, and reports whether that is so and there is an
// object to rename.
//
// Cost: one script call. Errors: as Delete. Source: RObject.renamenx.
func (c common) RenameIfAbsent(ctx context.Context, to string) (bool, error) {
	return c.q.pairs(ctx, "rename", to, renameScript, "1")
}

// Copy copies the object under another name, with its capacity or groups if it has some and the time when it ends, if
// nothing has that name, and reports whether that is so and there is an object. The server does nothing else
// meanwhile, about 20 ms for a million elements. On a cluster both names share a hash tag.
//
// Cost: one script call. Errors: as Delete. Source: RObject.copy.
func (c common) Copy(ctx context.Context, to string) (bool, error) {
	return c.q.pairs(ctx, "copy", to, copyScript)
}

// SizeInMemory returns about how many bytes the object takes on the server, 0 if there is none. An ACL has to
// allow memory|usage.
//
// Cost: one script call. Errors: as Exists. Source: RObject.sizeInMemory.
func (c common) SizeInMemory(ctx context.Context) (n int64, err error) {
	if err = c.q.usable(ctx); err == nil {
		n, err = send.Reading(c.q.h.e.Sender, ctx, func() (int64, error) { return c.q.h.e.SizeInMemory(ctx, c.q.object) })
	}
	return n, c.q.failed("measure", err)
}

// setTime ends the object at a time in ms since 1970, or never if there is none.
func (q *base) setTime(ctx context.Context, ms string) (bool, error) {
	if err := q.usable(ctx); err != nil {
		return false, err
	}
	return write(ctx, q, send.Yes, expireScript, q.object, ms)
}

// pairs runs a script about the keys of the object and those of one of another name.
func (q *base) pairs(ctx context.Context, op, to string, by send.Operation, args ...string) (done bool, err error) {
	var on []string
	if err = q.usable(ctx); err == nil {
		on, err = object.Renamed(q.h.e, q.key, to, q.keysOf)
	}
	if err == nil {
		done, err = write(ctx, q, send.Yes, by, on, args...)
	}
	return done, q.failed(op, err)
}

// length counts the elements.
func (q *base) length(ctx context.Context) (n int64, err error) {
	if err = q.usable(ctx); err == nil {
		n, err = read(ctx, q, send.Number, q.count)
	}
	return n, q.failed("count", err)
}

// usable checks what every operation needs.
func (q *base) usable(ctx context.Context) error { return object.Usable(ctx, q.h.e, q.bad) }

// failed names the operation and the queue.
func (q *base) failed(op string, err error) error {
	if send.WrongType(err) {
		if len(q.object) > 1 {
			err = fmt.Errorf("one of the keys %q is of another type: %w", q.object, err)
		} else {
			err = fmt.Errorf("key %q is no %s: %w", q.key, q.is, err)
		}
	}
	return object.Failed(op, q.kind, q.name, err)
}

// offered tells of elements that were offered, unless err says otherwise.
func (q *base) offered(ctx context.Context, n int, err error) {
	if err == nil {
		q.h.e.Offered(ctx, q.kind, q.key, n)
	}
}

// took tells of elements that were taken, unless err says otherwise. What does not decode was.
func (q *base) took(ctx context.Context, n int, err error) {
	if err == nil || errors.Is(err, codec.ErrDecode) {
		q.h.e.Taken(ctx, q.kind, q.key, n)
	}
}

// run sends one command or script about the queue.
func (q *base) run(ctx context.Context, op send.Operation, on []string, args ...string) (send.Answer, error) {
	return q.h.e.Run(ctx, op, on, args)
}

// read sends one command that changes nothing. ctx bounds the wait for it.
func read[A any](ctx context.Context, q *base, as func(send.Answer, error) (A, error), cmd send.Operation, args ...string) (A, error) {
	return send.Reading(q.h.e.Sender, ctx, func() (A, error) { return as(q.run(ctx, cmd, []string{q.key}, args...)) })
}

// write sends one command, or script, that changes something, and takes nothing
// that would be lost. ctx bounds the wait for it; it may be done still when that
// has ended.
func write[A any](ctx context.Context, q *base, as func(send.Answer, error) (A, error), op send.Operation, on []string, args ...string) (A, error) {
	return send.Sent(q.h.e.Sender, ctx, func(ctx context.Context) (A, error) { return as(q.run(ctx, op, on, args...)) })
}
