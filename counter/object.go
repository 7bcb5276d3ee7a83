package counter

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// common has the operations on a whole object, which are the same for every kind.
type common struct{ o *whole.Object }

// Name returns the name that the handle was made with, before any mapping.
func (c common) Name() string { return c.o.Name }

// Delete deletes the object, and reports whether there was one.
//
// Cost: one command. Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown], also if ctx ends before the answer; ctx's error and
// cause; [ErrClosed]; Redis' and the network's. Source: RObject.delete.
func (c common) Delete(ctx context.Context) (there bool, err error) { return c.o.Delete(ctx) }

// Exists reports whether the object is there.
//
// Cost: one command. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's.
// Source: RObject.isExists.
func (c common) Exists(ctx context.Context) (there bool, err error) { return c.o.Exists(ctx) }

// Expire deletes the object when d has passed, and reports whether there is one.
//
// Cost: one script call. Errors: as Delete. Source: RObject.expire.
func (c common) Expire(ctx context.Context, d time.Duration) (there bool, err error) {
	return c.o.Expire(ctx, d)
}

// ExpireAt deletes the object at a time, by the clock of the server. A time that has passed deletes it at once. ExpireAt
// returns [ErrInvalidArgument] if the time is not after 1970, or is too far ahead.
//
// Cost: one script call. Errors: as Delete. Source: RObject.expire.
func (c common) ExpireAt(ctx context.Context, at time.Time) (there bool, err error) {
	return c.o.ExpireAt(ctx, at)
}

// Persist removes the time to live, and reports whether there was one.
//
// Cost: one script call. Errors: as Delete. Source: RObject.clearExpire.
func (c common) Persist(ctx context.Context) (had bool, err error) { return c.o.Persist(ctx) }

// Remaining returns how long the object stays: 0 if there is none, -1 if it has no end.
//
// Cost: one command. Errors: as Exists. Source: RObject.remainTimeToLive.
func (c common) Remaining(ctx context.Context) (left time.Duration, err error) {
	return c.o.Remaining(ctx)
}

// Rename gives the object another name, over an object that has that name, and reports whether there was one to rename. The
// handle stays one on the old name. On a cluster both names share a hash tag, such as a:{1} and b:{1}.
//
// Cost: one script call. Errors: as Delete. Source: RObject.rename.
func (c common) Rename(ctx context.Context, to string) (bool, error) { return c.o.Rename(ctx, to) }
