package reliable

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
)

// tell says what became of a message, if there is an observer who wants to hear of them
// and somebody has seen it.
func (s *settle) tell() {
	if w := s.d.watched; w != nil {
		w.ends(func(is *core.Handled) { is.Outcome, is.Unsettled = s.outcome(), s.err })
	}
	o := s.d.c.h.e.Messages
	if o == nil || s.nack && s.delay == untried {
		return
	}
	o.Settled(context.Background(), core.Settled{
		Queue: s.d.c.of.key, Attempt: s.d.attempt, Outcome: s.outcome(), Took: time.Since(s.d.taken), Err: s.err,
	})
}

func (s *settle) outcome() string {
	switch {
	case errors.Is(s.err, ErrLost) && !errors.Is(s.err, ErrOutcomeUnknown):
		return "lost"
	case s.err != nil:
		return "failed"
	case !s.nack, s.delay == done:
		return "acked"
	case s.delay == released:
		return "released"
	case s.buried:
		return "buried"
	}
	return "retried"
}

// watched is a message whose handler somebody observes: until that has returned and the
// message is settled, whichever is later. nil is one that nobody does.
type watched struct {
	began time.Time
	over  func(core.Handled)

	mu   sync.Mutex
	half bool // one of the two is over
	is   core.Handled
}

// handling returns the context of the handler, which is about to begin.
func (d *delivery) handling(ctx context.Context, header map[string]string) context.Context {
	w := d.watched
	if w == nil {
		return ctx
	}
	w.began = time.Now()
	child, over := d.c.h.e.Handlers.Handling(ctx, core.Handling{Queue: d.c.of.key, ID: d.id, Attempt: d.attempt, Header: header})
	if w.over = over; child == nil {
		return ctx
	}
	return child
}

// ends notes one of the two ends. The second one tells the observer.
func (w *watched) ends(note func(is *core.Handled)) {
	w.mu.Lock()
	note(&w.is)
	last := w.half
	w.half = true
	w.mu.Unlock()
	if last && w.over != nil {
		w.over(w.is)
	}
}
