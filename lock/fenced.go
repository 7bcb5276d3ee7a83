package lock

import (
	"context"
	"time"
)

var _ Locker = (*Fenced)(nil)

// Fenced is a handle on the fenced lock of one name: a [Lock] whose holds have a fencing token
// each, a number that is higher than those of all holds before. [Hold.Fence] returns the token, and
// the hold's contexts carry it. A store that keeps the highest token refuses writes with lower
// ones. See package fence, and [Guard].
//
// A token belongs to the hold: its re-entries and joined levels have the same token. Tokens rise,
// and none is used twice, also if replies are lost; numbers may be skipped. A new token is at least
// the server's time in µs, so that tokens rise over a failover and over FLUSHALL, which Redisson's
// own do not. Java continues from there, with INCR: tokens of Go and Java are in one order. If the
// server's clock is set back while the counter is lost, a new token is still above all tokens of
// the lock that its client has seen. The writes of a client that is new to the lock may be refused
// until the clock has caught up.
//
// Everything else, hand-over included, is as for a Lock. A waiter that gets the lock by hand-over
// gets a number from a block. The process took that block from the counter with the acquisition, or
// while it held the lock. So the getToken of Redisson may be ahead of the present holder's token.
//
// A Lock and a Fenced of one name exclude each other. But a holder of the Lock has no token, and
// [Fenced.Lock] under the context of such a hold returns [ErrWrongKind]. [Lock.Lock] under the
// context of a fenced hold re-enters it.
//
// During a slot migration acquires wait, because the counter is a second key. Holds stay valid and
// can be released.
type Fenced struct{ l Lock }

// NewFenced returns a handle on the fenced lock of that name. Programs call
// client.FencedLock(name), which returns the same. NewFenced is for packages that take a [Client]
// and do not import rueidisson.
func NewFenced(c Client, name string) *Fenced {
	e := c.Engine()
	return &Fenced{of(newFencedProtocol(e, e.Map(name)), name)}
}

// Name returns the name that the handle was made with, before any mapping.
func (f *Fenced) Name() string { return f.l.name }

// Lock waits until the lock is free and acquires it, as [Lock.Lock] does; the hold has a
// [Hold.Fence].
//
// Cost: one script call if the lock is free; none if a goroutine of this client hands it over,
// except one call for each block of some tens of waiters, which no waiter waits for.
// Errors: as for a Lock; if the counter is not a number, the error names its key.
// Source: RFencedLock.lockAndGetToken.
func (f *Fenced) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return f.l.Lock(ctx, opts...)
}

// TryLock acquires the lock if it is free now, or becomes free within [WithWait], as [Lock.TryLock]
// does. Source: RFencedLock.tryLockAndGetToken.
func (f *Fenced) TryLock(ctx context.Context, opts ...TryOption) (*Hold, error) {
	return f.l.TryLock(ctx, opts...)
}

// Join takes part in a fenced hold that its holder has made joinable with [Hold.Token], as
// [Lock.Join] does. The level has that hold's fencing token. A Java hold can be joined, too, but
// only its thread knows the token: the level has none. For a plain hold Join returns [ErrToken].
func (f *Fenced) Join(ctx context.Context, t Token, opts ...LockOption) (*Hold, error) {
	if err := t.checkFenced(); err != nil {
		return nil, f.l.failed("join", err)
	}
	return f.l.Join(ctx, t, opts...)
}

// ForceUnlock takes the lock away from its holder, as [Lock.ForceUnlock] does. The next hold's
// token is above the token of the hold that was taken away.
func (f *Fenced) ForceUnlock(ctx context.Context) (held bool, err error) {
	return f.l.ForceUnlock(ctx)
}

// Delete takes the lock away from its holder, as [Fenced.ForceUnlock] does. It keeps the counter,
// because tokens would repeat without it. Redisson's delete removes the counter and notifies no
// waiter.
//
// Cost and errors: as [Lock.ForceUnlock].
func (f *Fenced) Delete(ctx context.Context) (held bool, err error) { return f.l.ForceUnlock(ctx) }

// Locked reports whether the lock is held, as [Lock.Locked] does.
func (f *Fenced) Locked(ctx context.Context) (bool, error) { return f.l.Locked(ctx) }

// Remaining returns the rest of the present holder's lease, as [Lock.Remaining] does.
func (f *Fenced) Remaining(ctx context.Context) (time.Duration, error) { return f.l.Remaining(ctx) }

// Holder returns the holder of the lock at this moment, as [Lock.Holder] does.
func (f *Fenced) Holder(ctx context.Context) (Holder, error) { return f.l.Holder(ctx) }

// Waiting returns how many processes listen for the lock's release, as [Lock.Waiting] does.
func (f *Fenced) Waiting(ctx context.Context) (int, error) { return f.l.Waiting(ctx) }
