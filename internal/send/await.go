package send

import (
	"context"
	"errors"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
)

// Grace is how long an acquire in flight may still answer after its caller has
// gone, so that what it won can be passed on.
const Grace = 50 * time.Millisecond

// Await runs call and returns its result. If ctx ends or the client closes
// first, call gets patience more time; then Await returns without it, and
// answered is false: call runs on by itself, and the caller must see to it
// that what it may still do is undone.
func Await[T any](s *Sender, ctx context.Context, patience time.Duration, call func() (T, error)) (result T, err error, answered bool) {
	if ctx.Done() == nil {
		result, err = call()
		return result, err, true
	}
	f := &Flight[T]{Call: call, Landed: make(chan struct{}, 1)}
	if f.Lands(s, ctx, patience, f.Run) {
		return f.Result, f.Err, true
	}
	return result, s.WhyEnded(ctx), false
}

// Flight is a call that may outlive its caller. It may be used again once it
// has answered, and not before.
type Flight[T any] struct {
	Call   func() (T, error)
	Landed chan struct{} // with one place: the call does not wait for who has gone
	Result T             // the call's until it has landed
	Err    error
}

func (f *Flight[T]) Run() {
	f.Result, f.Err = f.Call()
	f.Landed <- struct{}{}
}

// Lands reports whether the call has answered, with the result in f. Nobody looks
// at f any more if it has not. Run is f.Run, which costs an allocation each time that it is made a value.
func (f *Flight[T]) Lands(s *Sender, ctx context.Context, patience time.Duration, run func()) bool {
	if !s.Spawn(run) {
		f.Err = core.ErrClosed
		return true
	}
	select {
	case <-f.Landed:
		return true
	case <-ctx.Done():
	case <-s.Closing():
	}
	return f.landsIn(patience)
}

func (f *Flight[T]) landsIn(patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-f.Landed:
		return true
	case <-timer.C:
		return false
	}
}

// WhyEnded returns why a call that was left alone ended.
func (s *Sender) WhyEnded(ctx context.Context) error {
	if ctx.Err() != nil {
		return core.ContextError(ctx)
	}
	return core.ErrClosed
}

// Reading makes one exchange that changes nothing. ctx bounds the wait for it.
func Reading[T any](s *Sender, ctx context.Context, call func() (T, error)) (T, error) {
	result, err, _ := Await(s, ctx, 0, call)
	return result, err
}

// Writing makes one exchange that changes something. ctx bounds the wait for it;
// it may be done still when that has ended, which is ErrOutcomeUnknown.
func Writing[T any](s *Sender, ctx context.Context, call func() (T, error)) (T, error) {
	result, err, answered := Await(s, ctx, 0, call)
	if !answered {
		err = core.Left(err)
	}
	return result, err
}

// Sent is Writing of a call that makes one send. While many calls are under way, it stays on its caller's goroutine and goes
// out together with theirs.
func Sent[T any](s *Sender, ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	if ctx.Done() == nil || !s.Crowded() && (s.ReplicaAcks > 0 || seatOf(ctx, s) == nil) || Followed(ctx) {
		return Writing(s, ctx, func() (T, error) { return call(ctx) })
	}
	var none T
	if !s.Tasks.Begin() { // Close waits for who may have something sent
		return none, core.ErrClosed
	}
	defer s.Tasks.Done()
	result, err := call(&Leaving{Context: ctx, Over: ctx.Done(), Closing: s.Closing()})
	if errors.Is(err, errLeft) {
		return none, core.Left(s.WhyEnded(ctx))
	}
	return result, err
}
