// Package lockkit is what the packages of locks share, and programs must not see. Package lock and package fairlock lend
// it what they can do with their own types, when the program starts; this package cannot import them. So a type
// parameter stands for the lent type: H for [lock.Hold], L for a lock.
package lockkit

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
)

// Handle is one lock of one client that a hold is of.
type Handle struct {
	Engine *locking.Engine
	Key    core.Key // the kind, or the side of it, and the mapped name
	Name   string   // as the caller wrote it
}

// Lock is what package lock lends. A hold is a *lock.Hold.
type Lock struct {
	Apply    func(option any, ask *locking.Ask) error
	Standing func(hold any) locking.Holding
	Nest     func(ctx context.Context, hold any, ask locking.Ask) (inner any, live bool, err error)
	Carried  func(ctx context.Context, e *locking.Engine, name, kind string) (of string, hold any)
	Tell     func(hold any, to lease.Seat)
	Bury     func(ctx context.Context, e *locking.Engine, gone, owner string) error
	Inspect  func(ctx context.Context, e *locking.Engine, name string) (holder any, err error)
	Unusable func(e *locking.Engine, name string, err error) any
}

// FairLock is what package fairlock lends. A lock is a *fairlock.Lock.
type FairLock struct {
	Order  func(e *locking.Engine, key string) any
	Fenced func(e *locking.Engine, name, kind string) (lock any, bad error)
}

// What was lent. A package that calls a function of this package imports the lender.
var (
	lock Lock
	fair FairLock
	who  []func(lock any) (*locking.Engine, core.Key, bool)
)

// LendLock is for package lock.
func LendLock(l Lock) { lock = l }

// LendFairLock is for package fairlock.
func LendFairLock(l FairLock) { fair = l }

// LendIdentity is for each package with locks that can be members of others: of says whose a lock of its types is.
func LendIdentity[L any](of func(l L) (*locking.Engine, core.Key)) {
	who = append(who, func(lock any) (e *locking.Engine, key core.Key, is bool) {
		l, is := lock.(L)
		if is {
			e, key = of(l)
		}
		return e, key, is
	})
}

// Identity returns the client and the key of a lock of this module.
func Identity(lock any) (e *locking.Engine, key core.Key, is bool) {
	for _, of := range who {
		if e, key, is = of(lock); is {
			break
		}
	}
	return e, key, is
}

// Resolve returns what lock.LockOptions ask for.
func Resolve[O any](opts []O) (locking.Ask, error) { return resolved(locking.Ask{}, opts) }

// ResolveTry returns what lock.TryOptions ask for.
func ResolveTry[O any](opts []O) (locking.Ask, error) {
	return resolved(locking.Ask{Bounded: true}, opts)
}

// resolved applies one option after the other: options that were passed on together would go to the heap.
func resolved[O any](defaults locking.Ask, opts []O) (locking.Ask, error) {
	if len(opts) == 0 {
		return defaults, nil // which stays off the heap
	}
	ask := defaults
	for _, o := range opts {
		if err := lock.Apply(o, &ask); err != nil {
			return ask, err
		}
	}
	return ask, nil
}

// Standing returns what a hold stands on. It is for the package that made the hold.
func Standing[H any](hold *H) locking.Holding { return lock.Standing(hold) }

// Nest adds a level to a hold. It is not live if the hold has ended: then the hold is as if it were not there.
func Nest[H any](ctx context.Context, hold *H, ask locking.Ask) (inner *H, live bool, err error) {
	got, live, err := lock.Nest(ctx, hold, ask)
	inner, _ = got.(*H)
	return inner, live, err
}

// Carried returns the innermost live hold of the mapped name that ctx carries, of whatever kind unless one is given, and
// its kind; nil if there is none. A hold of one kind does not hide one of another around it from a caller that asks for
// that kind.
func Carried[H any](ctx context.Context, e *locking.Engine, name, kind string) (of string, hold *H) {
	of, got := lock.Carried(ctx, e, name, kind)
	hold, _ = got.(*H)
	return of, hold
}

// Reenter adds a level to the hold of this lock that ctx carries; there is false if ctx carries none that is live. It
// refuses one of another kind under the name, since the caller would wait for itself.
func Reenter[H any](ctx context.Context, of Handle, ask locking.Ask) (inner *H, there bool, err error) {
	kind, outer := Carried[H](ctx, of.Engine, of.Key.Name, "")
	switch {
	case outer == nil:
		return nil, false, nil
	case kind != of.Key.Kind:
		return nil, true, OtherKind(kind, of.Key.Kind)
	}
	return Nest(ctx, outer, ask)
}

// OtherKind returns the error of a caller that asks for a lock of its own kind under the context of another's hold.
func OtherKind(carried, own string) error {
	return fmt.Errorf("%w: the context carries a hold of that name of kind %q, not %q", core.ErrWrongKind, carried, own)
}

// Tell has to hear how a hold ends, be it by its unlock, as soon as the hold is told; at once if it has ended.
func Tell[H any](hold *H, to lease.Seat) { lock.Tell(hold, to) }

// Bury leaves a tombstone for owner, so that an acquire of it which arrives later is refused. Gone is where the
// tombstones of the lock are.
func Bury(ctx context.Context, e *locking.Engine, gone, owner string) error {
	return lock.Bury(ctx, e, gone, owner)
}

// Inspect returns the lock.Holder of the mapped name, if that is a hash with one owner.
func Inspect[R any](ctx context.Context, e *locking.Engine, name string) (holder R, err error) {
	got, err := lock.Inspect(ctx, e, name)
	holder, _ = got.(R)
	return holder, err
}

// Unusable returns a lock.Lock whose every operation fails with err.
func Unusable[L any](e *locking.Engine, name string, err error) *L {
	return lock.Unusable(e, name, err).(*L)
}

// FairOrder returns a fairlock.Lock of a key, which no name mapper maps. Its holds are of a kind of their own. It orders
// the waiters of a semaphore.
func FairOrder[L any](e *locking.Engine, key string) *L { return fair.Order(e, key).(*L) }

// FairFenced returns a fairlock.Lock whose holds have a fencing token, and are of a kind of their own. Bad is why none of
// its operations can be done.
func FairFenced[L any](e *locking.Engine, name, kind string) (lock *L, bad error) {
	got, bad := fair.Fenced(e, name, kind)
	return got.(*L), bad
}
