package ratelimiter

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// Charge takes n tokens that were used already, whether they are there or not: the bucket gets into
// debt, and requests are refused until that is paid. n may be more than the burst. The decision is
// always allowed, and its RetryAfter is the time until there is a token again. If the debt would
// exceed [WithMaxDebt], nothing is taken and Charge returns [ErrExceedsDebt]. The charge is made
// also when ctx ends before its answer comes, unless the server is silent for seconds then. A pause
// or a block does not prevent it.
//
// Cost, wire and errors: as [Bucket.Take], without ErrExceedsBurst.
func (b *Bucket) Charge(ctx context.Context, n int64) (Decision, error) {
	var got exchange.Answer
	l, q := limits{b}, exchange.Ask{}
	err := l.ask(ctx, []int64{n}, bucket.Charge, &q)
	if err == nil {
		got, err = l.answer(ctx, &q)
	}
	if err == nil && !got.OK {
		err = fmt.Errorf("%w: %d tokens on top of what is owed, of %d at the most", ErrExceedsDebt, n, b.debt(got.Rule))
	}
	if err != nil {
		return Decision{}, b.failed("charge", err)
	}
	d := decisionOf(&got.State, true, 1)
	d.Allowed, d.RetryAfter = true, got.Enough(1)
	return d, nil
}

// Settle corrects an earlier take whose size was not known yet: it charges the excess of actual
// over reserved, or refunds the rest. Equal numbers cost nothing. Errors: as [Bucket.Charge].
func (b *Bucket) Settle(ctx context.Context, reserved, actual int64) error {
	switch {
	case reserved < 0 || actual < 0:
		return b.failed("settle", fmt.Errorf("%w: %d reserved, %d used: neither below 0", ErrInvalidArgument, reserved, actual))
	case actual > reserved:
		_, err := b.Charge(ctx, actual-reserved)
		return err
	case actual < reserved:
		return b.Refund(ctx, reserved-actual)
	}
	return b.failed("settle", b.usable(ctx))
}

// Refund gives n tokens back, up to a full bucket, also when ctx ends before its
// answer comes. It is sent once: after [ErrOutcomeUnknown] it may or may not have been
// done.
//
// Cost, wire and errors: see [Bucket]. Source: RRateLimiter.release.
func (b *Bucket) Refund(ctx context.Context, n int64) error {
	return limits{b}.refund(ctx, []int64{n})
}

func (l limits) refund(ctx context.Context, n []int64) error {
	all, q := l[0].all, exchange.Ask{}
	err := l.ask(ctx, all.deciding(n), bucket.Refund, &q)
	if err == nil {
		_, err = l.answer(ctx, &q)
	}
	if err == nil {
		all.asideBack(ctx, n)
	}
	return l.failed("refund", err)
}
