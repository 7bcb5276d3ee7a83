package ratelimiter

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// Allow reports whether each member has a token now, and takes them.
func (a *Combined) Allow(ctx context.Context) (bool, error) { return a.AllowN(ctx, 1) }

// AllowN reports whether each member has n tokens now, and takes them.
func (a *Combined) AllowN(ctx context.Context, n int64) (bool, error) {
	d, err := a.take(ctx, "allow", []int64{n})
	return d.Allowed, err
}

// Take takes n tokens of each member if all have them now.
//
// Cost: one round trip; on a hot key, calls of one process for as many tokens
// go out together. Errors: see [Bucket] and [All]; [ErrExceedsBurst] if n is
// more than a member holds.
func (a *Combined) Take(ctx context.Context, n int64) (AllDecision, error) {
	return a.take(ctx, "take", []int64{n})
}

// TakeEach is Take with a number of tokens for each member, in their order, such
// as one request and 2,000 model tokens. Another count of numbers than of members,
// those in shadow among them, is an [ErrOption].
func (a *Combined) TakeEach(ctx context.Context, n ...int64) (AllDecision, error) {
	if err := a.each(n); err != nil {
		return AllDecision{}, a.failed("take", err)
	}
	return a.take(ctx, "take", n)
}

// each checks that there is a number for each member.
func (a *Combined) each(n []int64) error {
	if all := len(a.members) + len(a.shadows); a.bad == nil && len(n) != all {
		return fmt.Errorf("%w: %d numbers for %d members", ErrOption, len(n), all)
	}
	return a.bad
}

func (a *Combined) take(ctx context.Context, op string, n []int64) (AllDecision, error) {
	deciding := a.deciding(n)
	_, d, err := a.tryTake(ctx, deciding, 0)
	if err != nil {
		return AllDecision{}, a.undecided(ctx, op, deciding, err)
	}
	if d.Allowed && !d.Fallback {
		a.aside(ctx, n)
	}
	return d, nil
}

func (a *Combined) tryTake(ctx context.Context, n []int64, upTo int64) (int64, AllDecision, error) {
	if within, ok := a.patience(); ok {
		return a.orFallBack(ctx, n, upTo, within)
	}
	return a.decide(ctx, n, upTo)
}

// decide returns what the rules say of requests of so many tokens, or of up to so many
// such requests.
func (a *Combined) decide(ctx context.Context, n []int64, upTo int64) (int64, AllDecision, error) {
	q, err := a.ask(ctx, n, bucket.Take)
	if err != nil {
		return 0, AllDecision{}, err
	}
	if d, at := refusedAtOnce(&q); at {
		a.decided(ctx, a.given(0, n, upTo), d, 0)
		return 0, d, nil
	}
	q.UpTo = upTo
	got, err := a.do(ctx, q)
	if err == nil && !got.OK {
		err = a.exceed(&q, &got)
	}
	if err != nil {
		return 0, AllDecision{}, err
	}
	d := decisionsOf(&got, &q)
	a.decided(ctx, a.given(got.Taken, n, upTo), d, got.Together)
	return got.Taken, d, nil
}

// ask checks a request, and knows the rules by which it is made.
func (a *Combined) ask(ctx context.Context, n []int64, k bucket.Kind) (exchange.Ask, error) {
	if a.bad != nil {
		return exchange.Ask{}, a.bad
	}
	if err := a.members[0].usable(ctx); err != nil {
		return exchange.Ask{}, err
	}
	for _, b := range a.members {
		if b.own == nil {
			b.core.ReadAhead()
		}
	}
	parts := make([]exchange.Part, len(a.members))
	for i, b := range a.members {
		want := of(n, i)
		r, err := b.ruleFor(ctx, want)
		switch {
		case err != nil:
			return exchange.Ask{}, fmt.Errorf("%v: %w", b, err)
		case r.Type == bucket.PerClient && !r.Settled():
			return exchange.Ask{}, fmt.Errorf("%w: %v has a rate per client", ErrOption, b)
		case k == bucket.Take && want > r.Burst && !r.None(), k == bucket.Reserve && r.Exceeds(want):
			return exchange.Ask{}, fmt.Errorf("%v: %w", b, exceedsBurst(want, r))
		}
		one := b.wants(r, want, k)
		parts[i] = one.Of(0)
	}
	q := parts[0].Alone(k)
	if len(parts) > 1 {
		q.All = parts
	}
	return q, nil
}

// of returns the number for a member, where one number may stand for all.
func of(n []int64, member int) int64 { return n[min(member, len(n)-1)] }

// do asks the server. An answer by a rate that came meanwhile, and is not the
// expected one, is an error, but for a refund, which was done.
func (a *Combined) do(ctx context.Context, q exchange.Ask) (exchange.Answer, error) {
	c := a.members[0].core
	if q.Kind == bucket.Refund {
		return exchange.Insist(ctx, c.Engine.Sender, func(ctx context.Context) (exchange.Answer, error) { return c.Table.Do(ctx, a.key, q) })
	}
	got, err := c.Table.Do(ctx, a.key, q)
	if err != nil {
		return exchange.Answer{}, err
	}
	for i, b := range a.members {
		if err := b.unexpected(got.Of(i).Rule); err != nil {
			c.Left(a.key, q, got)
			return exchange.Answer{}, fmt.Errorf("%v: %w", b, err)
		}
	}
	return got, nil
}

// exceed returns the error of a refusal that no wait would end.
func (a *Combined) exceed(q *exchange.Ask, got *exchange.Answer) error {
	for i, b := range a.members {
		if r, n := got.Of(i).Rule, q.Of(i).N; n > r.Burst && !r.None() || q.Kind == bucket.Reserve && r.None() {
			return fmt.Errorf("%v: %w", b, exceedsBurst(n, r))
		}
	}
	return nil
}

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
	q, err := a.ask(ctx, []int64{1}, bucket.Peek)
	if err != nil {
		return AllDecision{}, err
	}
	got, err := a.do(ctx, q)
	if err != nil {
		return AllDecision{}, err
	}
	d, allowed := decisionsOf(&got, &q), got.OK
	for i := range d.Members {
		if q.Of(i).Rule.Paused {
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
	q, err := a.ask(ctx, a.deciding(n), bucket.Refund)
	if err == nil {
		_, err = a.do(ctx, q)
	}
	if err == nil {
		a.asideBack(ctx, n)
	}
	return a.failed("refund", err)
}
