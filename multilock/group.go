package multilock

import (
	"context"
	"fmt"
	"strings"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/quorum"
	"github.com/rueidisson/rueidisson/lock"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// Group is a handle on the locks of any number of values under one name. One script acquires
// several of them at once. Any number of goroutines may use it.
type Group struct {
	e      *locking.Engine
	mapped string
	name   string // as the caller wrote it
	bad    error  // what every operation returns, if the name cannot be used
}

// NewGroup returns a handle on the group of that name. Programs call client.LockGroup(name), which
// returns the same. NewGroup is for packages that take a [Client] and do not import rueidisson.
func NewGroup(c Client, name string) *Group {
	e := c.Engine()
	mapped := e.Map(name)
	return &Group{e: e, mapped: mapped, name: name, bad: object.CheckName(e, mapped)}
}

// Name returns the name that the handle was made with.
func (g *Group) Name() string { return g.name }

// Lock waits until all of the values are free, and acquires them all. ctx bounds the wait. It does
// what [Values.Lock] of [Group.Of] does.
//
// Cost and errors: as [Values.Lock].
func (g *Group) Lock(ctx context.Context, values ...string) (*lock.Hold, error) {
	return g.Of(values...).Lock(ctx)
}

// TryLock acquires the values if all of them are free now. Else it returns [ErrNotAcquired]. It
// does what [Values.TryLock] of [Group.Of] does.
//
// Cost and other errors: as [Values.Lock].
func (g *Group) TryLock(ctx context.Context, values ...string) (*lock.Hold, error) {
	return g.Of(values...).TryLock(ctx)
}

// Of returns a handle on the lock of these values: a [lock.Locker]. It does no I/O. Without values
// its operations return [ErrInvalidArgument]. A value that is given twice counts once.
func (g *Group) Of(values ...string) *Values {
	v := &Values{g: g, p: newGroupProtocol(g.e, g.mapped, values), bad: g.bad}
	if v.bad == nil && len(values) == 0 {
		v.bad = fmt.Errorf("%w: no values", ErrInvalidArgument)
	}
	return v
}

var _ lock.Locker = (*Values)(nil)

// Values is a handle on some values of a [Group], which are held all or none.
type Values struct {
	g   *Group
	p   *groupProtocol
	bad error
}

// Name returns the name of the group.
func (v *Values) Name() string { return v.g.name }

// handles returns one handle for each value, so that contexts carry each value.
func (v *Values) handles() []lockkit.Handle {
	all := make([]lockkit.Handle, len(v.p.fields))
	for i, field := range v.p.fields {
		all[i] = lockkit.Handle{Engine: v.g.e, Key: core.Key{Kind: "group " + field, Name: v.g.mapped}, Name: v.g.name}
	}
	return all
}

// Lock waits until all of the values are free, and acquires them all. ctx bounds only the wait. The
// hold is like the hold of any lock: it is renewed until it is unlocked, unless [lock.WithLease] is
// given.
//
// Under a context that carries a hold of all of the values, Lock re-enters that hold. If the
// context carries a hold of some of them only, Lock returns [ErrInvalidArgument], because it would
// wait for itself.
//
// Waiters for the same values queue in their process. They wake and check when one of these values
// is released, and at each release by Redisson in the group.
//
// Cost: as for a lock, for any number of values; the script is linear in them.
// Errors: as [lock.Lock.Lock]; [lock.ErrWrongKind] if the name is the name of a lock.
// Source: Redisson's RLock of getMultiLock(group, values), with a string codec.
func (v *Values) Lock(ctx context.Context, opts ...lock.LockOption) (*lock.Hold, error) {
	ask, err := lockkit.Resolve(opts)
	return v.acquire(ctx, "lock", ask, err)
}

// TryLock acquires the values if all of them are free now, or within [lock.WithWait]. Else it
// returns [ErrNotAcquired]. Cost, wire and other errors: as [Values.Lock].
func (v *Values) TryLock(ctx context.Context, opts ...lock.TryOption) (*lock.Hold, error) {
	ask, err := lockkit.ResolveTry(opts)
	return v.acquire(ctx, "try lock", ask, err)
}

func (v *Values) acquire(ctx context.Context, op string, ask locking.Ask, err error) (hold *lock.Hold, _ error) {
	if err == nil {
		err = v.bad
	}
	if err == nil {
		err = quorum.Usable(ctx, []quorum.Member{{Locker: v, Engine: v.g.e}})
	}
	if err == nil {
		hold, err = v.take(ctx, ask)
	}
	return hold, v.failed(op, err)
}

func (v *Values) take(ctx context.Context, ask locking.Ask) (*lock.Hold, error) {
	if outer, err := v.carried(ctx); outer != nil || err != nil {
		if err != nil {
			return nil, err
		}
		if hold, there, err := lockkit.Nest(ctx, outer, ask); there {
			return hold, err
		}
	}
	return lock.NewHold(func(seat lease.Seat) (locking.Holding, error) {
		return v.g.e.Acquire(ctx, v.p, ask, seat)
	}, v.handles()...)
}

// carried returns the hold of all the values that ctx carries, if there is one.
func (v *Values) carried(ctx context.Context) (outer *lock.Hold, err error) {
	for i, h := range v.handles() {
		_, hold := lockkit.Carried[lock.Hold](ctx, h.Engine, h.Key.Name, h.Key.Kind)
		if kind, _ := lockkit.Carried[lock.Hold](ctx, h.Engine, h.Key.Name, ""); hold == nil && kind != "" && !strings.HasPrefix(kind, "group ") {
			return nil, fmt.Errorf("%w: the context carries a hold of kind %q of that name", lock.ErrWrongKind, kind)
		}
		if i > 0 && hold != outer {
			return nil, fmt.Errorf("%w: the context carries a hold of some of the values", ErrInvalidArgument)
		}
		outer = hold
	}
	return outer, nil
}

// init refuses two of one group as members of one lock: their values can be given at once.
func init() {
	lockkit.LendIdentity(func(v *Values) (*locking.Engine, core.Key) {
		return v.g.e, core.Key{Kind: core.GroupKind, Name: v.g.mapped}
	})
}
