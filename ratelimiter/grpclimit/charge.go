package grpclimit

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
)

// ErrNoDecision is returned by [Charge] for a context that is not of a call which came through an interceptor of
// this package.
var ErrNoDecision = errors.New("no limit has decided about this call")

// Charge says what the call of ctx has cost in all, once that is known, such as the bytes or the model tokens of
// its answer. What exceeds the [Cost] that was taken before is charged, into debt if need be: the same client's
// next calls are refused until the debt is paid. What is below the Cost is refunded. With [Also] each limit is charged.
//
// Charge may be called more than once, such as for each part of a long stream: n is always the whole, and only the
// difference is sent. It does not block longer than [Timeout], and is done also if ctx has ended. A charge
// without an answer counts as made. Messages of a stream ([Messages]) have paid on their own.
//
// ctx is the context that the handler was given, or made of it. Of chained interceptors the innermost is charged.
// Charge does nothing about a call that no limit on the server has decided about: its Cost was 0, a limiter's fallback or
// [FailOpen] let it through, or it is served only because of [Shadow].
//
// Cost: one round trip, for all limits at the same time. Errors: [ErrNoDecision];
// [ratelimiter.ErrInvalidArgument] for n below 0 and for a nil ctx; [ratelimiter.ErrExceedsDebt]; those of [ratelimiter.Bucket.Charge].
func Charge(ctx context.Context, n int64) error {
	if ctx == nil {
		return fmt.Errorf("grpclimit: charge: %w: a nil context", ratelimiter.ErrInvalidArgument)
	}
	t, ok := ctx.Value(ticketKey{}).(*ticket)
	switch {
	case !ok:
		return fmt.Errorf("grpclimit: charge: %w", ErrNoDecision)
	case n < 0:
		return fmt.Errorf("grpclimit: charge: %w: %d tokens", ratelimiter.ErrInvalidArgument, n)
	case !t.taken.Refundable():
		return nil
	}
	done := t.Report
	done.Outcome, done.Cost, done.Err = httplimit.Charged, n, t.taken.Settle(ctx, n)
	t.observe(done)
	if done.Err != nil {
		return fmt.Errorf("grpclimit: charge: %w", done.Err)
	}
	return nil
}

// Response is the result of a handler.
type Response struct {
	Context context.Context // of the call
	Method  string          // its full name
	Err     error           // what the handler returned; of a handler that panicked it has the code Internal
}

// Succeeded reports whether a call ended with OK. As predicate of [RefundIf] it refunds such calls,
// so that only failures count.
func Succeeded(r Response) bool { return status.Code(r.Err) == codes.OK }

// Failed reports whether a call did not end with OK. As predicate of [RefundIf] it refunds such
// calls, so that only successes count.
func Failed(r Response) bool { return !Succeeded(r) }
