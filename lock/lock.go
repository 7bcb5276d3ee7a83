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
	Lock(ctx context.Context, opts ...LockOption) (*Hold, error)
	TryLock(ctx context.Context, opts ...TryOption) (*Hold, error)
}

var _ Locker = (*Lock)(nil)

// Lock is a handle on the reentrant lock of one name. It holds nothing of any
// acquisition, so it may be used by any number of goroutines, and any number
// of handles on one name are the same lock.
type Lock struct {
	p    protocol
	name string // as the caller wrote it
	bad  error  // what every operation returns, if the name cannot be used
}

// New returns a handle. Programs outside of this module call
// rueidisson.Client.Lock.
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

// Lock waits until the lock is free and takes it. ctx bounds the wait and
// nothing else: the hold outlives it. The hold is renewed by the watchdog
// until [Hold.Unlock], unless [WithLease] fixes its lease.
//
// Under a context that carries a hold of this very lock, see [Hold.Context],
// Lock re-enters: it returns at once with a level of its own.
//
// A waiter sleeps until the lock is released, until the holder's lease ends,
// or for 5 s at most; goroutines of one process queue in arrival order, and
// one of them talks to the server for all. A server that does not answer, or
// that refuses for want of memory or disk, is waited for up to a watchdog
// timeout, and while the slot moves for as long as ctx lasts.
//
// Cost: one script call if the lock is free; none if a goroutine of this
// client hands it over, or on re-entry. A process that waits has one
// subscription per name, and makes one call per release.
// Wire: hash name, field owner, value hold count; PEXPIRE = lease in ms.
// Errors: ctx's error and cause; [ErrClosed]; [ErrInvalidArgument]; [ErrNotReplicated];
// an error of Redis or of the network, wrapping [ErrOutcomeUnknown] if the acquire
// may have been done (it is undone as soon as the server answers again);
// [ErrWrongKind] if the name is another family's; [ErrLost] if the answers take longer than the lease.
// Source: the reentrant lock of Redisson, RLock.lock.
func (l *Lock) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	ask, err := resolve(opts)
	return l.acquire(ctx, "lock", ask, err)
}

// TryLock takes the lock if it is free now, or becomes free within
// [WithWait]. It returns [ErrNotAcquired] if it does not. If a goroutine of
// this client holds the lock, waits for it, or is about to release it, the
// answer comes without asking the server.
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

// Join takes part in a hold that its holder has made joinable with
// [Hold.Token], or in a Java hold, with a level of its own. The lock stays
// held until every level is unlocked, in any order. The level is renewed by
// the watchdog unless [WithLease] is given. A joined Java hold is renewed more
// often, but Redisson replaces the lease when its own thread re-enters or
// unlocks, so it may be lost earlier than this side can know.
//
// Cost: one script call; unlocking takes two.
// Wire: HINCRBY name owner 1; string rueidisson_join_latch:{name}:<request>
// with 45 s to live.
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

// ForceUnlock takes the lock away from whoever holds it, and reports whether
// somebody did. A holder of this library learns it at its next renewal, a
// third of the watchdog timeout away, or when it unlocks; until then it works
// on, next to the lock's new holder. It is sent once: after [ErrOutcomeUnknown] it
// may have been done. It does not touch a read-write lock: that is [ErrWrongKind].
//
// Cost: one script call. Wire: DEL name, and the release message.
// Source: RLock.forceUnlock.
func (l *Lock) ForceUnlock(ctx context.Context) (held bool, err error) {
	held, err = ask(ctx, l, func() (bool, error) { return l.p.force(ctx) })
	if held {
		l.p.e.Hurry(l.p.Key()) // our own holder, if it was one, need not wait for its renewal
	}
	return held, l.failed("force unlock", err)
}

// Holder is who holds a lock at the moment of the question.
type Holder struct {
	// Owner is the text in Redis, "<client id>:<decimal>"; "" if nobody holds
	// the lock. Goroutines of one client that hand the lock over share one.
	Owner string
	// Count is how many levels stand on the server: 1 for a private hold of
	// this library, whose re-entries are counted in its process.
	Count int
	// Remaining is the lease that is left, -1 if it never ends.
	Remaining time.Duration
	// Mine says that the owner belongs to this client.
	Mine bool
}

// Held reports whether somebody holds the lock.
func (h Holder) Held() bool { return h.Owner != "" }

// Locked reports whether somebody holds the lock. Cost: one script call.
func (l *Lock) Locked(ctx context.Context) (bool, error) {
	h, err := l.Holder(ctx)
	return h.Held(), err
}

// Remaining returns how much of the present holder's lease is left: 0 if nobody
// holds the lock, -1 if it has no end. Cost: one script call.
func (l *Lock) Remaining(ctx context.Context) (time.Duration, error) {
	h, err := l.Holder(ctx)
	return h.Remaining, err
}

// Holder returns who holds the lock at this moment, as the master sees it; its
// Owner is empty if nobody does. Cost: one script call. Errors: ctx's,
// [ErrClosed], [ErrInvalidArgument], [ErrWrongKind], and those of Redis.
func (l *Lock) Holder(ctx context.Context) (Holder, error) {
	h, err := ask(ctx, l, func() (Holder, error) { return l.p.inspect(ctx) })
	return h, l.failed("inspect", err)
}

// Waiting returns how many processes listen for the lock's release, about as many
// as wait for it: a listener stays for a moment after its last waiter. On a
// cluster with plain channels only the listeners of one node are counted.
//
// Cost: one command, PUBSUB NUMSUB or SHARDNUMSUB.
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

// Do locks l, runs fn under the hold's context, and unlocks. It returns the
// errors of fn and of the unlock, joined: an ErrLost beside fn's success means
// that the work may have overlapped with another holder's.
func Do(ctx context.Context, l Locker, fn func(ctx context.Context) error, opts ...LockOption) (err error) {
	hold, err := l.Lock(ctx, opts...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hold.Unlock(ctx)) }()
	return fn(hold.Context(ctx))
}
