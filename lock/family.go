package lock

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
)

// NewHold makes a hold of the holding that acquire acquires for its seat. It is for the packages of
// this module: its parameters are internal. The contexts of the hold carry it for each of the
// handles: a lock of that name and client re-enters under them. If the holding has Members, the
// contexts carry these instead. NewHold returns the errors of acquire.
func NewHold(acquire func(seat lease.Seat) (locking.Holding, error), of ...lockkit.Handle) (*Hold, error) {
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

// composite is a holding that is made up of holds of other locks. The contexts of its hold carry
// those in its place.
type composite interface {
	locking.Holding
	// Members returns the holds that it has at present.
	Members() []*Hold
}

// carried returns the hold that ctx carries for a key that asked knows.
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

// itself is a lock as a context key that asks for the hold of its name, of any kind. Its use needs
// no allocation.
type itself Lock

// asked returns what a context is asked for by key, if key is one of this package.
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
	// kind returns the kind of the handle that k asks for, if there is one.
	kind(k carriedKey) (kind string, there bool)
	// names returns the names that the caller wrote.
	names() []string
}

// kindOf returns the kind of the handle, if k asks for it.
func kindOf(h lockkit.Handle, k carriedKey) (kind string, there bool) {
	if h.Engine == k.engine && h.Key.Name == k.name && (k.kind == "" || k.kind == h.Key.Kind) {
		return h.Key.Kind, true
	}
	return "", false
}

func (l *Lock) kind(k carriedKey) (string, bool) {
	return kindOf(lockkit.Handle{Engine: l.p.e, Key: l.p.Key(), Name: l.name}, k)
}

func (l *Lock) names() []string { return []string{l.name} }

type handles []lockkit.Handle

func (hs handles) kind(k carriedKey) (kind string, there bool) {
	for _, h := range hs {
		if kind, there = kindOf(h, k); there {
			break
		}
	}
	return kind, there
}

// names returns the names of the handles, each once.
func (hs handles) names() (names []string) {
	for _, h := range hs {
		if !slices.Contains(names, h.Name) {
			names = append(names, h.Name)
		}
	}
	return names
}

// failed adds the operation and the names of the seat's locks to err.
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
