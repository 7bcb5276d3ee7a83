package bloom

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// common has the operations on the whole filter.
type common struct {
	o      *whole.Object
	config *whole.Object // the same, for what is asked of its config
}

func newCommon(c Client, name string, err error) common {
	o := whole.New(c.Engine(), "bloom filter", "string", name, keysOf)
	if o.Bad = err; err == nil {
		o.Bad = object.CheckName(c.Engine(), o.Key)
	}
	config := o
	config.Key = keys.BloomConfig(o.Key)
	return common{&o, &config}
}

// keysOf returns the keys of a filter: the bitmap and the config.
func keysOf(key string) []string { return []string{key, keys.BloomConfig(key)} }

// Name returns the name that the handle was made with, before any mapping.
func (c common) Name() string { return c.o.Name }

// Delete deletes the filter, and reports whether there was one. Operations that are under way return [ErrNotSet]; none of
// them leaves bits.
//
// Cost: one command. Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown], also if ctx ends before the answer; ctx's error and
// cause; [ErrClosed]; Redis' and the network's. Source: RBloomFilter.delete.
func (c common) Delete(ctx context.Context) (there bool, err error) { return c.o.Delete(ctx) }

// Exists reports whether there is a filter: whether Init has made one, here or in Java.
//
// Cost: one command. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's.
// Source: RBloomFilter.isExists.
func (c common) Exists(ctx context.Context) (there bool, err error) { return c.config.Exists(ctx) }

// Expire deletes the filter when d has passed, and reports whether there is one.
//
// Cost: one script call. Errors: as Delete. Source: RBloomFilter.expire.
func (c common) Expire(ctx context.Context, d time.Duration) (there bool, err error) {
	return c.o.Expire(ctx, d)
}

// ExpireAt deletes the filter at a time, by the clock of the server. A time that has passed deletes it at once. ExpireAt
// returns [ErrInvalidArgument] if the time is not after 1970, or is too far ahead.
//
// Cost: one script call. Errors: as Delete. Source: RBloomFilter.expireAt.
func (c common) ExpireAt(ctx context.Context, at time.Time) (there bool, err error) {
	return c.o.ExpireAt(ctx, at)
}

// Persist removes the time to live, and reports whether there was one.
//
// Cost: one script call. Errors: as Delete. Source: RBloomFilter.clearExpire.
func (c common) Persist(ctx context.Context) (had bool, err error) { return c.o.Persist(ctx) }

// Remaining returns how long the filter stays: 0 if there is none, -1 if it has no end.
//
// Cost: one command. Errors: as Exists. Source: RBloomFilter.remainTimeToLive.
func (c common) Remaining(ctx context.Context) (left time.Duration, err error) {
	return c.config.Remaining(ctx)
}

// Rename gives the filter another name, over a filter that has that name, and reports whether there was one to rename. The
// handle stays one on the old name. On a cluster both names share a hash tag, such as a:{1} and b:{1}.
//
// Cost: one script call. Errors: as Delete. Source: RBloomFilter.rename.
func (c common) Rename(ctx context.Context, to string) (bool, error) { return c.o.RenameBy(ctx, to, 2) }
