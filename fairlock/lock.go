package fairlock

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/lock"
)

// Client is a *rueidisson.Client.
type Client = object.Client

var _ lock.Locker = (*Lock)(nil)

// Lock is a handle on the fair lock of one name. It has no state of any acquisition. Any number of
// goroutines may use it, and all handles on one name are the same lock.
type Lock struct {
	p    *protocol
	name string // as the caller wrote it
	bad  error  // what every operation returns, if the name cannot be used
}

// New returns a handle on the fair lock of that name. Programs call client.FairLock(name), which
// returns the same. New is for packages that take a [Client] and do not import rueidisson.
func New(c Client, name string) *Lock { return newLock(c.Engine(), name, c.Engine().Map(name)) }

func newLock(e *locking.Engine, name, mapped string) *Lock {
	return &Lock{p: newProtocol(e, mapped), name: name, bad: object.CheckName(e, mapped)}
}

// Name returns the name that the handle was made with, before any mapping.
func (l *Lock) Name() string { return l.name }

func (l *Lock) handle() lockkit.Handle {
	return lockkit.Handle{Engine: l.p.e, Key: l.p.Key(), Name: l.name}
}

// Lock waits for its turn and acquires the lock. Waiters that were queued before, in any process,
// acquire it first; a waiter is queued when the server has confirmed it. ctx bounds only the wait:
// the hold outlives it. The watchdog renews the hold until [lock.Hold.Unlock], unless
// [lock.WithLease] fixes its lease.
//
// If ctx carries a hold of this lock, see [lock.Hold.Context], Lock re-enters: it returns at once
// with a level of its own.
//
// A waiter whose ctx ends leaves the queue at once, and if the lock is free the next waiter is
// notified. If the server does not answer, or refuses for want of memory or disk, Lock waits for up
// to a watchdog timeout. During a slot migration it waits for as long as ctx lasts.
//
// Cost: one script call if the lock is free; at most three for each waiter, one
// of them the unlock before it. A process with waiters has one subscription per
// name, and makes at most two calls a second while nothing changes.
// Errors: ctx's error and cause; [lock.ErrClosed]; [lock.ErrInvalidArgument];
// [lock.ErrNotReplicated]; an error of Redis or of the network, wrapping
// [lock.ErrOutcomeUnknown] if the acquire may have been done (it is undone as soon as
// the server answers again); [lock.ErrWrongKind] if the name is another family's;
// [lock.ErrLost] if the answers take longer than the lease.
// Source: Redisson's fair lock, RedissonFairLock.lock.
func (l *Lock) Lock(ctx context.Context, opts ...lock.LockOption) (*lock.Hold, error) {
	ask, err := lockkit.Resolve(opts)
	return l.acquire(ctx, "lock", ask, err)
}

// TryLock acquires the lock if it is free now and has no waiters, or if its turn comes within
// [lock.WithWait]. Else it returns [lock.ErrNotAcquired]. Without a wait it is never queued.
//
// Cost, wire and other errors: as [Lock.Lock]. Source: RedissonFairLock.tryLock.
func (l *Lock) TryLock(ctx context.Context, opts ...lock.TryOption) (*lock.Hold, error) {
	ask, err := lockkit.ResolveTry(opts)
	return l.acquire(ctx, "try lock", ask, err)
}

func (l *Lock) acquire(ctx context.Context, op string, ask locking.Ask, err error) (*lock.Hold, error) {
	if err == nil {
		err = l.usable(ctx)
	}
	if err != nil {
		return nil, l.failed(op, err)
	}
	if hold, there, err := lockkit.Reenter[lock.Hold](ctx, l.handle(), ask); there {
		return hold, l.failed(op, err)
	}
	hold, err := lock.NewHold(func(seat lease.Seat) (locking.Holding, error) {
		return l.p.e.Acquire(ctx, l.p, ask, seat)
	}, l.handle())
	return hold, l.failed(op, err)
}

// ForceUnlock takes the lock away from its holder, notifies the next waiter, and reports whether
// there was a holder. The queue stays. A holder of this library learns it at its next renewal, a
// third of the watchdog timeout away, or when it unlocks. Until then it works on, next to the
// lock's new holder. The request is sent once: after [lock.ErrOutcomeUnknown] the lock may have
// been taken away. ctx bounds the round trip.
//
// Cost: one script call.
// Errors: ctx's, [lock.ErrClosed], [lock.ErrInvalidArgument], [lock.ErrWrongKind], and those of
// Redis.
// Source: RedissonFairLock.forceUnlock.
func (l *Lock) ForceUnlock(ctx context.Context) (held bool, err error) {
	held, err = ask(ctx, l, func() (bool, error) { return l.p.force(ctx) })
	if held {
		l.p.e.Hurry(l.p.Key()) // a holder of this client learns it before its next renewal
	}
	return held, l.failed("force unlock", err)
}

// Locked reports whether the lock is held. Cost and errors: as [Lock.Holder].
func (l *Lock) Locked(ctx context.Context) (bool, error) {
	h, err := l.Holder(ctx)
	return h.Held(), err
}

// Remaining returns the rest of the present holder's lease: 0 if the lock is free, -1 if it never
// expires. Cost and errors: as [Lock.Holder].
func (l *Lock) Remaining(ctx context.Context) (time.Duration, error) {
	h, err := l.Holder(ctx)
	return h.Remaining, err
}

// Holder returns the holder of the lock at this moment, as the master sees it; its Owner is empty
// if the lock is free. ctx bounds the round trip.
//
// Cost: one script call.
// Errors: ctx's, [lock.ErrClosed], [lock.ErrInvalidArgument], and those of Redis.
func (l *Lock) Holder(ctx context.Context) (lock.Holder, error) {
	h, err := ask(ctx, l, func() (lock.Holder, error) { return lockkit.Inspect[lock.Holder](ctx, l.p.e, l.p.name) })
	return h, l.failed("inspect", err)
}

// Waiter is one entry of the queue.
type Waiter struct {
	// Owner is the text in Redis, "<client id>:<decimal>".
	Owner string
	// Java says that the waiter is a thread of Redisson.
	Java bool
	// Mine says that the waiter belongs to this client.
	Mine bool
}

// Queue returns the waiters for the lock at this moment, the next one first, as the master sees
// them. Some may have died: they are passed over when their turn comes. ctx bounds the round trip.
//
// Cost: one script call, which reads the whole queue. Errors: as [Lock.Holder].
func (l *Lock) Queue(ctx context.Context) ([]Waiter, error) {
	owners, err := ask(ctx, l, func() ([]string, error) { return send.Texts(l.p.e.Run(ctx, waitersScript, l.p.on[1:2], nil)) })
	if err != nil {
		return nil, l.failed("inspect", err)
	}
	queue := make([]Waiter, len(owners))
	for i, owner := range owners {
		queue[i] = Waiter{Owner: owner, Java: !ours(owner), Mine: l.p.Wake(owner) != ""}
	}
	return queue, nil
}

// ask makes a one-shot call: ctx bounds the round trip.
func ask[T any](ctx context.Context, l *Lock, call func() (T, error)) (result T, err error) {
	return object.Ask(ctx, l.p.e, l.bad, call)
}

// usable checks what every operation needs.
func (l *Lock) usable(ctx context.Context) error { return object.Usable(ctx, l.p.e, l.bad) }

// failed names the operation and the lock.
func (l *Lock) failed(op string, err error) error { return object.Failed(op, "", l.name, err) }
