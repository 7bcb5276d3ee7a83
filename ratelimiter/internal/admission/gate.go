package admission

import (
	"context"
	"errors"
	"time"

	"github.com/rueidisson/rueidisson/ratelimiter"
)

// Gate asks the limits of a server about its requests. It is safe for concurrent use.
type Gate struct {
	limits, tried []*ratelimiter.Limiter // those that decide, and those that are tried out
	shadow        bool
	timeout       time.Duration
	silence       silence
}

// NewGate returns a gate of limits that decide together, and of limits that are tried out on what those allow.
// With shadow nothing that the limits decide is done. timeout bounds each exchange.
func NewGate(limits, tried []*ratelimiter.Limiter, shadow bool, timeout time.Duration) *Gate {
	return &Gate{limits: limits, tried: tried, shadow: shadow, timeout: timeout, silence: silence{began: time.Now()}}
}

// Outcome is what the limits decided.
type Outcome int

const (
	Allowed   Outcome = iota
	Refused           // by a limit
	Gone              // the context ended before the decision
	Undecided         // Ticket.Err says why
)

// Ticket is the decision about one request, and what the request has paid.
type Ticket struct {
	Outcome   Outcome
	Decisions []ratelimiter.Decision // one of each limit, or none
	Never     bool                   // the request costs more than a full bucket holds
	Err       error

	gate    *Gate
	cost    int64
	buckets []*ratelimiter.Bucket
	shadows []*ratelimiter.Shadowed
	bill    bill
}

// Rule returns the rate of a key under a limit; false: the stored one.
type Rule func(*ratelimiter.Limiter) (ratelimiter.Rate, bool)

// Ask takes cost tokens of each limit, or of none. rule may be nil.
func (g *Gate) Ask(ctx context.Context, key string, cost int64, rule Rule) *Ticket {
	t := &Ticket{gate: g, cost: cost, buckets: buckets(g.limits, key, rule)}
	granted := t.take(ctx)
	switch {
	case t.Err == nil && granted:
		t.Outcome = Allowed
		t.tryOut(ctx, key, rule)
	case t.Err == nil:
		t.Outcome = Refused
	case ctx.Err() != nil:
		t.Outcome = Gone
	default:
		t.Outcome = Undecided
	}
	return t
}

// take asks the limits, unless they are known not to answer.
func (t *Ticket) take(ctx context.Context) (granted bool) {
	if t.gate.shadow {
		ctx = ratelimiter.InShadow(ctx)
	}
	t.Err = t.gate.unlessSilent(ctx, func(ctx context.Context) (err error) {
		t.Decisions, granted, err = take(ctx, t.buckets, t.cost)
		if errors.Is(err, ratelimiter.ErrExceedsBurst) {
			t.Decisions, err = tooLarge(ctx, t.buckets, t.cost), nil
			t.Never = true
		}
		return err
	})
	return granted
}

// buckets returns the buckets of a key, one of each limit.
func buckets(limits []*ratelimiter.Limiter, key string, rule Rule) []*ratelimiter.Bucket {
	all := make([]*ratelimiter.Bucket, len(limits))
	for i, l := range limits {
		var opts []ratelimiter.KeyOption
		if rule != nil {
			if rate, ok := rule(l); ok {
				opts = append(opts, ratelimiter.WithRule(rate))
			}
		}
		all[i] = l.For(key, opts...)
	}
	return all
}

// take asks about one bucket or about several at once.
func take(ctx context.Context, buckets []*ratelimiter.Bucket, cost int64) ([]ratelimiter.Decision, bool, error) {
	if len(buckets) == 1 { // alone it has its options for denial and prefetch
		d, err := buckets[0].Take(ctx, cost)
		if err != nil {
			return nil, false, err
		}
		return []ratelimiter.Decision{d}, d.Allowed, nil
	}
	d, err := all(buckets).Take(ctx, cost)
	return d.Members, d.Allowed, err
}

func all(buckets []*ratelimiter.Bucket) *ratelimiter.Combined {
	members := make([]ratelimiter.Member, len(buckets))
	for i, b := range buckets {
		members[i] = b
	}
	return ratelimiter.All(members...)
}

// tooLarge finds the limits whose full buckets hold less than a request costs. That one of them does is known
// already. It is no failure, which might let the request through: if the limits do not answer, or were changed
// meanwhile, tooLarge returns nil.
func tooLarge(ctx context.Context, buckets []*ratelimiter.Bucket, cost int64) []ratelimiter.Decision {
	if len(buckets) == 1 { // it is this one, possibly by the rate of a fallback
		d, _ := buckets[0].Peek(ctx)
		d.Allowed = false
		return []ratelimiter.Decision{d}
	}
	found, decisions := false, make([]ratelimiter.Decision, len(buckets))
	for i, b := range buckets {
		d, err := b.Peek(ctx)
		if err != nil {
			return nil
		}
		d.Allowed = cost <= d.Limit
		found = found || !d.Allowed
		decisions[i] = d
	}
	if !found {
		return nil
	}
	return decisions
}

// tryOut asks the limits in shadow about a request that the others have granted.
func (t *Ticket) tryOut(ctx context.Context, key string, rule Rule) {
	if len(t.gate.tried) == 0 || !t.Refundable() {
		return
	}
	for _, b := range buckets(t.gate.tried, key, rule) {
		s := ratelimiter.Shadow(b)
		s.Take(ctx, t.cost)
		t.shadows = append(t.shadows, s)
	}
}

// Refundable reports whether something was taken from buckets of the server. A nil ticket has taken nothing.
func (t *Ticket) Refundable() bool {
	return t != nil && t.Outcome == Allowed && len(t.Decisions) > 0 && !t.Decisions[0].Fallback
}
