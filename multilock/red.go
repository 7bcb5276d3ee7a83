package multilock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/lock"
)

const (
	fewest        = 3
	shortestLease = 50 * time.Millisecond // below, a twentieth of it is no margin for the drift of many clocks

	defaultMemberTimeout = 50 * time.Millisecond
	defaultRestartGuard  = 30 * time.Second // at least
)

var _ lock.Locker = (*RedLock)(nil)

// RedLock is a handle on one lock that stands on several servers, of which more
// than half have to agree. It may be used by any number of goroutines.
type RedLock struct {
	all   []member
	bad   error // what every operation returns
	id    string
	limit time.Duration
	guard time.Duration // negative: the larger of the lease and 30 s

	voices []*voice // of the members; all copies share them
}

// A RedOption changes a [RedLock].
type RedOption interface{ applyRed(*RedLock) error }

type redOption func(*RedLock) error

func (o redOption) applyRed(r *RedLock) error { return o(r) }

// WithMemberTimeout sets how long one member may take to answer before the
// others decide without it. The default is 50 ms. A grant that comes later joins
// the hold, or is given back. At least 1 ms.
func WithMemberTimeout(d time.Duration) RedOption {
	return redOption(func(r *RedLock) error {
		if d < time.Millisecond {
			return fmt.Errorf("%w: member timeout %v is below 1ms", ErrInvalidArgument, d)
		}
		r.limit = d
		return nil
	})
}

// WithRestartGuard sets how long a server has to be up before its grant counts
// towards a new quorum: at least the longest lease that any client of these
// locks uses, as a server that restarted within it may have forgotten who holds
// the lock. The default is the larger of this hold's own lease and 30 s. Servers
// tell whole seconds, so one may count up to two seconds later than that, and
// never sooner. With 0 there is no guard, and INFO is not called.
func WithRestartGuard(d time.Duration) RedOption {
	return redOption(func(r *RedLock) error {
		if d < 0 {
			return fmt.Errorf("%w: restart guard %v is negative", ErrInvalidArgument, d)
		}
		r.guard = d
		return nil
	})
}

// Red returns a handle on a lock of which more than half of the given ones have
// to be held: at least three, on servers that are independent of each other,
// each by a client of its own.
//
// It asks nobody. What cannot be used is the [ErrInvalidArgument] of its operations: what
// [Multi] refuses, fewer than three, two of one client.
func Red(locks ...lock.Locker) *RedLock {
	members, err := membersOf(locks)
	if err == nil {
		err = independent(members)
	}
	r := &RedLock{all: members, bad: err, id: identity(members), limit: defaultMemberTimeout, guard: -1}
	for range members {
		r.voices = append(r.voices, new(voice))
	}
	return r
}

func independent(members []member) error {
	if len(members) < fewest {
		return fmt.Errorf("%w: a red lock of %d, which needs %d at least", ErrInvalidArgument, len(members), fewest)
	}
	for i, m := range members {
		if j := slices.IndexFunc(members[:i], func(other member) bool { return other.e == m.e }); j >= 0 {
			return fmt.Errorf("%w: %q and %q of a red lock are of one client", ErrInvalidArgument, members[j].Name(), m.Name())
		}
	}
	return nil
}

// With returns a handle on the same lock with other settings. A value that
// cannot be used is the [ErrInvalidArgument] of its operations.
func (r *RedLock) With(opts ...RedOption) *RedLock {
	with := *r
	with.bad = cmp.Or(with.bad, object.Apply(&with, opts, RedOption.applyRed))
	return &with
}

func (r *RedLock) members() []member { return r.all }

// Name returns the names of the members.
func (r *RedLock) Name() string { return names(r.all) }

// quorum returns more than half.
func (r *RedLock) quorum() int { return len(r.all)/2 + 1 }

// Lock waits until more than half of the members are held. ctx bounds the wait
// and nothing else.
//
// All are asked at once, each for as long as [WithMemberTimeout] says, and Lock
// returns with the quorum. Later grants join the hold; members that are missing
// are asked again while it is held. Without a quorum everything goes back, and
// Lock waits for the first member that refused, so that those who wait come one
// after the other; those who took a part each pause for a moment by chance.
//
// The hold is trusted while a quorum of its members is, by their own leases,
// which their own clients renew. When that ends the hold is lost, and what is
// left of it is given back. Its contexts carry the holds of the members that are
// held: locking one of them under it re-enters.
//
// With [lock.WithLease] members that join later have what is left of it. At
// least 50 ms.
//
// Cost: one script call for each member, all in one round trip, with the one
// that reads the server's uptime behind it (a round trip of its own on a
// cluster). Unlocking: one for each, all at once.
// Wire: that of the members, and no more.
// Errors: ctx's error and cause; [ErrClosed] if the client of any member is
// closed; [ErrInvalidArgument]; those of the members, if they stand in the way of a
// quorum for longer than a watchdog timeout, the longest of the clients'. All who
// wait for these members in the process give up together. A server that
// restarted lately is a [*RestartedError]. If ctx ends before such servers count, the error has ctx's
// error and that. Each start of a server is logged once, at Warn.
// Source: the idea is that of RedissonRedLock, and of the page on distributed
// locks of Redis; the rules are those of this library.
func (r *RedLock) Lock(ctx context.Context, opts ...lock.LockOption) (*lock.Hold, error) {
	ask, err := lockkit.Resolve(opts)
	return r.acquire(ctx, "lock", ask, err)
}

// TryLock takes the lock if a quorum of the members is free now, or becomes free
// within [lock.WithWait]. It returns [ErrNotAcquired] if a quorum has answered
// and so many are held, or restarted lately, that there is none. If the members'
// errors are why, it returns these, and context.DeadlineExceeded if the wait ends
// before a quorum has answered. Cost, wire and other errors: as [RedLock.Lock].
func (r *RedLock) TryLock(ctx context.Context, opts ...lock.TryOption) (*lock.Hold, error) {
	ask, err := lockkit.ResolveTry(opts)
	return r.acquire(ctx, "try lock", ask, err)
}

func (r *RedLock) acquire(ctx context.Context, op string, ask locking.Ask, err error) (hold *lock.Hold, _ error) {
	if err == nil {
		err = r.bad
	}
	if err == nil && ask.Lease > 0 && ask.Lease < shortestLease {
		err = fmt.Errorf("%w: lease %v of a red lock is below %v", ErrInvalidArgument, ask.Lease, shortestLease)
	}
	if err == nil {
		err = usable(ctx, r.all)
	}
	if err == nil {
		hold, err = lock.NewHold(func(seat lease.Seat) (locking.Holding, error) {
			return newCampaign(r, ask, seat).run(ctx)
		}, handles(r.all)...)
	}
	return hold, failed(op, r.all, err)
}

// mustBeUp returns how long the server of a member has to be up.
func (r *RedLock) mustBeUp(ask locking.Ask) (d time.Duration) {
	if r.guard >= 0 {
		return r.guard
	}
	if ask.Lease > 0 {
		return max(ask.Lease, defaultRestartGuard)
	}
	for _, m := range r.all { // each gives a lease of its client's watchdog timeout
		d = max(d, m.e.WatchdogTimeout)
	}
	return max(d, defaultRestartGuard)
}

// voice is whether a member of a red lock answers in time. It is shared by all
// who use the handle, so that only the first waits for a member that does not.
type voice struct {
	silent atomic.Bool  // it did not, when it was asked last
	asking atomic.Bool  // somebody finds out whether it does again
	told   atomic.Int64 // the restart that the log knows of, in seconds
}

// errSilent says that a member does not answer in time.
var errSilent = errors.New("no answer within the member timeout")

func (v *voice) heard() { v.silent.Store(false) }

var aliveCommand = scripts.NewCommand("EXISTS", scripts.Safe)

// refused returns a member's refusal. That of one which was silent may be word of
// this process alone, where a goroutine waits for it: then its server is asked
// for a sign of life, by one goroutine at a time.
func (v *voice) refused(ctx context.Context, m member, err error) error {
	switch restarted := (*RestartedError)(nil); {
	case !v.silent.Load():
		return err
	case !passing(err) || errors.As(err, &restarted):
		v.heard() // it has answered
		return err
	case !errors.Is(err, ErrNotAcquired):
		return err
	}
	if !v.asking.CompareAndSwap(false, true) {
		return errSilent
	}
	defer v.asking.Store(false)
	if _, dead := m.e.Run(ctx, aliveCommand, []string{m.key.Name}, nil); dead != nil {
		return dead
	}
	v.heard()
	return err
}
