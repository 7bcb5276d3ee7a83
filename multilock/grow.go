package multilock

import (
	"context"
	"errors"
	"time"

	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/lock"
)

// Grow asks every part for a lease of d from now on. It is content with as many
// as are needed, and waits for no more.
func (h *held) Grow(ctx context.Context, d time.Duration, _ lease.Seat) error {
	if err := h.Err(); err != nil {
		return err
	}
	parts := h.now()
	r := newRound(len(parts), func(answer) {})
	defer r.leave()
	for i, p := range parts {
		r.ask(i, p.member, func() (*lock.Hold, error) { return nil, p.hold.Extend(ctx, d) })
	}
	var failed []error
	for grown := 0; grown+len(failed) < len(parts); {
		a := <-r.answers // each is bounded by ctx
		if a.err != nil {
			failed = append(failed, a.err)
			continue
		}
		if grown++; grown == h.need {
			return nil
		}
	}
	if err := h.Err(); err != nil {
		return err
	}
	return errors.Join(failed...)
}
