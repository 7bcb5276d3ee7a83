package lock

import (
	"context"
	"errors"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/internal/object"
)

// init gives the other packages of locks, through package lockkit, access to what follows.
func init() {
	lockkit.LendLock(lockkit.Lock{
		Apply:    apply,
		Standing: func(hold any) locking.Holding { return hold.(*Hold).seat.held },
		Nest:     nest,
		Carried: func(ctx context.Context, e *locking.Engine, name, kind string) (string, any) {
			return carried(ctx, carriedKey{e, name, kind})
		},
		Tell: func(hold any, to lease.Seat) { hold.(*Hold).tell(to) },
		Bury: bury,
		Inspect: func(ctx context.Context, e *locking.Engine, name string) (any, error) {
			return (&protocol{e: e, name: name}).inspect(ctx)
		},
		Unusable: func(e *locking.Engine, name string, err error) any {
			return &Lock{p: *newProtocol(e, name), name: name, bad: err}
		},
	})
	lockkit.LendIdentity((*Lock).identity)
	lockkit.LendIdentity(func(f *Fenced) (*locking.Engine, core.Key) { return f.l.identity() })
}

// apply applies an option of a Lock or a TryLock.
func apply(option any, ask *locking.Ask) error {
	if option == nil {
		return object.ErrNilOption
	}
	return option.(TryOption).applyTry(ask)
}

// nest re-enters hold. It returns live = false for a hold that has ended, which the caller ignores.
func nest(ctx context.Context, hold any, ask locking.Ask) (inner any, live bool, err error) {
	added, err := hold.(*Hold).reenter(ctx, ask)
	if errors.Is(err, errOuterEnded) {
		return nil, false, nil
	}
	return added, true, err
}

// tell calls the Ended method of to when h ends, at once if h has ended already.
func (h *Hold) tell(to lease.Seat) {
	c := &holdContext{hold: h, forget: func() bool { return true }} // it is never used as a context
	c.cancel = to.Ended
	if cause := h.seat.tell(c); cause != nil {
		to.Ended(cause)
	}
}

// bury leaves a tombstone for owner in gone, the key of the lock's tombstones.
func bury(ctx context.Context, e *locking.Engine, gone, owner string) error {
	_, err := e.Run(ctx, buryScript, []string{gone}, []string{owner, latchMillis})
	return err
}
