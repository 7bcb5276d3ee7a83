package ratelimiter

import "context"

// Peek looks without taking anything: the decision that a request of one token
// of each member would get. Each member's is there also while another is
// paused.
//
// Cost: one round trip. Errors: see [Bucket] and [All].
func (a *Combined) Peek(ctx context.Context) (AllDecision, error) {
	d, err := a.peek(ctx)
	return d, a.failed("peek", err)
}

func (a *Combined) peek(ctx context.Context) (AllDecision, error) {
	q, err := a.ask(ctx, []int64{1}, peek)
	if err != nil {
		return AllDecision{}, err
	}
	answers, err := a.do(ctx, q)
	if err != nil {
		return AllDecision{}, err
	}
	d, allowed := answers.decision(q.n), answers.ok()
	for i, r := range q.rules {
		if r.paused {
			d.Members[i].pause()
			allowed = false
		}
	}
	d.Decision = tightest(d.Members, allowed)
	return d, nil
}

// Refund gives n tokens back to each member, up to full buckets. It is
// [Bucket.Refund] for several limits, and one request for all of them: after
// [ErrUnknown] all got theirs or none did.
//
// Cost: one round trip. Errors: see [Bucket] and [All].
func (a *Combined) Refund(ctx context.Context, n int64) error {
	return a.refund(ctx, []int64{n})
}

// RefundEach is Refund with a number of tokens for each member, as
// [Combined.TakeEach] took them.
func (a *Combined) RefundEach(ctx context.Context, n ...int64) error {
	if err := a.each(n); err != nil {
		return a.failed("refund", err)
	}
	return a.refund(ctx, n)
}

func (a *Combined) refund(ctx context.Context, n []int64) error {
	q, err := a.ask(ctx, n, refund)
	if err == nil {
		_, err = a.do(ctx, q)
	}
	return a.failed("refund", err)
}
