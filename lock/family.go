package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
)

// Handle is one lock of one client that a hold is of. It is for the other
// packages of the family, as are the functions that take it.
type Handle struct {
	Engine *locking.Engine
	Key    core.Key // the kind, or the side of it, and the mapped name
	Name   string   // as the caller wrote it
}

// NewHold makes a hold of what acquire acquires for the seat that it is given.
// The contexts of the hold carry it for each of the handles: a lock of that
// name and client re-enters under them. Of a holding that has Members, they
// carry these instead.
func NewHold(acquire func(seat lease.Seat) (locking.Holding, error), of ...Handle) (*Hold, error) {
	return newHold(acquire, handles(of))
}

func newHold(acquire func(seat lease.Seat) (locking.Holding, error), of subject) (*Hold, error) {
	s := &seat{of: of}
	held, err := acquire(s)
	if err != nil {
		return nil, err
	}
	s.mu.Lock() // the seat may be told of its end already
	defer s.mu.Unlock()
	s.held, s.first.seat = held, s
	s.one[0] = &s.first
	s.levels = s.one[:]
	return &s.first, nil
}

// Standing returns what h stands on. It is for the package that made h.
func Standing(h *Hold) locking.Holding { return h.seat.held }

// Nest adds a level to h, as Reenter does to the hold that a context carries. It is
// false if h has ended: then h is as if it were not there.
func Nest(ctx context.Context, h *Hold, ask locking.Ask) (hold *Hold, live bool, err error) {
	hold, err = h.reenter(ctx, ask)
	if errors.Is(err, errOuterEnded) {
		return nil, false, nil
	}
	return hold, true, err
}

// Bury leaves a tombstone for owner, so that an acquire of it which arrives later
// is refused. Gone is where the tombstones of the lock are.
func Bury(ctx context.Context, e *locking.Engine, gone, owner string) error {
	_, err := e.Run(ctx, buryScript, []string{gone}, []string{owner, latchMillis})
	return err
}

// composite is a holding that is made up of holds of other locks. The contexts
// of its hold carry those in its place.
type composite interface {
	locking.Holding
	// Members are the holds that it has at present.
	Members() []*Hold
}

// Tell has to hear how h ends, be it by its unlock, as soon as h is told; at
// once if it has ended.
func Tell(h *Hold, to lease.Seat) {
	c := &holdContext{hold: h, forget: func() bool { return true }} // nobody sees it as a context
	c.cancel = to.Ended
	if cause := h.seat.tell(c); cause != nil {
		to.Ended(cause)
	}
}

// Carried returns the innermost live hold of the mapped name that ctx carries, of
// whatever kind unless one is given, and its kind; nil if there is none. A hold
// of one kind does not hide one of another around it from whoever asks for
// that.
func Carried(ctx context.Context, e *locking.Engine, name, kind string) (string, *Hold) {
	return carried(ctx, carriedKey{e, name, kind})
}

// Reenter adds a level to the hold of this lock that ctx carries; there is false
// if it carries none that stands. It refuses one of another kind under the name,
// since the caller would wait for itself.
func Reenter(ctx context.Context, of Handle, ask locking.Ask) (hold *Hold, there bool, err error) {
	kind, outer := Carried(ctx, of.Engine, of.Key.Name, "")
	switch {
	case outer == nil:
		return nil, false, nil
	case kind != of.Key.Kind:
		return nil, true, otherKind(kind, of.Key.Kind)
	}
	return ReenterOf(ctx, outer, ask)
}

// ReenterOf is Reenter where it is known which hold is meant.
func ReenterOf(ctx context.Context, outer *Hold, ask locking.Ask) (hold *Hold, there bool, err error) {
	hold, err = outer.reenter(ctx, ask)
	if errors.Is(err, errOuterEnded) {
		return nil, false, nil
	}
	return hold, true, err
}

func otherKind(carried, own string) error {
	return fmt.Errorf("%w: the context carries a hold of it of kind %q, not %q", ErrWrongKind, carried, own)
}

// Inspect returns who holds the lock of the mapped name, if it is a hash with one
// owner.
func Inspect(ctx context.Context, e *locking.Engine, name string) (Holder, error) {
	return (&protocol{e: e, name: name}).inspect(ctx)
}

// carried takes a key that asked knows.
func carried(ctx context.Context, key any) (kind string, h *Hold) {
	if h, _ = ctx.Value(key).(*Hold); h != nil {
		k, _ := asked(key)
		kind, _ = h.seat.of.kind(k)
	}
	return kind, h
}

// carriedKey asks a context for the hold of one name of one client.
type carriedKey struct {
	engine *locking.Engine
	name   string // mapped
	kind   string // "": any
}

// itself is a lock that asks for the hold of its name, of any kind: a key that is
// there already.
type itself Lock

// asked returns what a context is asked for by key, if that is of ours.
func asked(key any) (k carriedKey, is bool) {
	switch key := key.(type) {
	case carriedKey:
		return key, true
	case *itself:
		return carriedKey{engine: key.p.e, name: key.p.name}, true
	}
	return carriedKey{}, false
}

// subject is what a hold is of: a lock, or several handles.
type subject interface {
	// kind is the kind of the handle that k asks for, if there is one.
	kind(k carriedKey) (kind string, there bool)
	// names are the names that the caller wrote.
	names() []string
}

func (h Handle) kind(k carriedKey) (kind string, there bool) {
	if h.Engine == k.engine && h.Key.Name == k.name && (k.kind == "" || k.kind == h.Key.Kind) {
		return h.Key.Kind, true
	}
	return "", false
}

func (l *Lock) kind(k carriedKey) (string, bool) { return Handle{l.p.e, l.p.Key(), l.name}.kind(k) }

func (l *Lock) names() []string { return []string{l.name} }

type handles []Handle

func (hs handles) kind(k carriedKey) (kind string, there bool) {
	for _, h := range hs {
		if kind, there = h.kind(k); there {
			break
		}
	}
	return kind, there
}

// names returns those of the handles, each once.
func (hs handles) names() (names []string) {
	for _, h := range hs {
		if !slices.Contains(names, h.Name) {
			names = append(names, h.Name)
		}
	}
	return names
}

// failed names the operation, and the locks that the seat is of.
func (s *seat) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	names := s.of.names()
	for i, name := range names {
		names[i] = strconv.Quote(name)
	}
	return fmt.Errorf("%s %s: %w", op, strings.Join(names, ", "), err)
}
