package lock

import (
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
)

// A TryOption changes one [Lock.TryLock].
type TryOption interface{ applyTry(*locking.Ask) error }

// A LockOption changes one [Lock.Lock], [Lock.TryLock] or [Lock.Join].
type LockOption interface {
	TryOption
	applyLock(*locking.Ask) error
}

// WithWait lets TryLock wait up to d for the lock. Without it, or with 0,
// TryLock answers after one round trip. If nothing was heard of the lock by then,
// from a silent server or with a d below a round trip, that is no ErrNotAcquired,
// as nobody knows whether the lock is held: the error is [context.DeadlineExceeded]
// as a rule, else what was heard of the server. A negative d is an ErrInvalidArgument.
func WithWait(d time.Duration) TryOption { return waitOption(d) }

// WithLease gives the hold a fixed lease: the watchdog does not renew it, and
// it is lost when d has passed, less a margin of d/20 (at least 2 ms). On a
// re-entry it asks that the hold lasts for at least d from now on; it never
// shortens one. A lease below 10 ms or above 100 years is an ErrInvalidArgument.
func WithLease(d time.Duration) LockOption { return leaseOption(d) }

type waitOption time.Duration

func (o waitOption) applyTry(ask *locking.Ask) error {
	if o < 0 {
		return fmt.Errorf("%w: wait %v is negative", ErrInvalidArgument, time.Duration(o))
	}
	ask.Wait = time.Duration(o)
	return nil
}

type leaseOption time.Duration

func (o leaseOption) applyTry(ask *locking.Ask) error { return o.applyLock(ask) }

func (o leaseOption) applyLock(ask *locking.Ask) error {
	ask.Lease = time.Duration(o)
	return core.CheckLease(ask.Lease)
}

// resolve returns what the options of a Lock ask for.
func resolve(opts []LockOption) (locking.Ask, error) {
	return object.Options(locking.Ask{}, opts, LockOption.applyLock)
}

// resolveTry returns what the options of a TryLock ask for.
func resolveTry(opts []TryOption) (locking.Ask, error) {
	return object.Options(locking.Ask{Bounded: true}, opts, TryOption.applyTry)
}
