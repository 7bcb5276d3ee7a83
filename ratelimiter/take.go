package ratelimiter

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/breaker"
	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// Allow reports whether one token is there now, and takes it. It never waits for tokens.
//
// Cost and errors: as [Bucket.Take].
func (b *Bucket) Allow(ctx context.Context) (bool, error) { return b.AllowN(ctx, 1) }

// AllowN reports whether n tokens are there now, and takes them if all are. It never waits for
// tokens.
//
// Cost and errors: as [Bucket.Take].
func (b *Bucket) AllowN(ctx context.Context, n int64) (bool, error) {
	return limits{b}.allow(ctx, []int64{n})
}

// Take takes n tokens if all are there now, and nothing otherwise. It never waits for tokens; ctx
// bounds the round trip. The decision says what is left, or when it would have been allowed.
//
// Cost and errors: see [Bucket]; [ErrExceedsBurst] if n is more than a full bucket holds.
// Source: the token bucket, in whole numbers and by the server's clock; RRateLimiter.tryAcquire.
func (b *Bucket) Take(ctx context.Context, n int64) (Decision, error) {
	var v verdict
	if err := (limits{b}).take(ctx, "take", []int64{n}, 0, &v); err != nil {
		return Decision{}, err
	}
	return v.of(0), nil
}

// TakeUpTo takes as many tokens as are there now, n at the most, and says how many those are, which
// may be none. It never waits. For the server it is n requests of one token that come together: on
// a hot key it is sent with the others. The decision is allowed if a token was taken, and its
// RetryAfter says when the next one is there if none was. n may be more than the burst.
//
// Cost, wire and errors: as [Bucket.Take], without ErrExceedsBurst. Source:
// Bucket4j's tryConsumeAsMuchAsPossible; a limiter on Redisson's keys takes all
// or nothing.
func (b *Bucket) TakeUpTo(ctx context.Context, n int64) (taken int64, d Decision, err error) {
	var v verdict
	if err := (limits{b}).takeUpTo(ctx, n, &v); err != nil {
		return 0, Decision{}, err
	}
	return v.answer.Taken, v.of(0), nil
}

// limits are the buckets that a request is about: one by itself, or the members of a [Combined].
type limits []*Bucket

func (l limits) allow(ctx context.Context, n []int64) (bool, error) {
	var v verdict
	err := l.take(ctx, "allow", n, 0, &v)
	return err == nil && v.answer.OK, err
}

func (l limits) takeUpTo(ctx context.Context, n int64, v *verdict) error {
	if err := l[0].askable(ctx, n); err != nil {
		return l.undecided(ctx, "take up to", []int64{n}, err)
	}
	return l.take(ctx, "take up to", []int64{1}, min(n, mostAtOnce), v)
}

// mostAtOnce is more than any bucket holds.
const mostAtOnce = bucket.Exact - 1

// take requests n tokens of each member, or as many as all of them have, up to upTo. It names the operation in errors.
func (l limits) take(ctx context.Context, op string, n []int64, upTo int64, v *verdict) (err error) {
	asked := l[0].all.deciding(n)
	if within, falls := l.fallbackWithin(); falls {
		err = l.orFallBack(ctx, asked, upTo, within, v)
	} else {
		err = l.decide(ctx, asked, upTo, v)
	}
	if err != nil {
		return l.undecided(ctx, op, counted(0, asked, upTo), err)
	}
	if v.answer.OK && v.fallen == nil {
		l[0].all.aside(ctx, counted(v.answer.Taken, n, upTo))
	}
	return nil
}

// decide returns what the rules say of a request, here or on the server.
func (l limits) decide(ctx context.Context, n []int64, upTo int64, v *verdict) (err error) {
	if err = l.ask(ctx, n, bucket.Take, &v.asked); err != nil {
		return err
	}
	v.asked.UpTo = upTo
	for i := range l {
		r := v.asked.Of(i).Rule
		v.atOnce = v.atOnce || r.Paused || r.None()
	}
	if !v.atOnce {
		if v.answer, err = l.answer(ctx, &v.asked); err == nil && !v.answer.OK {
			err = l.exceeds(v)
		}
	}
	if err == nil {
		l.decided(ctx, counted(v.answer.Taken, n, upTo), v)
	}
	return err
}

// ask checks a request, and finds the rules by which it is made.
func (l limits) ask(ctx context.Context, n []int64, k bucket.Kind, q *exchange.Ask) error {
	several := l[0].all != nil
	if several {
		if err := l[0].usable(ctx); err != nil {
			return err
		}
		for _, b := range l { // so that all rules come at once
			if b.own == nil {
				b.core.ReadAhead()
			}
		}
	}
	var parts []exchange.Part // of several
	if len(l) > 1 {
		parts = make([]exchange.Part, len(l))
	}
	for i, b := range l {
		want := of(n, i)
		r, err := b.ruleFor(ctx, want)
		switch {
		case err != nil:
			return l.about(i, err)
		case r.Type == bucket.PerClient && !r.Settled() && several:
			return fmt.Errorf("%w: %s has a rate per client", ErrInvalidArgument, b.String())
		case k == bucket.Take && want > r.Burst && !r.None(), k == bucket.Reserve && r.Exceeds(want):
			return l.about(i, exceedsBurst(want, r))
		}
		*q = exchange.Ask{Core: b.core, State: b.state, Want: bucket.Want{Rule: r, N: want, Kind: k}}
		if k == bucket.Reserve || k == bucket.Charge {
			q.Debt = b.debt(r)
		}
		if parts != nil {
			parts[i] = q.Of(0)
		}
	}
	if parts != nil {
		*q = parts[0].Alone(k)
		q.All = parts
	}
	return nil
}

// of returns the number for a member, where one number may stand for all.
func of(n []int64, member int) int64 { return n[min(member, len(n)-1)] }

// answer decides about a bucket alone in the process where it can, and asks the server otherwise.
func (l limits) answer(ctx context.Context, q *exchange.Ask) (exchange.Answer, error) {
	if b := l[0]; b.all == nil {
		switch {
		case q.Rule.Settled():
			return q.Settle(), nil
		case q.Rule.Type == bucket.PerClient:
			got, taken := b.core.Meters.Answer(b.state, q.Want, b.core.Engine.Now().Mono)
			return exchange.Answer{State: got, OK: taken > 0, Taken: taken}, nil
		case q.Kind == bucket.Take && b.prefetch > 0:
			return l.fromStock(ctx, b, *q)
		case q.Kind == bucket.Take && b.denial:
			return l.unlessDenied(ctx, b, q)
		}
	}
	return l.askServer(ctx, q)
}

// fromStock serves a request from tokens that are here already, or takes some more along.
func (l limits) fromStock(ctx context.Context, b *Bucket, q exchange.Ask) (got exchange.Answer, err error) {
	now, known := b.core.Engine.Mono(), &b.core.Standby
	if got, ok := known.Serve(b.state, &q.Want, now); ok {
		breaker.Unasked(ctx)
		return exchange.Answer{State: got, OK: true, Taken: q.Requests()}, nil
	}
	q.Extra = max(0, b.prefetch-known.Stock(b.state))
	if b.denial {
		got, err = l.unlessDenied(ctx, b, &q)
	} else {
		got, err = l.askServer(ctx, &q)
	}
	if err != nil {
		return got, err
	}
	if got.Taken < q.UpTo { // the rest is here
		got.Taken += known.Some(b.state, got.Rule, q.UpTo-got.Taken, now)
		got.OK = got.Taken > 0
	}
	if got.OK && got.Rule.Generation == q.Rule.Generation { // what is in stock is not missing
		got.Missing = max(0, got.Missing-got.Rule.Ticks(known.Stock(b.state)))
	}
	if got.Extra > 0 {
		if back := known.Add(b.state, got.State, got.Extra, b.prefetch, now); back > 0 {
			b.core.Return(b.state, got.Rule, back)
		}
	}
	return got, nil
}

// unlessDenied asks the server unless it is known to refuse.
func (l limits) unlessDenied(ctx context.Context, b *Bucket, q *exchange.Ask) (exchange.Answer, error) {
	now := b.core.Engine.Mono()
	if got, refused := b.core.Standby.Refuses(b.state, &q.Want, now); refused {
		breaker.Unasked(ctx)
		return exchange.Answer{State: got}, nil
	}
	got, err := l.askServer(ctx, q)
	if err == nil && !got.OK {
		b.core.Standby.Refused(b.state, got.State, now)
	}
	return got, err
}

// askServer joins the calls of the process on the same buckets. Charges and refunds are made also if their caller
// leaves, and whatever the rate. Another answer by a rate that came meanwhile, and is not the expected one, goes back.
func (l limits) askServer(ctx context.Context, asked *exchange.Ask) (exchange.Answer, error) {
	c, key, q := l[0].core, l[0].state, *asked // which the closure may keep
	if all := l[0].all; all != nil {
		key = all.key
	}
	if q.Kind == bucket.Charge || q.Kind == bucket.Refund {
		return exchange.Insist(ctx, c.Engine.Sender, func(ctx context.Context) (exchange.Answer, error) { return c.Table.Do(ctx, key, q) })
	}
	got, err := c.Table.Do(ctx, key, q)
	if err != nil {
		return exchange.Answer{}, err
	}
	for i, b := range l {
		if err := b.unexpected(got.Of(i).Rule); err != nil {
			c.Left(key, q, got)
			return exchange.Answer{}, l.about(i, err)
		}
	}
	return got, nil
}

// exceeds returns the error of a refusal that no wait would end.
func (l limits) exceeds(v *verdict) error {
	for i := range l {
		if r, n := v.answer.Of(i).Rule, v.asked.Of(i).N; n > r.Burst && !r.None() || v.asked.Kind == bucket.Reserve && r.None() {
			return l.about(i, exceedsBurst(n, r))
		}
	}
	return nil
}

func exceedsBurst(n int64, r *bucket.Rule) error {
	return fmt.Errorf("%w: %d tokens of %v", ErrExceedsBurst, n, r.Rate)
}

// Peek looks without taking anything: the decision that a request of one token
// would get.
//
// Cost and errors: see [Bucket].
func (b *Bucket) Peek(ctx context.Context) (Decision, error) {
	var v verdict
	if err := (limits{b}).peek(ctx, &v); err != nil {
		return Decision{}, err
	}
	return v.of(0), nil
}

func (l limits) peek(ctx context.Context, v *verdict) (err error) {
	if err = l.ask(ctx, []int64{1}, bucket.Peek, &v.asked); err == nil {
		v.answer, err = l.answer(ctx, &v.asked)
	}
	if b := l[0]; err == nil && b.all == nil {
		err = b.unexpected(v.answer.Rule) // also by a bucket of this client
		if err == nil && b.prefetch > 0 {
			seen, served := b.core.Standby.Beside(v.answer.State, b.state, b.core.Engine.Mono())
			v.answer.State, v.answer.OK = seen, v.answer.OK || served
		}
	}
	if err != nil {
		return l.failed("peek", err)
	}
	v.answer.OK = v.answer.OK && !v.asked.Paused()
	return nil
}
