package lock

import (
	"context"
	"fmt"
	"strings"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// Handle is one lock of one client that a hold is of. It is for the other
// packages of the family, as are the functions that take it.
type Handle struct {
	Engine *engine.Engine
	Key    engine.Key // the kind, or the side of it, and the mapped name
	Name   string     // as the caller wrote it
}

// NewHold makes a hold of what acquire acquires for the seat that it is given.
// The contexts of the hold carry it for each of the handles: a lock of that
// name and client re-enters under them.
func NewHold(acquire func(seat engine.Seat) (engine.Holding, error), of ...Handle) (*Hold, error) {
	s := &seat{of: of}
	held, err := acquire(s)
	if err != nil {
		return nil, err
	}
	return s.take(held), nil
}

// Carried is the innermost live hold of the mapped name that ctx carries, of
// whatever kind unless one is given, and its kind; nil if there is none. A hold
// of one kind does not hide one of another around it from whoever asks for
// that.
func Carried(ctx context.Context, e *engine.Engine, name, kind string) (string, *Hold) {
	return carried(ctx, carriedKey{e, name, kind})
}

// carried takes its key boxed, so that a handle can have it ready.
func carried(ctx context.Context, key any) (kind string, h *Hold) {
	if h, _ = ctx.Value(key).(*Hold); h != nil {
		kind, _ = h.seat.kind(key.(carriedKey))
	}
	return kind, h
}

// carriedKey asks a context for the hold of one name of one client.
type carriedKey struct {
	engine *engine.Engine
	name   string // mapped
	kind   string // "": any
}

// kind is the kind of the handle that k asks for, if the seat has one.
func (s *seat) kind(k carriedKey) (kind string, there bool) {
	for _, h := range s.of {
		if h.Engine == k.engine && h.Key.Name == k.name && (k.kind == "" || k.kind == h.Key.Kind) {
			return h.Key.Kind, true
		}
	}
	return "", false
}

// failed names the operation, and the locks that the seat is of.
func (s *seat) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	names := make([]string, len(s.of))
	for i, h := range s.of {
		names[i] = fmt.Sprintf("%q", h.Name)
	}
	return fmt.Errorf("%s %s: %w", op, strings.Join(names, ", "), err)
}
