package ratelimiter

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/bucket"
)

// Charge takes n tokens that were used already, whether they are there or not:
// the bucket goes into debt, and requests are refused until that is paid. n
// may be more than the burst. The decision is always allowed, and its
// RetryAfter says when a token is there again. Once the answer would be more debt than
// [WithMaxDebt] allows, nothing is taken and the error is [ErrExceedsDebt].
// The charge stands when ctx ends before its answer comes, unless the server is
// silent for seconds then. A pause or a block does not keep it out.
//
// Cost, wire and errors: as [Bucket.Take], without ErrExceedsBurst.
func (b *Bucket) Charge(ctx context.Context, n int64) (Decision, error) {
	r, err := b.ruleFor(ctx, n)
	if err != nil {
		return Decision{}, b.failed("charge", err)
	}
	a, err := b.answer(ctx, b.wants(r, n, bucket.Charge))
	if err == nil && !a.OK {
		err = exceedsDebt(n, b.debt(a.Rule))
	}
	if err != nil {
		return Decision{}, b.failed("charge", err)
	}
	d := decision(&a, 1)
	d.Allowed, d.RetryAfter = true, a.Enough(1)
	return d, nil
}

func exceedsDebt(n, most int64) error {
	return fmt.Errorf("%w: %d tokens on top of what is owed, of %d at the most", ErrExceedsDebt, n, most)
}

// Settle corrects what was taken beforehand for something whose size was not
// known yet: it charges what actual is above reserved, or refunds what it is
// below. Equal numbers cost nothing. Errors: as [Bucket.Charge].
func (b *Bucket) Settle(ctx context.Context, reserved, actual int64) error {
	switch {
	case reserved < 0 || actual < 0:
		return b.failed("settle", fmt.Errorf("%w: %d reserved, %d used: neither below 0", ErrOption, reserved, actual))
	case actual > reserved:
		_, err := b.Charge(ctx, actual-reserved)
		return err
	case actual < reserved:
		return b.Refund(ctx, reserved-actual)
	}
	return b.failed("settle", b.usable(ctx))
}

// Refund gives n tokens back, up to a full bucket, also when ctx ends before its
// answer comes. It is sent once: after [ErrUnknown] it may or may not have been
// done.
//
// Cost, wire and errors: see [Bucket]. Source: RRateLimiter.release.
func (b *Bucket) Refund(ctx context.Context, n int64) error {
	r, err := b.ruleFor(ctx, n)
	if err == nil {
		_, err = b.answer(ctx, b.wants(r, n, bucket.Refund))
	}
	return b.failed("refund", err)
}
