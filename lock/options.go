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

// WithWait lets TryLock wait up to d for the lock. Without it, or with 0, TryLock answers after one
// round trip. If there is no answer by then, because the server is silent or d is below a round
// trip, the error is not ErrNotAcquired: it is not known whether the lock is held. The error is
// [context.DeadlineExceeded] as a rule, else the server's last error. A negative d returns
// ErrInvalidArgument.
func WithWait(d time.Duration) TryOption { return waitOption(d) }

// WithLease gives the hold a fixed lease: the watchdog does not renew it, and it is lost when d has
// passed, less a margin of d/20 (at least 2 ms). On a re-entry it makes the hold last for at least
// d from now on; it never shortens a lease. A lease below 10 ms or above 100 years returns
// ErrInvalidArgument.
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

// resolve applies the options of a Lock.
func resolve(opts []LockOption) (locking.Ask, error) {
	return object.Options(locking.Ask{}, opts, LockOption.applyLock)
}

// resolveTry applies the options of a TryLock.
func resolveTry(opts []TryOption) (locking.Ask, error) {
	return object.Options(locking.Ask{Bounded: true}, opts, TryOption.applyTry)
}
