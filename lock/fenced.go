package lock

import (
	"context"
	"time"
)

var _ Locker = (*Fenced)(nil)

// Fenced is a handle on the fenced lock of one name: a [Lock] whose holds have a
// fencing token each, a number that is higher than those of all holds before.
// [Hold.Fence] tells it, and the hold's contexts carry it; what is written to
// refuses numbers that are lower than one it has seen. See package fence, and
// [Guard].
//
// A token belongs to the hold: its re-entries have the same, and so has who joins
// it. Tokens rise, and none is used twice, also if replies are lost; numbers may be
// skipped. A new one is at least the server's time in µs, so that they rise over a
// failover and over FLUSHALL, which Redisson's own do not. Java counts on from
// there, with INCR: what both have is in one order. If the server's clock goes back
// while the counter is lost, a token is still above all that its client has seen of
// the lock; what a client new to the lock writes may be refused until then.
//
// Everything else is as of a Lock, and hand-over too: who gets the lock in turn
// inside the process has a number of a block that the process took from the
// counter, with the acquisition or while it held the lock. So the getToken of
// Redisson may be ahead of the present holder's.
//
// A Lock and a Fenced of one name exclude each other; but who holds the Lock has
// no token, and [Fenced.Lock] under the context of such a hold is [ErrWrongKind].
// [Lock.Lock] under that of a fenced hold re-enters it.
//
// While a cluster moves the slot of the name to another node, acquires wait: the
// counter is a second key. Holds go on, and are released.
type Fenced struct{ l Lock }

// NewFenced returns a handle. Programs outside of this module call
// rueidisson.Client.FencedLock.
func NewFenced(c Client, name string) *Fenced {
	e := c.Engine()
	return &Fenced{of(newFencedProtocol(e, e.Map(name)), name)}
}

// Name returns the name that the handle was made with, before any mapping.
func (f *Fenced) Name() string { return f.l.name }

// Lock waits until the lock is free and takes it, as [Lock.Lock] does; the hold
// has a [Hold.Fence].
//
// Cost: one script call if the lock is free; none if a goroutine of this client
// hands it over, but one for some tens of those that wait, which nobody waits for.
// Wire: as of a Lock; string redisson_lock_token:{name}, the last token.
// Errors: as of a Lock; that the counter is no number names its key.
// Source: RFencedLock.lockAndGetToken.
func (f *Fenced) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return f.l.Lock(ctx, opts...)
}

// TryLock takes the lock if it is free now, or becomes free within [WithWait],
// as [Lock.TryLock] does. Source: RFencedLock.tryLockAndGetToken.
func (f *Fenced) TryLock(ctx context.Context, opts ...TryOption) (*Hold, error) {
	return f.l.TryLock(ctx, opts...)
}

// Join takes part in a fenced hold that its holder has made joinable with
// [Hold.Token], as [Lock.Join] does; the level has that hold's fencing token. A
// Java hold can be joined, too, but its token is known to its thread alone: the
// level has none. A plain hold cannot: [ErrToken].
func (f *Fenced) Join(ctx context.Context, t Token, opts ...LockOption) (*Hold, error) {
	if err := t.checkFenced(); err != nil {
		return nil, f.l.failed("join", err)
	}
	return f.l.Join(ctx, t, opts...)
}

// ForceUnlock takes the lock away from whoever holds it, as [Lock.ForceUnlock]
// does. The next hold's token is above that of the one which lost it.
func (f *Fenced) ForceUnlock(ctx context.Context) (held bool, err error) {
	return f.l.ForceUnlock(ctx)
}

// Delete is ForceUnlock. It keeps the counter, as tokens would repeat without;
// Redisson's delete removes it, and tells nobody.
func (f *Fenced) Delete(ctx context.Context) (held bool, err error) { return f.l.ForceUnlock(ctx) }

// Locked reports whether somebody holds the lock. Cost: one script call.
func (f *Fenced) Locked(ctx context.Context) (bool, error) { return f.l.Locked(ctx) }

// Remaining returns how much of the present holder's lease is left, as of
// [Lock.Remaining].
func (f *Fenced) Remaining(ctx context.Context) (time.Duration, error) { return f.l.Remaining(ctx) }

// Holder returns who holds the lock at this moment, as of [Lock.Holder].
func (f *Fenced) Holder(ctx context.Context) (Holder, error) { return f.l.Holder(ctx) }

// Waiting returns how many processes listen for the lock's release, as of
// [Lock.Waiting].
func (f *Fenced) Waiting(ctx context.Context) (int, error) { return f.l.Waiting(ctx) }
