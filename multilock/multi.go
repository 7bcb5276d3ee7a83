package multilock

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/lock"
)

var _ lock.Locker = (*MultiLock)(nil)

// MultiLock is a handle on several locks that are held together, or not at all.
// Like those of its members, it may be used by any number of goroutines.
type MultiLock struct {
	all []member
	bad error // what every operation returns
}

// Multi returns a handle on all of the locks. They may be of any kind and of
// any client of this library; the order in which they are given matters only
// among those that have one name in Redis, on several servers: these everybody
// has to give in the same order.
//
// It asks nobody. What cannot be used is the [ErrInvalidArgument] of its operations: no
// lock, a nil one, one of another library, the same lock twice (by client and
// name in Redis), another lock of several.
func Multi(locks ...lock.Locker) *MultiLock {
	members, err := membersOf(locks)
	return &MultiLock{members, err}
}

func (m *MultiLock) members() []member { return m.all }

// Name returns the names of the members, in the order in which they are taken.
func (m *MultiLock) Name() string { return names(m.all) }

// Lock waits until every member is free and takes them all. ctx bounds the wait
// and nothing else.
//
// All are asked at once. If one is busy, those behind it in the order of names
// go back, and Lock waits for it while it keeps those before it; then the rest
// is asked again. So nobody waits for a lock whose name comes before one that
// it holds, and there is no deadlock between locks of several, nor with
// programs that take single locks in the order of their names in Redis.
//
// The hold is trusted while every member is. When one is lost, the hold is, and
// the others are given back. Its contexts carry the members' holds: locking a
// member under them re-enters.
//
// With [lock.WithLease] the lease counts from the last member that was taken:
// the others are extended to it, if there was a wait.
//
// Cost: one script call for each member, all in one round trip, if they are
// free; each wait costs what it costs at that member, and another round trip.
// Wire: that of the members, and no more.
// Errors: those of the members, which they name; [ErrInvalidArgument].
// Source: RedissonMultiLock.lock.
func (m *MultiLock) Lock(ctx context.Context, opts ...lock.LockOption) (*lock.Hold, error) {
	ask, err := lockkit.Resolve(opts)
	return m.acquire(ctx, "lock", ask, err)
}

// TryLock takes the locks if all are free now, or become free within
// [lock.WithWait]. It returns [ErrNotAcquired] if they do not, and has none of
// them then. Cost, wire and other errors: as [MultiLock.Lock]. Source:
// RedissonMultiLock.tryLock.
func (m *MultiLock) TryLock(ctx context.Context, opts ...lock.TryOption) (*lock.Hold, error) {
	ask, err := lockkit.ResolveTry(opts)
	return m.acquire(ctx, "try lock", ask, err)
}

func (m *MultiLock) acquire(ctx context.Context, op string, ask locking.Ask, err error) (hold *lock.Hold, _ error) {
	if err == nil {
		err = m.bad
	}
	if err == nil {
		err = usable(ctx, m.all)
	}
	if err == nil {
		hold, err = lock.NewHold(func(seat lease.Seat) (locking.Holding, error) {
			return takeAll(ctx, m.all, ask, seat)
		}, handles(m.all)...)
	}
	return hold, failed(op, m.all, err)
}
