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

// Lock waits until the side is free and takes it: the read side while nobody
// writes, the write side while nobody reads or writes. ctx bounds the wait and
// nothing else: the hold outlives it. The hold is renewed by the watchdog until
// [lock.Hold.Unlock], unless [lock.WithLease] fixes its lease.
//
// Under a context that carries a hold of this lock:
//
//   - a side re-enters its own, at once;
//   - the read side joins a write hold, at once; if the write hold is unlocked
//     first, that unlock puts a read hold in its place, and lets all readers in;
//   - the write side under a read hold is [ErrUpgrade], unless a write hold stands
//     further out: then it re-enters that.
//
// A waiter sleeps as [lock.Lock.Lock] says. Goroutines of one process queue in
// arrival order, and readers that stand next to each other go together.
//
// Cost: one script call if the side is free; none on re-entry, for a reader whose
// process has had the read side for less than rueidisson.WithHandover's time, and
// for a writer that another one of this client hands it over to. A writer that
// waits makes two calls each second, or one with [WithReaderPreference], and two
// more to see whether readers are still alive.
// Wire: hash name, field mode = read or write, field owner (a writer's ends in
// ":write"), value hold count; string {name}:<owner>:rwlock_timeout:1 for each
// reader. A read hold's lease stands there in steps of at most the watchdog
// timeout, which are renewed until it ends.
// Errors: as [lock.Lock.Lock], and [ErrUpgrade].
// Source: RReadWriteLock.
func (s *Side) Lock(ctx context.Context, opts ...lock.LockOption) (*lock.Hold, error) {
	ask, err := lockkit.Resolve(opts)
	return s.acquire(ctx, s.kind+" lock", ask, err)
}

// TryLock takes the side if it is free now, or becomes free within
// [lock.WithWait]. It returns [lock.ErrNotAcquired] if it does not. If goroutines
// of this client have the other side, or wait for it, the answer comes without
// asking the server.
//
// Cost, wire and other errors: as [Side.Lock].
func (s *Side) TryLock(ctx context.Context, opts ...lock.TryOption) (*lock.Hold, error) {
	ask, err := lockkit.ResolveTry(opts)
	return s.acquire(ctx, "try "+s.kind+" lock", ask, err)
}

// ForceUnlock takes the side away from whoever holds it, and reports whether
// somebody did: the write side from its writer, the read side from all readers.
// Holders of this library learn it as [lock.Lock.ForceUnlock] says. It is sent
// once: after [lock.ErrOutcomeUnknown] it may have been done.
//
// Writers that wait, and readers that have their turn, lose what they have said in
// Redis of that, and say it again if they live.
//
// Cost: one script call and two commands. Wire: DEL name, and the release message;
// DEL of the claims and of the turn.
// Source: RLock.forceUnlock.
func (s *Side) ForceUnlock(ctx context.Context) (held bool, err error) {
	message := "0"
	if s.kind == writeKind {
		message = "1"
	}
	held, err = ask(ctx, s.l, func() (bool, error) {
		held, err := s.l.on.force(ctx, s.kind, message)
		// The claims of writers that wait and the turn of readers go, too: what has died, and what a clock that was set back
		// has made last. Those that live say so again. Each is a command of one key, so that it works while the slot moves.
		for _, key := range []string{s.l.on.claims, s.l.on.turn} {
			if err == nil {
				_, err = s.l.on.e.Run(ctx, deleteCommand, []string{key}, nil)
			}
		}
		return held, err
	})
	if held {
		s.l.on.e.Hurry(s.l.on.Key()) // our own holders need not wait for their renewals
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

// handle returns what the contexts of its holds carry them for.
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

// nested returns what a context that carries a hold of this lock asks for. It is not
// live if there is none.
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
