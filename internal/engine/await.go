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
	f := &flight[T]{call: call, landed: make(chan struct{}, 1)}
	return f.await(e, ctx, patience, f.run)
}

// flight is a call that may outlive its caller. It may be used again once it
// has answered, and not before.
type flight[T any] struct {
	call   func() (T, error)
	landed chan struct{} // with one place: the call does not wait for who has gone
	result T             // the call's until it has landed
	err    error
}

func (f *flight[T]) run() {
	f.result, f.err = f.call()
	f.landed <- struct{}{}
}

// await is Await; run is f.run, which costs an allocation each time that it is
// made a value.
func (f *flight[T]) await(e *Engine, ctx context.Context, patience time.Duration, run func()) (result T, err error, answered bool) {
	if f.lands(e, ctx, patience, run) {
		return f.result, f.err, true
	}
	return result, e.whyEnded(ctx), false
}

// lands reports whether the call has answered, with the result in f. Nobody looks
// at f any more if it has not.
func (f *flight[T]) lands(e *Engine, ctx context.Context, patience time.Duration, run func()) bool {
	if !e.spawn(run) {
		f.err = ErrClosed
		return true
	}
	select {
	case <-f.landed:
		return true
	case <-ctx.Done():
	case <-e.closing:
	}
	return f.landsIn(patience)
}

func (f *flight[T]) landsIn(patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-f.landed:
		return true
	case <-timer.C:
		return false
	}
}

// whyEnded returns why a call that was left alone ended.
func (e *Engine) whyEnded(ctx context.Context) error {
	if ctx.Err() != nil {
		return ContextError(ctx)
	}
	return ErrClosed
}
