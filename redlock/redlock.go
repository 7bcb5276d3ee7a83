package redlock

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
	"github.com/rueidisson/rueidisson/internal/quorum"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/lock"
)

const (
	fewest        = 3
	shortestLease = 50 * time.Millisecond // a twentieth of less is not enough margin for the drift of many clocks

	defaultMemberTimeout = 50 * time.Millisecond
	defaultRestartGuard  = 30 * time.Second // at least
)

var _ lock.Locker = (*Lock)(nil)

// Lock is a handle on one lock on several servers; more than half of them have to agree. Any
// number of goroutines may use it.
type Lock struct {
	all   []quorum.Member
	bad   error // what every operation returns
	id    string
	limit time.Duration
	guard time.Duration // negative: the larger of the lease and 30 s

	voices []*voice // of the members; all copies share them
}

// An Option changes a [Lock].
type Option interface{ apply(*Lock) error }

type option func(*Lock) error

func (o option) apply(r *Lock) error { return o(r) }

// WithMemberTimeout sets how long one member may take to answer before the others decide without
// it. The default is 50 ms. A grant that comes later joins the hold, or is released. At least 1 ms.
func WithMemberTimeout(d time.Duration) Option {
	return option(func(r *Lock) error {
		if d < time.Millisecond {
			return fmt.Errorf("%w: member timeout %v is below 1ms", ErrInvalidArgument, d)
		}
		r.limit = d
		return nil
	})
}

// WithRestartGuard sets how long a server has to be up before its grant counts towards a new
// quorum. It must be at least the longest lease that any client of these locks uses: a server that
// restarted within that time may have forgotten the holder. The default is the larger of this
// hold's own lease and 30 s. Servers report whole seconds, so a server may count up to two seconds
// later than that, and never sooner. With 0 there is no guard, and INFO is not called.
func WithRestartGuard(d time.Duration) Option {
	return option(func(r *Lock) error {
		if d < 0 {
			return fmt.Errorf("%w: restart guard %v is negative", ErrInvalidArgument, d)
		}
		r.guard = d
		return nil
	})
}

// New returns a handle on a lock that is held while more than half of the given locks are held: at
// least three, on servers that are independent of each other, each by a client of its own.
//
// New does no I/O. The operations return [ErrInvalidArgument] for what multilock.Multi refuses, for fewer
// than three locks, and for two of one client.
func New(locks ...lock.Locker) *Lock {
	members, err := quorum.MembersOf(locks)
	if err == nil {
		err = independent(members)
	}
	r := &Lock{all: members, bad: err, id: identity(members), limit: defaultMemberTimeout, guard: -1}
	for range members {
		r.voices = append(r.voices, new(voice))
	}
	return r
}

func init() { quorum.Several[*Lock]() }

func independent(members []quorum.Member) error {
	if len(members) < fewest {
		return fmt.Errorf("%w: a red lock of %d locks; it needs at least %d", ErrInvalidArgument, len(members), fewest)
	}
	for i, m := range members {
		if j := slices.IndexFunc(members[:i], func(other quorum.Member) bool { return other.Engine == m.Engine }); j >= 0 {
			return fmt.Errorf("%w: %q and %q of a red lock belong to one client", ErrInvalidArgument, members[j].Name(), m.Name())
		}
	}
	return nil
}

// With returns a handle on the same lock with other settings. With an invalid value, the operations
// of that handle return [ErrInvalidArgument].
func (r *Lock) With(opts ...Option) *Lock {
	with := *r
	with.bad = cmp.Or(with.bad, object.Apply(&with, opts, Option.apply))
	return &with
}

// Name returns the names of the members.
func (r *Lock) Name() string { return quorum.Names(r.all) }

// quorum returns more than half.
func (r *Lock) quorum() int { return len(r.all)/2 + 1 }

// Lock waits until more than half of the members are held. ctx bounds only the wait.
//
// It asks all members at once, each for as long as [WithMemberTimeout] says, and returns with the
// quorum. Later grants join the hold; missing members are asked again while it is held. Without a
// quorum Lock releases everything and waits for the first member that refused, so that waiters come
// one after the other. Callers that each got a part pause for a random time.
//
// The hold is trusted while a quorum of its members is, by their own leases, which their own
// clients renew. When that ends, the hold is lost, and its remaining members are released. Its
// contexts carry the holds of the members that are held: locking one of them under it re-enters.
//
// With [lock.WithLease] members that join later get the rest of the lease. The lease must be at
// least 50 ms.
//
// Cost: one script call for each member, all in one round trip, followed by the one that reads the
// server's uptime (a round trip of its own on a cluster). Unlocking: one for each, all at once.
// Errors: ctx's error and cause; [ErrClosed] if the client of any member is closed;
// [ErrInvalidArgument]; those of the members, if they prevent a quorum for longer than a watchdog
// timeout, the longest of the clients' (all waiters for these members in the process give up
// together); [*RestartedError] for a server that restarted lately. If ctx ends before such servers
// count, the error wraps ctx's error and that one. Each handle logs each start of a server once, at Warn.
// Source: the idea is that of RedissonRedLock, and of the page on distributed locks of Redis; the
// rules are those of this library.
func (r *Lock) Lock(ctx context.Context, opts ...lock.LockOption) (*lock.Hold, error) {
	ask, err := lockkit.Resolve(opts)
	return r.acquire(ctx, "lock", ask, err)
}

// TryLock acquires the lock if a quorum of the members is free now, or becomes free within
// [lock.WithWait]. It returns [ErrNotAcquired] if a quorum has answered, and too many members are
// held, or restarted lately. If the members' errors are the reason, it returns these. If the wait
// ends before a quorum has answered, it returns context.DeadlineExceeded. Cost, wire and other
// errors: as [Lock.Lock].
func (r *Lock) TryLock(ctx context.Context, opts ...lock.TryOption) (*lock.Hold, error) {
	ask, err := lockkit.ResolveTry(opts)
	return r.acquire(ctx, "try lock", ask, err)
}

func (r *Lock) acquire(ctx context.Context, op string, ask locking.Ask, err error) (hold *lock.Hold, _ error) {
	if err == nil {
		err = r.bad
	}
	if err == nil && ask.Lease > 0 && ask.Lease < shortestLease {
		err = fmt.Errorf("%w: lease %v of a red lock is below %v", ErrInvalidArgument, ask.Lease, shortestLease)
	}
	if err == nil {
		err = quorum.Usable(ctx, r.all)
	}
	if err == nil {
		hold, err = lock.NewHold(func(seat lease.Seat) (locking.Holding, error) {
			return newCampaign(r, ask, seat).run(ctx)
		}, quorum.Handles(r.all)...)
	}
	return hold, quorum.Failed(op, r.all, err)
}

// mustBeUp returns how long the server of a member must have been up.
func (r *Lock) mustBeUp(ask locking.Ask) (d time.Duration) {
	if r.guard >= 0 {
		return r.guard
	}
	if ask.Lease > 0 {
		return max(ask.Lease, defaultRestartGuard)
	}
	for _, m := range r.all { // each gives a lease of its client's watchdog timeout
		d = max(d, m.Engine.WatchdogTimeout)
	}
	return max(d, defaultRestartGuard)
}

// voice records whether a member of a red lock answers in time. All users of the handle share it,
// so that only the first one waits for a silent member.
type voice struct {
	silent atomic.Bool  // it did not answer the last request in time
	asking atomic.Bool  // a goroutine checks whether it answers again
	told   atomic.Int64 // the restart that was logged, in seconds
}

// errSilent says that a member did not answer in time.
var errSilent = errors.New("no answer within the member timeout")

func (v *voice) heard() { v.silent.Store(false) }

var aliveCommand = scripts.NewCommand("EXISTS", scripts.Reads)

// refused returns a member's refusal. The refusal of a silent member may come from this process
// alone, because a goroutine here waits for it. Then its server is asked for a sign of life, by one
// goroutine at a time.
func (v *voice) refused(ctx context.Context, m quorum.Member, err error) error {
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
	if _, dead := m.Engine.Run(ctx, aliveCommand, []string{m.Key.Name}, nil); dead != nil {
		return dead
	}
	v.heard()
	return err
}
