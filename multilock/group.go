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
	"github.com/rueidisson/rueidisson/lock"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// Group is a handle on the locks of any number of values under one name, of
// which several are taken at once by one script. It may be used by any number of
// goroutines.
type Group struct {
	e      *locking.Engine
	mapped string
	name   string // as the caller wrote it
	bad    error  // what every operation returns, if the name cannot be used
}

// NewGroup returns a handle. Programs outside of this module call
// rueidisson.Client.LockGroup.
func NewGroup(c Client, name string) *Group {
	e := c.Engine()
	mapped := e.Map(name)
	return &Group{e: e, mapped: mapped, name: name, bad: object.CheckName(e, mapped)}
}

// Name returns the name that the handle was made with.
func (g *Group) Name() string { return g.name }

// Lock waits until none of the values is held, and takes them all: it is
// [Values.Lock] of [Group.Of].
func (g *Group) Lock(ctx context.Context, values ...string) (*lock.Hold, error) {
	return g.Of(values...).Lock(ctx)
}

// TryLock takes the values if none of them is held now: it is [Values.TryLock]
// of [Group.Of].
func (g *Group) TryLock(ctx context.Context, values ...string) (*lock.Hold, error) {
	return g.Of(values...).TryLock(ctx)
}

// Of returns a handle on the lock of these values: a [lock.Locker]. It asks
// nobody. No values are the [ErrInvalidArgument] of its operations; one that is given
// twice counts once.
func (g *Group) Of(values ...string) *Values {
	v := &Values{g: g, p: newGroupProtocol(g.e, g.mapped, values), bad: g.bad}
	if v.bad == nil && len(values) == 0 {
		v.bad = fmt.Errorf("%w: no values", ErrInvalidArgument)
	}
	return v
}

var _ lock.Locker = (*Values)(nil)

// Values is a handle on some values of a [Group], which are held together or not
// at all.
type Values struct {
	g   *Group
	p   *groupProtocol
	bad error
}

// Name returns that of the group.
func (v *Values) Name() string { return v.g.name }

// handles returns one for each value, so that each is carried.
func (v *Values) handles() []lockkit.Handle {
	all := make([]lockkit.Handle, len(v.p.fields))
	for i, field := range v.p.fields {
		all[i] = lockkit.Handle{Engine: v.g.e, Key: core.Key{Kind: "group " + field, Name: v.g.mapped}, Name: v.g.name}
	}
	return all
}

// Lock waits until none of the values is held by another, and takes them all.
// ctx bounds the wait and nothing else; what it returns is a hold as that of any
// lock, renewed until it is unlocked unless [lock.WithLease] is given.
//
// Under a context that carries a hold of all of the values, Lock re-enters that
// hold; of some of them only, it is an [ErrInvalidArgument], since it would wait for
// itself.
//
// Those who wait for the same values queue in their process. They are woken when
// one of these is released, and by each release by Redisson in the group, and look.
//
// Cost: as of a lock, for any number of values; the script is linear in them.
// Wire: hash name; for each value the field f, the HighwayHash-128 of its UTF-8
// bytes in base64, with the owner, f:<owner>:expire_time with the end of the
// lease in ms by the clock of the client, and f:<owner>:lock_count.
// Errors: as [lock.Lock.Lock]; [lock.ErrWrongKind] if the name is that of a lock.
// Source: Redisson's RLock of getMultiLock(group, values), with a string codec.
func (v *Values) Lock(ctx context.Context, opts ...lock.LockOption) (*lock.Hold, error) {
	ask, err := lockkit.Resolve(opts)
	return v.acquire(ctx, "lock", ask, err)
}

// TryLock takes the values if none of them is held now, or within
// [lock.WithWait]. It returns [ErrNotAcquired] if not. Cost, wire and other
// errors: as [Values.Lock].
func (v *Values) TryLock(ctx context.Context, opts ...lock.TryOption) (*lock.Hold, error) {
	ask, err := lockkit.ResolveTry(opts)
	return v.acquire(ctx, "try lock", ask, err)
}

func (v *Values) acquire(ctx context.Context, op string, ask locking.Ask, err error) (hold *lock.Hold, _ error) {
	if err == nil {
		err = v.bad
	}
	if err == nil {
		err = usable(ctx, []member{{Locker: v, e: v.g.e}})
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

// carried returns the hold of all the values that ctx carries, if it does.
func (v *Values) carried(ctx context.Context) (outer *lock.Hold, err error) {
	for i, h := range v.handles() {
		_, hold := lockkit.Carried[lock.Hold](ctx, h.Engine, h.Key.Name, h.Key.Kind)
		if kind, _ := lockkit.Carried[lock.Hold](ctx, h.Engine, h.Key.Name, ""); hold == nil && kind != "" && !strings.HasPrefix(kind, "group ") {
			return nil, fmt.Errorf("%w: the context carries a hold of it of kind %q", lock.ErrWrongKind, kind)
		}
		if i > 0 && hold != outer {
			return nil, fmt.Errorf("%w: the context carries a hold of some of the values", ErrInvalidArgument)
		}
		outer = hold
	}
	return outer, nil
}

// Two of one group cannot be members of one lock, as their values could be given at once.
func init() {
	lockkit.LendIdentity(func(v *Values) (*locking.Engine, core.Key) {
		return v.g.e, core.Key{Kind: core.GroupKind, Name: v.g.mapped}
	})
}
