package httplimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/rueidisson/rueidisson/ratelimiter"
)

// ticket is the decision about one request, and what it was made of.
type ticket struct {
	Report
	m       *middleware
	request *http.Request // as the handler was given it
	buckets []*ratelimiter.Bucket
	tried   []*ratelimiter.Shadowed
	bill    bill
}

// ask gets a decision about the request.
func (m *middleware) ask(r *http.Request, cost int64) *ticket {
	t := &ticket{Report: Report{Cost: cost, Shadow: m.shadow}, m: m}
	if cost < 0 {
		t.Outcome, t.Err = NoCost, fmt.Errorf("%w: %d", ErrNoCost, cost)
		return t
	}
	key, err := m.key.Of(r)
	if err != nil && m.sharedKey != "" {
		key, err = m.sharedKey, nil
	}
	if err != nil {
		t.Outcome, t.Err = NoKey, err
		return t
	}
	t.Key, t.buckets = key, m.bucketsOf(m.limits, r, key)
	decisions, granted, err := t.take(r.Context())
	t.Limits, t.Err = make([]Limit, len(decisions)), err
	for i, d := range decisions {
		t.Limits[i] = Limit{Name: m.names[i], Decision: d}
	}
	switch {
	case err == nil && granted:
		t.Outcome = Allowed
		t.tryOut(r)
	case err == nil:
		t.Outcome = Refused
	case r.Context().Err() != nil:
		t.Outcome = Gone
	default:
		t.Outcome = Undecided
	}
	return t
}

// take asks the limits, unless they are known not to answer.
func (t *ticket) take(ctx context.Context) (decisions []ratelimiter.Decision, granted bool, err error) {
	if t.m.shadow {
		ctx = ratelimiter.InShadow(ctx)
	}
	err = t.m.unlessSilent(ctx, func(ctx context.Context) (err error) {
		decisions, granted, err = take(ctx, t.buckets, t.Cost)
		if errors.Is(err, ratelimiter.ErrExceedsBurst) {
			decisions, err = tooLarge(ctx, t.buckets, t.Cost), nil
			t.Never = true
		}
		return err
	})
	return decisions, granted, err
}

// bucketsOf returns the key's buckets, one of each limit.
func (m *middleware) bucketsOf(limits []*ratelimiter.Limiter, r *http.Request, key string) []*ratelimiter.Bucket {
	buckets := make([]*ratelimiter.Bucket, len(limits))
	for i, l := range limits {
		var opts []ratelimiter.KeyOption
		if m.rule != nil {
			if rate, ok := m.rule(r, l); ok {
				opts = append(opts, ratelimiter.WithRule(rate))
			}
		}
		buckets[i] = l.For(key, opts...)
	}
	return buckets
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

// tooLarge finds out which limits a request exceeds that not even full buckets
// have enough for. That it exceeds one is known already, and is no failure,
// which might let it through: where they cannot be asked, or have just been
// changed, nothing is told but that.
func tooLarge(ctx context.Context, buckets []*ratelimiter.Bucket, cost int64) []ratelimiter.Decision {
	if len(buckets) == 1 { // it is this one, be it by a fallback's rate
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

// refundable reports whether something was taken from the server's buckets.
func (t *ticket) refundable() bool {
	return t.Outcome == Allowed && len(t.Limits) > 0 && !t.Limits[0].Fallback
}

// tryOut asks the limits in shadow about a request that the others have granted.
func (t *ticket) tryOut(r *http.Request) {
	if len(t.m.tried) == 0 || !t.refundable() {
		return
	}
	for _, b := range t.m.bucketsOf(t.m.tried, r, t.Key) {
		s := ratelimiter.Shadow(b)
		s.Take(r.Context(), t.Cost)
		t.tried = append(t.tried, s)
	}
}

// settleTried makes n what they have heard that the request costs.
func (t *ticket) settleTried(ctx context.Context, before, n int64) {
	for _, s := range t.tried {
		s.Settle(ctx, before, n)
	}
}
