package engine

import (
	"context"
	"time"
)

// grace is how long an acquire in flight may still answer after its caller has
// gone, so that what it won can be passed on.
const grace = 50 * time.Millisecond

// Await runs call and returns its result. If ctx ends or the client closes
// first, call gets patience more time; then Await returns without it, and
// answered is false: call runs on by itself, and the caller must see to it
// that what it may still do is undone.
func Await[T any](e *Engine, ctx context.Context, patience time.Duration, call func() (T, error)) (result T, err error, answered bool) {
	if ctx.Done() == nil {
		result, err = call()
		return result, err, true
	}
	type outcome struct {
		result T
		err    error
	}
	done := make(chan outcome, 1)
	if !e.spawn(func() {
		r, err := call()
		done <- outcome{r, err}
	}) {
		return result, ErrClosed, true
	}
	select {
	case o := <-done:
		return o.result, o.err, true
	case <-ctx.Done():
	case <-e.closing:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.result, o.err, true
	case <-timer.C:
		return result, e.whyEnded(ctx), false
	}
}

// whyEnded is why a call that was left alone ended.
func (e *Engine) whyEnded(ctx context.Context) error {
	if ctx.Err() != nil {
		return ContextError(ctx)
	}
	return ErrClosed
}
