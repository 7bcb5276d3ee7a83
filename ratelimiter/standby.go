package ratelimiter

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/breaker"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// unlessDenied asks the server unless it is known to refuse.
func (b *Bucket) unlessDenied(ctx context.Context, a exchange.Ask) (exchange.Answer, error) {
	now := b.core.Engine.Mono()
	if got, refused := b.core.Standby.Refuses(b.state, &a.Want, now); refused {
		breaker.Unasked(ctx)
		return exchange.Answer{State: got}, nil
	}
	got, err := b.do(ctx, a)
	if err == nil && !got.OK {
		b.core.Standby.Refused(b.state, got.State, now)
	}
	return got, err
}

// fromStock serves a request from tokens that are here already, or takes some
// more along.
func (b *Bucket) fromStock(ctx context.Context, a exchange.Ask) (exchange.Answer, error) {
	now, known := b.core.Engine.Mono(), &b.core.Standby
	if got, ok := known.Serve(b.state, &a.Want, now); ok {
		breaker.Unasked(ctx)
		return exchange.Answer{State: got, OK: true, Taken: a.Requests()}, nil
	}
	a.Extra = max(0, b.prefetch-known.Stock(b.state))
	got, err := b.askServer(ctx, a)
	if err != nil {
		return got, err
	}
	if got.Taken < a.UpTo { // the rest is here
		got.Taken += known.Some(b.state, got.Rule, a.UpTo-got.Taken, now)
		got.OK = got.Taken > 0
	}
	if got.OK && got.Rule.Generation == a.Rule.Generation { // what is in stock is not missing
		got.Missing = max(0, got.Missing-got.Rule.Ticks(known.Stock(b.state)))
	}
	if got.Extra > 0 {
		if back := known.Add(b.state, got.State, got.Extra, b.prefetch, now); back > 0 {
			b.core.Return(b.state, got.Rule, back)
		}
	}
	return got, nil
}
