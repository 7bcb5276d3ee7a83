package lock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
)

// seat is one acquisition and the levels in it. The engine tells the seat when the acquisition
// ends, and the seat tells the levels.
type seat struct {
	of   subject
	held locking.Holding // set before any hold is given out

	mu     sync.Mutex
	levels []*Hold // not yet unlocked
	cause  error   // why it ended without an unlock
	first  Hold
	one    [1]*Hold // the room for levels without re-entry
}

// Ended is called by the engine when the acquisition is lost or the client is closed. It ends the
// contexts and closes the channels of every level.
func (s *seat) Ended(cause error) {
	s.mu.Lock()
	if s.cause == nil {
		s.cause = cause
	}
	ended := make([]contexts, 0, len(s.levels))
	for _, h := range s.levels {
		ended = append(ended, h.contexts.take())
		if h.lost == nil {
			continue
		}
		select {
		case <-h.lost: // it is closed already
		default:
			close(h.lost)
		}
	}
	s.mu.Unlock()
	for _, contexts := range ended {
		contexts.end(cause)
	}
}

// ended returns why a level has ended, as far as the seat knows.
func (s *seat) ended(h *Hold) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.released {
		return ErrReleased
	}
	return s.cause
}

// leave ends one level and reports whether it was the last.
func (s *seat) leave(h *Hold) (last bool, err error) {
	s.mu.Lock()
	if h.released {
		s.mu.Unlock()
		return false, ErrReleased
	}
	h.released = true
	contexts := h.contexts.take()
	s.levels = slices.DeleteFunc(s.levels, func(level *Hold) bool { return level == h })
	last = len(s.levels) == 0
	s.mu.Unlock()
	contexts.end(ErrReleased)
	return last, nil
}

// errOuterEnded says that a carried hold has ended and is ignored.
var errOuterEnded = errors.New("the carried hold has ended")

// reenter adds a level to the seat of h. It does no I/O, unless the caller wants a longer lease
// than is left.
func (h *Hold) reenter(ctx context.Context, ask locking.Ask) (*Hold, error) {
	s := h.seat
	inner := &Hold{seat: s}
	s.mu.Lock()
	if len(s.levels) == 0 || s.cause != nil {
		s.mu.Unlock()
		return nil, errOuterEnded
	}
	s.levels = append(s.levels, inner)
	s.mu.Unlock()
	if ask.Lease == 0 || time.Until(s.held.Deadline()) >= ask.Lease-lease.Margin(ask.Lease) {
		return inner, nil
	}
	if err := s.held.Grow(ctx, ask.Lease, s); err != nil {
		return nil, errors.Join(err, inner.Unlock(ctx))
	}
	return inner, nil
}
