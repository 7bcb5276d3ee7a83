package lock

import (
	"context"
	"errors"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/owner"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// Locker is what every lock of the family does.
type Locker interface {
	// Name is the name that the handle was made with.
	Name() string
	// Lock waits until the lock is free and acquires it, as [Lock.Lock] does. ctx bounds the wait.
	Lock(ctx context.Context, opts ...LockOption) (*Hold, error)
	// TryLock acquires the lock if it is free now, or becomes free within [WithWait], as [Lock.TryLock]
	// does. Else it returns [ErrNotAcquired].
	TryLock(ctx context.Context, opts ...TryOption) (*Hold, error)
}

var _ Locker = (*Lock)(nil)

// Lock is a handle on the reentrant lock of one name. It has no state of any acquisition. Any
// number of goroutines may use it, and all handles on one name are the same lock.
type Lock struct {
	p    protocol
	name string // as the caller wrote it
	bad  error  // what every operation returns, if the name cannot be used
}

// New returns a handle on the lock of that name. Programs call client.Lock(name), which returns the
// same. New is for packages that take a [Client] and do not import rueidisson.
func New(c Client, name string) *Lock {
	e := c.Engine()
	l := of(newProtocol(e, e.Map(name)), name)
	return &l
}

// of returns the handle of a protocol on what name is mapped to.
func of(p *protocol, name string) Lock {
	return Lock{p: *p, name: name, bad: object.CheckName(p.e, p.name)}
}

// Name returns the name that the handle was made with, before any mapping.
func (l *Lock) Name() string { return l.name }

// identity returns the client and the key of the lock.
func (l *Lock) identity() (*locking.Engine, core.Key) { return l.p.e, l.p.Key() }

// Lock waits until the lock is free and acquires it. ctx bounds only the wait: the hold outlives
// it. The watchdog renews the hold until [Hold.Unlock], unless [WithLease] fixes its lease.
//
// If ctx carries a hold of this lock, see [Hold.Context], Lock re-enters: it returns at once with a
// level of its own.
//
// A waiter sleeps until the lock is released, until the holder's lease ends, or for 5 s at most.
// Goroutines of one process queue in arrival order, and one of them talks to the server for all. If
// the server does not answer, or refuses for want of memory or disk, Lock waits for up to a
// watchdog timeout. During a slot migration it waits for as long as ctx lasts.
//
// Cost: one script call if the lock is free; none if a goroutine of this
// client hands it over, or on re-entry. A process that waits has one
// subscription per name, and makes one call per release.
// Errors: ctx's error and cause; [ErrClosed]; [ErrInvalidArgument]; [ErrNotReplicated];
// an error of Redis or of the network, wrapping [ErrOutcomeUnknown] if the acquire
// may have been done (it is undone as soon as the server answers again);
// [ErrWrongKind] if the name is another family's; [ErrLost] if the answers take longer than the lease.
// Source: the reentrant lock of Redisson, RLock.lock.
func (l *Lock) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	ask, err := resolve(opts)
	return l.acquire(ctx, "lock", ask, err)
}

// TryLock acquires the lock if it is free now, or becomes free within [WithWait]. Else it returns
// [ErrNotAcquired]. If a goroutine of this client holds the lock, waits for it, or is about to
// release it, TryLock answers without a request to the server.
//
// Cost, wire and other errors: as [Lock.Lock]. Source: RLock.tryLock.
func (l *Lock) TryLock(ctx context.Context, opts ...TryOption) (*Hold, error) {
	ask, err := resolveTry(opts)
	return l.acquire(ctx, "try lock", ask, err)
}

func (l *Lock) acquire(ctx context.Context, op string, ask locking.Ask, err error) (*Hold, error) {
	if err == nil {
		err = l.usable(ctx)
	}
	if err != nil {
		return nil, l.failed(op, err)
	}
	if kind, outer := carried(ctx, (*itself)(l)); outer != nil {
		// The caller would wait for itself. A fenced hold is one of the lock, too; not the reverse, as it has a token.
		if own := l.p.Label(); kind != own && (kind != "fenced" || own != "lock") {
			return nil, l.failed(op, lockkit.OtherKind(kind, own))
		}
		hold, err := outer.reenter(ctx, ask)
		if !errors.Is(err, errOuterEnded) {
			return hold, l.failed(op, err)
		}
	}
	hold, err := newHold(func(seat lease.Seat) (locking.Holding, error) {
		return l.p.e.Acquire(ctx, &l.p, ask, seat)
	}, l)
	return hold, l.failed(op, err)
}

// Join takes part in a hold with a level of its own. The hold is one that its holder has made
// joinable with [Hold.Token], or a Java hold. The lock stays held until every level is unlocked, in
// any order. The watchdog renews the level unless [WithLease] is given. A joined Java hold is
// renewed more often. But Redisson replaces its lease when the Java thread re-enters or unlocks, so
// it may be lost earlier than this side can know.
//
// Cost: one script call; unlocking takes two.
// Errors: [ErrLost] if the hold has ended; [ErrToken]; else as [Lock.Lock].
func (l *Lock) Join(ctx context.Context, t Token, opts ...LockOption) (*Hold, error) {
	ask, err := resolve(opts)
	if err == nil {
		err = t.check()
	}
	if err == nil {
		err = l.usable(ctx)
	}
	if err != nil {
		return nil, l.failed("join", err)
	}
	hold, err := newHold(func(seat lease.Seat) (locking.Holding, error) {
		return l.p.e.Join(ctx, &l.p, t.String(), t.id.Class() == owner.Foreign, ask, seat)
	}, l)
	return hold, l.failed("join", err)
}

// ForceUnlock takes the lock away from its holder, and reports whether there was one. A holder of
// this library learns it at its next renewal, a third of the watchdog timeout away, or when it
// unlocks. Until then it works on, next to the lock's new holder. The request is sent once: after
// [ErrOutcomeUnknown] the lock may have been taken away. For a read-write lock ForceUnlock changes
// nothing and returns [ErrWrongKind]. ctx bounds the round trip.
//
// Cost: one script call. Source: RLock.forceUnlock.
func (l *Lock) ForceUnlock(ctx context.Context) (held bool, err error) {
	held, err = ask(ctx, l, func() (bool, error) { return l.p.force(ctx) })
	if held {
		l.p.e.Hurry(l.p.Key()) // a holder of this client learns it before its next renewal
	}
	return held, l.failed("force unlock", err)
}

// Holder describes the holder of a lock at the moment of the request.
type Holder struct {
	// Owner is the text in Redis, "<client id>:<decimal>"; "" if the lock is free. Goroutines of
	// one client that hand the lock over share one.
	Owner string
	// Count is the number of levels on the server: 1 for a private hold of this library, whose
	// re-entries are counted in its process.
	Count int
	// Remaining is the rest of the lease, -1 if the lock never expires.
	Remaining time.Duration
	// Mine says that the owner belongs to this client.
	Mine bool
}

// Held reports whether the lock is held.
func (h Holder) Held() bool { return h.Owner != "" }

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
// Errors: ctx's, [ErrClosed], [ErrInvalidArgument], [ErrWrongKind], and those of Redis.
func (l *Lock) Holder(ctx context.Context) (Holder, error) {
	h, err := ask(ctx, l, func() (Holder, error) { return l.p.inspect(ctx) })
	return h, l.failed("inspect", err)
}

// Waiting returns how many processes listen for the lock's release. That is about the number of
// waiting processes: a listener stays for a moment after its last waiter. On a cluster with plain
// channels only the listeners of one node are counted. ctx bounds the round trip.
//
// Cost: one command, PUBSUB NUMSUB or SHARDNUMSUB.
// Errors: ctx's error and cause; [ErrClosed]; [ErrInvalidArgument]; those of Redis.
func (l *Lock) Waiting(ctx context.Context) (int, error) {
	n, err := ask(ctx, l, func() (int, error) { return l.p.e.Listeners(ctx, l.p.Channel()) })
	return n, l.failed("count waiters of", err)
}

// ask makes a one-shot call: ctx bounds the round trip.
func ask[T any](ctx context.Context, l *Lock, call func() (T, error)) (result T, err error) {
	return object.Ask(ctx, l.p.e, l.bad, call)
}

// usable checks what every operation needs.
func (l *Lock) usable(ctx context.Context) error { return object.Usable(ctx, l.p.e, l.bad) }

// failed names the operation and the lock.
func (l *Lock) failed(op string, err error) error { return object.Failed(op, "", l.name, err) }

// Do locks l, runs fn under the hold's context, and unlocks. ctx bounds the wait for the lock, and
// fn's context ends with it. Do returns the errors of fn and of the unlock, joined. [ErrLost] after
// fn succeeded means that the work may have overlapped with the work of another holder.
//
// Cost and other errors: as [Lock.Lock] and [Hold.Unlock].
func Do(ctx context.Context, l Locker, fn func(ctx context.Context) error, opts ...LockOption) (err error) {
	hold, err := l.Lock(ctx, opts...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hold.Unlock(ctx)) }()
	return fn(hold.Context(ctx))
}
