package httplimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/rueidisson/rueidisson/ratelimiter"
)

// Charge reports what the request of ctx has cost in all, once that is known, such as the bytes or
// the model tokens of its response. The excess over the [Cost] that was taken before is charged, as
// debt if necessary, so that the same client's next requests are refused until that is paid. The
// rest below it is refunded. Each of several limits ([Also]) is charged.
//
// It may be called more than once, such as for each part of a long stream: n is
// always the whole, and only what is new is sent. Each call is one round trip,
// for each limit at the same time; it is bounded by [Timeout] and made also if
// ctx has ended, as the client is gone. A charge without an answer counts
// as made, and is not made twice.
//
// ctx is that of the request that the handler was given, or made of it. Of
// middlewares one around the other it is the innermost that hears of it. It does
// nothing about a request that no limit on the server has decided about: one
// whose Cost was 0, one that a limiter's fallback or [FailOpen] let through, one
// that is only served because of [Shadow].
//
// Errors: [ErrNoDecision]; [ratelimiter.ErrInvalidArgument] for n below 0 and for a nil ctx;
// [ratelimiter.ErrExceedsDebt]; those of [ratelimiter.Bucket.Charge].
func Charge(ctx context.Context, n int64) error {
	if ctx == nil {
		return fmt.Errorf("httplimit: charge: %w: a nil context", ratelimiter.ErrInvalidArgument)
	}
	t, ok := ctx.Value(ticketKey{}).(*ticket)
	switch {
	case !ok:
		return fmt.Errorf("httplimit: charge: %w", ErrNoDecision)
	case n < 0:
		return fmt.Errorf("httplimit: charge: %w: %d tokens", ratelimiter.ErrInvalidArgument, n)
	case !t.taken.Refundable():
		return nil
	}
	done := t.Report
	done.Outcome, done.Cost, done.Err = Charged, n, t.taken.Settle(ctx, n)
	t.m.observe(t.request, done)
	if done.Err != nil {
		return fmt.Errorf("httplimit: charge: %w", done.Err)
	}
	return nil
}

// ErrNoDecision is returned by [Charge] for a context of no request that came
// through a middleware of this package.
var ErrNoDecision = errors.New("no limit has decided about this request")

type ticketKey struct{}

// carry returns the request with the decision about it, and what copies back from
// that what the server and the handlers further out read of a request that has
// been served: net/http removes the files of a form, and logs tell patterns.
func (t *ticket) carry(r *http.Request) (with *http.Request, served func()) {
	with = r.WithContext(context.WithValue(r.Context(), ticketKey{}, t))
	t.request = with
	return with, func() { r.Pattern, r.MultipartForm = with.Pattern, with.MultipartForm }
}
