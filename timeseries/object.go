package timeseries

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// base has the keys of a time series, and does not know the type of its values.
type base struct {
	whole.Object
	h *hub
}

// newBase returns what a handle has without its codec; bad is an error of its options.
func newBase(e *locking.Engine, name string, bad error) *base {
	b := &base{whole.New(e, "time series", "sorted set", name, keys.Series), hubOf(e)}
	b.Bad = cmp.Or(bad, object.CheckName(e, b.Key), e.Fits(len(b.Key)))
	return b
}

// checkCount refuses a negative number of entries.
func checkCount(n int) error {
	if n < 0 {
		return fmt.Errorf("%w: %d entries", ErrInvalidArgument, n)
	}
	return nil
}

// common has the operations on a whole series.
type common struct{ b *base }

// Name returns the name that the handle was made with, before any mapping.
func (c common) Name() string { return c.b.Object.Name }

// Delete deletes the series, and reports whether there was one. Times to live without entries count, too, as in Redisson.
//
// Cost: one command. Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown], which also ends a ctx that ends before the
// answer; ctx's error and cause; [ErrSlotMoving]; [ErrClosed]; Redis' and the network's. Source: RTimeSeries.delete.
func (c common) Delete(ctx context.Context) (there bool, err error) { return c.b.Delete(ctx) }

// Exists reports whether there is such a series: it has an entry. An expired one counts until it is swept.
//
// Cost: one command. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's.
// Source: RTimeSeries.isExists.
func (c common) Exists(ctx context.Context) (there bool, err error) { return c.b.Exists(ctx) }

// Expire deletes the whole series when d has passed, with all that is added until then, and reports whether there is one. A series
// that has become empty, and is written anew, has no such time. Times to live without entries count, too, as in Redisson.
//
// Cost: one script call. Errors: as Delete. Source: RTimeSeries.expire.
func (c common) Expire(ctx context.Context, d time.Duration) (there bool, err error) {
	return c.b.Expire(ctx, d)
}

// ExpireAt deletes the whole series at a time, as Expire does after a duration, by the clock of the
// server. A time that has passed deletes it at once. ExpireAt returns [ErrInvalidArgument]
// if the time is not after 1970, or is too far ahead.
//
// Cost: one script call. Errors: as Delete. Source: RTimeSeries.expire.
func (c common) ExpireAt(ctx context.Context, at time.Time) (there bool, err error) {
	return c.b.ExpireAt(ctx, at)
}

// Persist removes the time of Expire, and reports whether there was one.
//
// Cost: one script call. Errors: as Delete. Source: RTimeSeries.clearExpire.
func (c common) Persist(ctx context.Context) (had bool, err error) { return c.b.Persist(ctx) }

// Remaining returns how long the whole series stays: 0 if there is none, -1 if it has no end. It says nothing of the times of entries.
//
// Cost: one command. Errors: as Exists. Source: RTimeSeries.remainTimeToLive.
func (c common) Remaining(ctx context.Context) (left time.Duration, err error) {
	return c.b.Remaining(ctx)
}

// SizeInMemory returns about how many bytes the series takes on the server, 0 if there is none. An ACL has to
// allow memory|usage.
//
// Cost: one script call. Errors: as Exists. Source: RTimeSeries.sizeInMemory.
func (c common) SizeInMemory(ctx context.Context) (n int64, err error) { return c.b.SizeInMemory(ctx) }
