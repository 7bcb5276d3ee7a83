package rwlock

import (
	"cmp"
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/lock"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// Lock is a handle on the read-write lock of one name. It has no state of any acquisition. Any
// number of goroutines may use it, and all handles on one name are the same lock.
type Lock struct {
	on     server
	reader reader
	writer writer
	read   Side
	write  Side
	label  string // the name as the caller wrote it
	bad    error  // what every operation returns, if the name or an option cannot be used
}

// New returns a handle on the read-write lock of that name. Programs call client.RWLock(name),
// which returns the same. New is for packages that take a [Client] and do not import rueidisson.
func New(c Client, name string, opts ...Option) *Lock {
	e := c.Engine()
	mapped := e.Map(name)
	l := &Lock{label: name, on: server{
		e: e, name: mapped, channel: keys.RWChannel(mapped), gone: keys.Tombstones(mapped),
		claims: keys.RWClaims(mapped), waiting: keys.RWReaders(mapped), turn: keys.RWTurn(mapped),
	}}
	l.reader, l.writer = reader{&l.on}, writer{server: &l.on}
	l.read = Side{l: l, kind: readKind}
	l.write = Side{l: l, kind: writeKind}
	l.bad = cmp.Or(object.CheckName(l.on.e, l.on.name), object.Apply(l, opts, Option.apply))
	return l
}

// Name returns the name that the handle was made with, before any mapping.
func (l *Lock) Name() string { return l.label }

// Read returns the read side, which any number of holders have at once. Source:
// RReadWriteLock.readLock.
func (l *Lock) Read() *Side { return &l.read }

// Write returns the write side, which excludes all other holders. Source: RReadWriteLock.writeLock.
func (l *Lock) Write() *Side { return &l.write }

// Readers returns the holds of the read side at this moment, as the master sees them; none if the
// read side is free. Goroutines of one client that share one acquisition count as one. Reads under
// a write hold's context are part of the write hold. Remaining is the rest of each reader's own
// lease: 0 if that has ended, and the reader is about to be dropped. ctx bounds the round trips.
//
// Cost: two script calls, and one more for each 1,000 readers.
// Errors: ctx's, [lock.ErrClosed], [lock.ErrInvalidArgument], [lock.ErrWrongKind], and those of
// Redis.
func (l *Lock) Readers(ctx context.Context) ([]lock.Holder, error) {
	readers, err := ask(ctx, l, func() ([]lock.Holder, error) { return l.on.readers(ctx) })
	return readers, l.failed("readers of", err)
}

// Writer returns the holder of the write side at this moment. Its Owner ends in ":write"; it is
// empty if the write side is free. ctx bounds the round trip.
//
// Cost: one script call. Errors: as [Lock.Readers].
func (l *Lock) Writer(ctx context.Context) (lock.Holder, error) {
	st, err := ask(ctx, l, func() (state, error) { return l.on.inspect(ctx) })
	if w := st.writer(); w.owner != "" {
		return l.on.holderOf(w, st.left), nil
	}
	return lock.Holder{}, l.failed("writer of", err)
}

// Locked reports whether the lock is held, on either side. Cost and errors: as [Lock.Writer].
func (l *Lock) Locked(ctx context.Context) (bool, error) {
	st, err := ask(ctx, l, func() (state, error) { return l.on.inspect(ctx) })
	return st.mode != "", l.failed("inspect", err)
}

// Remaining returns the time until the lock is free if no holder renews or unlocks it: 0 if it is
// free, -1 if it never expires. Cost and errors: as [Lock.Writer].
func (l *Lock) Remaining(ctx context.Context) (time.Duration, error) {
	st, err := ask(ctx, l, func() (state, error) { return l.on.inspect(ctx) })
	return st.left, l.failed("inspect", err)
}

// Waiting returns how many processes listen for releases of the lock. That is about the number of
// processes that wait for either side; see [lock.Lock.Waiting]. ctx bounds the round trip.
//
// Cost: one command, PUBSUB NUMSUB or SHARDNUMSUB.
// Errors: ctx's error and cause; [lock.ErrClosed]; [lock.ErrInvalidArgument]; those of Redis.
func (l *Lock) Waiting(ctx context.Context) (int, error) {
	n, err := ask(ctx, l, func() (int, error) { return l.on.e.Listeners(ctx, l.on.channel) })
	return n, l.failed("count waiters of", err)
}

// ask makes a one-shot call: ctx bounds the round trip.
func ask[T any](ctx context.Context, l *Lock, call func() (T, error)) (result T, err error) {
	return object.Ask(ctx, l.on.e, l.bad, call)
}

// usable checks what every operation needs.
func (l *Lock) usable(ctx context.Context) error { return object.Usable(ctx, l.on.e, l.bad) }

// failed names the operation and the lock.
func (l *Lock) failed(op string, err error) error { return object.Failed(op, "", l.label, err) }
