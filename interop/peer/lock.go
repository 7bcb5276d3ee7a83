package peer

import (
	"context"
	"errors"
	"time"
)

// Lock is an RLock of Redisson as one Java thread uses it. All threads of a JVM share one Java object
// per kind and name. The methods are Java's; ctx bounds the wait for the answer, not Java's own wait.
type Lock struct{ object }

// Lock returns the reentrant lock of that name, used by the thread.
func (p *Peer) Lock(thread, name string) Lock { return p.LockOf("lock", thread, name) }

// LockOf returns a lock of another kind: fairlock, spinlock, fencedlock, readlock or writelock; multilock, whose name is
// those of its members, and lockgroup, whose name is that of the group and the values, with bars between.
func (p *Peer) LockOf(kind, thread, name string) Lock {
	return Lock{object{peer: p, thread: thread, kind: kind, name: name}}
}

// Lock waits for the lock and leaves it to the watchdog.
func (l Lock) Lock(ctx context.Context) error { return l.void(ctx, "lock") }

// LockFor waits for the lock and takes it for a lease.
func (l Lock) LockFor(ctx context.Context, lease time.Duration) error {
	return l.void(ctx, "lock", lease)
}

// LockInterruptibly is [Lock.Lock], but [Peer.Interrupt] ends its wait.
func (l Lock) LockInterruptibly(ctx context.Context) error { return l.void(ctx, "lockInterruptibly") }

// TryLock takes the lock if it is free and leaves it to the watchdog.
func (l Lock) TryLock(ctx context.Context) (bool, error) { return l.truth(ctx, "tryLock") }

// TryLockWait is [Lock.TryLock] with a limit for the wait.
func (l Lock) TryLockWait(ctx context.Context, wait time.Duration) (bool, error) {
	return l.truth(ctx, "tryLock", wait)
}

// TryLockFor is [Lock.TryLockWait] with a lease in place of the watchdog.
func (l Lock) TryLockFor(ctx context.Context, wait, lease time.Duration) (bool, error) {
	return l.truth(ctx, "tryLock", wait, lease)
}

// Unlock gives back one level; [Thrown] is IllegalMonitorStateException if the thread holds none.
func (l Lock) Unlock(ctx context.Context) error { return l.void(ctx, "unlock") }

// ForceUnlock frees the lock, whoever holds it; false if nobody did.
func (l Lock) ForceUnlock(ctx context.Context) (bool, error) { return l.truth(ctx, "forceUnlock") }

// IsLocked says whether anybody holds it.
func (l Lock) IsLocked(ctx context.Context) (bool, error) { return l.truth(ctx, "isLocked") }

// IsHeldByThread asks for a thread id of the same Java client.
func (l Lock) IsHeldByThread(ctx context.Context, id int64) (bool, error) {
	return l.truth(ctx, "isHeldByThread", id)
}

// IsHeldByCurrentThread says whether this Java thread holds it.
func (l Lock) IsHeldByCurrentThread(ctx context.Context) (bool, error) {
	return l.truth(ctx, "isHeldByCurrentThread")
}

// HoldCount returns the number of levels that this Java thread holds.
func (l Lock) HoldCount(ctx context.Context) (int64, error) { return l.number(ctx, "getHoldCount") }

// RemainTimeToLive returns what is left of the lease, in milliseconds: -2 if nobody holds the lock, -1 if it
// has no lease.
func (l Lock) RemainTimeToLive(ctx context.Context) (int64, error) {
	return l.number(ctx, "remainTimeToLive")
}

// Contended is what [Lock.Contend] did.
type Contended struct {
	Total   int64   // increments of all threads
	Threads []int64 // those of each
}

// Contend lets that many Java threads of their own loop for d: take the lock, read the counter from
// Redis, add one, write it back, unlock. The counter has grown by Total, plus what others did, if no two
// ever held the lock at once. A positive lease takes the place of the watchdog.
func (l Lock) Contend(ctx context.Context, counterKey string, threads int, d, lease time.Duration) (Contended, error) {
	args := []any{counterKey, threads, d}
	if lease > 0 {
		args = append(args, lease)
	}
	reply, err := l.do(ctx, "contend", args...)
	if err != nil {
		return Contended{}, err
	}
	counts, err := reply.Ints()
	if err != nil || len(counts) == 0 {
		return Contended{}, errors.Join(errors.New("contend without counts"), err)
	}
	return Contended{Total: counts[0], Threads: counts[1:]}, nil
}
