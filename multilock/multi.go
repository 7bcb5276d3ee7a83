package multilock

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/internal/quorum"
	"github.com/rueidisson/rueidisson/lock"
)

var _ lock.Locker = (*MultiLock)(nil)

// MultiLock is a handle on several locks that are held all or none. Any number of goroutines may
// use it.
type MultiLock struct {
	all []quorum.Member
	bad error // what every operation returns
}

// Multi returns a handle on all of the locks. They may be of any kind and of any client of this
// library. Their order matters only for locks with one name in Redis, on several servers: all
// processes have to give these in the same order.
//
// Multi does no I/O. The operations return [ErrInvalidArgument] if there is no lock, a nil one, one
// of another library, the same lock twice (by client and name in Redis), or another lock of
// several.
func Multi(locks ...lock.Locker) *MultiLock {
	members, err := quorum.MembersOf(locks)
	return &MultiLock{all: members, bad: err}
}

// Name returns the names of the members, in the order in which they are acquired.
func (m *MultiLock) Name() string { return quorum.Names(m.all) }

// Lock waits until every member is free and acquires them all. ctx bounds only the wait.
//
// It asks for all members at once. If one is busy, Lock releases the members after it in the order
// of names, and waits for it while it keeps the members before it. Then it asks for the rest again.
// So no caller waits for a lock whose name comes before one that it holds. There is no deadlock
// between locks of several, nor with programs that take single locks in the order of their names in
// Redis.
//
// The hold is trusted while every member is. When a member is lost, the hold is lost, and the other
// members are released. Its contexts carry the members' holds: locking a member under them
// re-enters.
//
// With [lock.WithLease] the lease counts from the last member that was acquired: the others are
// extended to it, if there was a wait.
//
// Cost: one script call for each member, all in one round trip, if they are free; each wait costs
// what it costs at that member, and another round trip.
// Errors: those of the members, which they name; [ErrInvalidArgument].
// Source: RedissonMultiLock.lock.
func (m *MultiLock) Lock(ctx context.Context, opts ...lock.LockOption) (*lock.Hold, error) {
	ask, err := lockkit.Resolve(opts)
	return m.acquire(ctx, "lock", ask, err)
}

// TryLock acquires the locks if all are free now, or become free within [lock.WithWait]. Else it
// returns [ErrNotAcquired] and holds none of them. Cost, wire and other errors: as
// [MultiLock.Lock]. Source: RedissonMultiLock.tryLock.
func (m *MultiLock) TryLock(ctx context.Context, opts ...lock.TryOption) (*lock.Hold, error) {
	ask, err := lockkit.ResolveTry(opts)
	return m.acquire(ctx, "try lock", ask, err)
}

func init() { quorum.Several[*MultiLock]() }

func (m *MultiLock) acquire(ctx context.Context, op string, ask locking.Ask, err error) (hold *lock.Hold, _ error) {
	if err == nil {
		err = m.bad
	}
	if err == nil {
		err = quorum.Usable(ctx, m.all)
	}
	if err == nil {
		hold, err = lock.NewHold(func(seat lease.Seat) (locking.Holding, error) {
			return takeAll(ctx, m.all, ask, seat)
		}, quorum.Handles(m.all)...)
	}
	return hold, quorum.Failed(op, m.all, err)
}
