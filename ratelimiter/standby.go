package ratelimiter

import "context"

// unlessDenied asks the server unless it is known to refuse.
func (b *Bucket) unlessDenied(ctx context.Context, a ask) (answer, error) {
	now := b.core.e.Mono()
	if got, refused := b.core.standby.Refuses(b.state, &a.Want, now); refused {
		return answer{State: got}, nil
	}
	got, err := b.do(ctx, a)
	if err == nil && !got.ok {
		b.core.standby.Refused(b.state, got.State, now)
	}
	return got, err
}

// fromStock serves a request from tokens that are here already, or takes some
// more along.
func (b *Bucket) fromStock(ctx context.Context, a ask) (answer, error) {
	now, known := b.core.e.Mono(), &b.core.standby
	if got, ok := known.Serve(b.state, &a.Want, now); ok {
		return answer{State: got, ok: true, taken: a.Requests()}, nil
	}
	a.extra = max(0, b.prefetch-known.Stock(b.state))
	got, err := b.askServer(ctx, a)
	if err != nil {
		return got, err
	}
	if got.taken < a.UpTo { // the rest is here
		got.taken += known.Some(b.state, got.Rule, a.UpTo-got.taken, now)
		got.ok = got.taken > 0
	}
	if got.ok && got.Rule.Generation == a.Rule.Generation { // what is in stock is not missing
		got.Missing = max(0, got.Missing-got.Rule.Ticks(known.Stock(b.state)))
	}
	if got.extra > 0 {
		if back := known.Add(b.state, got.State, got.extra, b.prefetch, now); back > 0 {
			b.core.giveBackTokens(part{b.core, b.state, got.Rule, back, 0})
		}
	}
	return got, nil
}
