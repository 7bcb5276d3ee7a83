package rwlock

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/lock"
)

// Side is the read side or the write side of a lock. It is a [lock.Locker], and
// its holds are [lock.Hold]s.
type Side struct {
	l    *Lock
	kind string
}

var _ lock.Locker = (*Side)(nil)

// Name returns the name of the lock that it is a side of.
func (s *Side) Name() string { return s.l.label }

// Lock waits until the side is free and acquires it: the read side while there is no writer, the
// write side while there is no reader and no writer. ctx bounds only the wait: the hold outlives
// it. The watchdog renews the hold until [lock.Hold.Unlock], unless [lock.WithLease] fixes its
// lease.
//
// Under a context that carries a hold of this lock:
//
//   - a side re-enters its own, at once;
//   - the read side joins a write hold, at once; if the write hold is unlocked first, that
//     unlock replaces it with a read hold, and lets all readers in;
//   - the write side under a read hold returns [ErrUpgrade], unless the context carries a write
//     hold further out: then it re-enters that.
//
// A waiter sleeps as described for [lock.Lock.Lock]. Goroutines of one process queue in arrival
// order, and readers that are next to each other in it enter together.
//
// Cost: one script call if the side is free. None on re-entry, and for a writer to which another
// writer of this client hands the side over. None for a reader whose process has had the read side
// for less than the time of rueidisson.WithHandover. A writer that waits makes two calls each
// second, or one with [WithReaderPreference], and two more to check whether readers are still
// alive.
// Errors: as [lock.Lock.Lock], and [ErrUpgrade].
// Source: RReadWriteLock.
func (s *Side) Lock(ctx context.Context, opts ...lock.LockOption) (*lock.Hold, error) {
	ask, err := lockkit.Resolve(opts)
	return s.acquire(ctx, s.kind+" lock", ask, err)
}

// TryLock acquires the side if it is free now, or becomes free within [lock.WithWait]. Else it
// returns [lock.ErrNotAcquired]. If goroutines of this client have the other side, or wait for it,
// TryLock answers without a request to the server.
//
// Cost, wire and other errors: as [Side.Lock].
func (s *Side) TryLock(ctx context.Context, opts ...lock.TryOption) (*lock.Hold, error) {
	ask, err := lockkit.ResolveTry(opts)
	return s.acquire(ctx, "try "+s.kind+" lock", ask, err)
}

// ForceUnlock takes the side away from its holders, and reports whether there were any: the write
// side from its writer, the read side from all readers. Holders of this library learn it as
// described for [lock.Lock.ForceUnlock]. The request is sent once: after [lock.ErrOutcomeUnknown]
// the side may have been taken away. ctx bounds the round trips.
//
// Waiting writers lose their claims in Redis, and readers lose their turn. Those that live claim
// them again.
//
// Cost: one script call and two commands. Source: RLock.forceUnlock.
func (s *Side) ForceUnlock(ctx context.Context) (held bool, err error) {
	message := "0"
	if s.kind == writeKind {
		message = "1"
	}
	held, err = ask(ctx, s.l, func() (bool, error) {
		held, err := s.l.on.force(ctx, s.kind, message)
		// Delete the claims of waiting writers and the turn of readers, too: they may be of dead
		// processes, or last too long because a clock was set back. Living waiters claim again.
		// Each is a command of one key, so that it works during a slot migration.
		for _, key := range []string{s.l.on.claims, s.l.on.turn} {
			if err == nil {
				_, err = s.l.on.e.Run(ctx, deleteCommand, []string{key}, nil)
			}
		}
		return held, err
	})
	if held {
		s.l.on.e.Hurry(s.l.on.Key()) // holders of this client learn it before their next renewals
	}
	return held, s.l.failed("force unlock "+s.kind+" of", err)
}

func (s *server) force(ctx context.Context, mode, message string) (bool, error) {
	answer, err := s.e.Run(ctx, forceScript, []string{s.name}, []string{mode, s.channel, s.e.Publish(), message})
	if err != nil {
		return false, err
	}
	n, err := answer.AsInt64()
	return n == 1, err
}

func (s *Side) acquire(ctx context.Context, op string, ask locking.Ask, err error) (*lock.Hold, error) {
	if err == nil {
		err = s.l.usable(ctx)
	}
	if err != nil {
		return nil, s.l.failed(op, err)
	}
	hold, live, err := s.nested(ctx, ask)
	if !live {
		hold, err = s.fresh(ctx, ask)
	}
	return hold, s.l.failed(op, err)
}

// handle returns the handle under which contexts carry the holds of the side.
func (s *Side) handle() lockkit.Handle {
	return lockkit.Handle{Engine: s.l.on.e, Key: core.Key{Kind: s.kind, Name: s.l.on.name}, Name: s.l.label}
}

func (s *Side) fresh(ctx context.Context, ask locking.Ask) (*lock.Hold, error) {
	if s.kind == writeKind {
		return lock.NewHold(func(seat lease.Seat) (locking.Holding, error) {
			return s.l.newWriting(ctx, ask, seat)
		}, s.handle())
	}
	ask.Shared = true
	return lock.NewHold(func(seat lease.Seat) (locking.Holding, error) {
		held, err := s.l.on.e.Acquire(ctx, s.l.reader, ask, seat)
		return (*reading)(held), err
	}, s.handle())
}

// nested returns the hold to use under a context that carries a hold of this lock. live is false if
// there is none.
func (s *Side) nested(ctx context.Context, ask locking.Ask) (hold *lock.Hold, live bool, err error) {
	kind, outer := lockkit.Carried[lock.Hold](ctx, s.l.on.e, s.l.on.name, "")
	switch {
	case outer == nil:
		return nil, false, nil
	case core.Family(kind) != family:
		return nil, true, core.Mixed(core.Family(kind))
	case kind == s.kind:
		return lockkit.Nest(ctx, outer, ask)
	case s.kind == readKind:
		return s.under(ctx, outer, ask)
	}
	if _, further := lockkit.Carried[lock.Hold](ctx, s.l.on.e, s.l.on.name, writeKind); further != nil {
		return lockkit.Nest(ctx, further, ask)
	}
	return nil, true, ErrUpgrade
}

func init() {
	lockkit.LendIdentity(func(s *Side) (*locking.Engine, core.Key) { return s.l.on.e, s.l.on.Key() })
}
