package redissonlimiter

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// query makes a call that changes nothing: ctx bounds the round trip.
func query[T any](ctx context.Context, l *Limiter, call func() (T, error)) (result T, err error) {
	if err := l.ready(ctx, nil); err != nil {
		return result, err
	}
	result, err, _ = send.Await(l.e.Sender, ctx, 0, call)
	return result, err
}

// once makes a call that changes something and is not known by an entry, so that
// a caller who left does not know whether it was done. bad is what is wrong
// with its arguments.
func once[T any](ctx context.Context, l *Limiter, bad error, call func() (T, error)) (result T, err error) {
	return object.Ask(ctx, l.e, cmp.Or(l.bad, bad), call)
}

// ready checks what every operation checks first.
func (l *Limiter) ready(ctx context.Context, bad error) error {
	return object.Usable(ctx, l.e, cmp.Or(l.bad, bad))
}

// failed names the operation and the limiter.
func (l *Limiter) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, ratelimiter.ErrOutcomeUnknown) && l.e.Open() != nil {
		err = fmt.Errorf("%w: %w", ratelimiter.ErrClosed, err) // Close has cut it short
	}
	return fmt.Errorf("rate limiter %q: %s: %w", l.name, op, err)
}
