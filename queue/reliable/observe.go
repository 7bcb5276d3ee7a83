package reliable

import (
	"context"
	"errors"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// tell says what became of a message, if there is an observer who wants to hear of them
// and somebody has seen it.
func (s *settle) tell() {
	o := s.d.c.h.e.Messages
	if o == nil || s.nack && s.delay == untried {
		return
	}
	o.Settled(context.Background(), engine.Settled{
		Queue: s.d.c.of.key, Attempt: s.d.attempt, Outcome: s.outcome(), Took: time.Since(s.d.taken), Err: s.err,
	})
}

func (s *settle) outcome() string {
	switch {
	case errors.Is(s.err, ErrLost) && !errors.Is(s.err, ErrUnknown):
		return "lost"
	case s.err != nil:
		return "failed"
	case !s.nack:
		return "acked"
	case s.delay == released:
		return "released"
	case s.delay == buried || s.d.attempt >= s.d.c.policy.attempts:
		return "buried"
	}
	return "retried"
}
