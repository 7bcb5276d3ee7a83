package ratelimiter

import (
	"context"
	"errors"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// Shadowed is a limit that is tried out. It is asked and counts, and the client's observer gets its
// decisions (Shadow is set), but it never refuses nor delays a request. See [Shadow].
type Shadowed struct{ b *Bucket }

// Shadow returns a limit in shadow. As a member of [All] it is asked for the tokens of each request
// that the other members have granted:
//
//	ratelimiter.All(perSecond, ratelimiter.Shadow(perDay)).For(key)
//
// If another member refuses, or falls back ([WithFallback]), the limit is not asked, so its tokens
// stay. A request that it would refuse takes none of its tokens. Its tokens are taken as by
// [Bucket.Take], also for a wait: a request that would have had to wait is reported as refused.
// Refunds to the others are given to it, too, whether it had granted or not. It may be of another
// client, lie in another slot and have a rate per client, and its own options count. It is not
// among the decision's Members.
//
// The caller does not wait for it, and only the observer gets its errors. Of one client, 4,096 such
// requests may be under way, such as to a server that is silent. Further ones are reported with an
// error and not sent.
//
// Cost: one more call for each request that is granted; on a hot key they are sent together.
func Shadow(m Member) *Shadowed {
	if m == nil {
		return &Shadowed{}
	}
	return &Shadowed{m.member()}
}

func (s *Shadowed) member() *Bucket {
	if s == nil {
		return nil
	}
	return s.b
}

// Take asks for n tokens in the background, and returns at once. It is for programs that do not use
// [All]. Only the values of ctx are used.
func (s *Shadowed) Take(ctx context.Context, n int64) {
	s.aside(ctx, n, (*exchange.Core).Aside, func(ctx context.Context, b *Bucket) { _, _ = b.Take(ctx, n) })
}

// Settle corrects a request of Take, as [Bucket.Settle] and after it, in the background. Its errors
// are not reported.
func (s *Shadowed) Settle(ctx context.Context, reserved, actual int64) {
	if reserved == actual {
		return
	}
	s.aside(ctx, actual-reserved, (*exchange.Core).AsideBehind, func(ctx context.Context, b *Bucket) { _ = b.Settle(ctx, reserved, actual) })
}

var errAside = errors.New("too many requests of limits in shadow are under way")

// aside makes a request for n tokens in the background.
func (s *Shadowed) aside(ctx context.Context, n int64, run func(*exchange.Core, context.Context, string, func(context.Context)) bool, do func(context.Context, *Bucket)) {
	b := s.member()
	if b == nil || b.handle == nil {
		return
	}
	if ctx == nil {
		ctx = context.Background()
	}
	ctx = InShadow(context.WithoutCancel(ctx))
	if !run(b.core, ctx, b.state, func(ctx context.Context) { do(ctx, b) }) {
		b.core.Tell(ctx, core.Decision{Tokens: n, Err: errAside})
	}
}

// shadowOf is a member in shadow, and which of all it is.
type shadowOf struct {
	*Shadowed
	at int
}

// aside asks the members in shadow about what the others have granted. It does nothing for a bucket by itself.
func (a *Combined) aside(ctx context.Context, n []int64) {
	if a == nil {
		return
	}
	for _, s := range a.shadows {
		s.Take(ctx, of(n, s.at))
	}
}

// asideBack gives back to them.
func (a *Combined) asideBack(ctx context.Context, n []int64) {
	if a == nil {
		return
	}
	for _, s := range a.shadows {
		s.Settle(ctx, of(n, s.at), 0)
	}
}

// deciding returns the numbers of those that are not in shadow.
func (a *Combined) deciding(n []int64) (left []int64) {
	if a == nil || len(n) == 1 || len(a.shadows) == 0 {
		return n
	}
	shadows := a.shadows
	for i, one := range n {
		if len(shadows) > 0 && shadows[0].at == i {
			shadows = shadows[1:]
			continue
		}
		left = append(left, one)
	}
	return left
}
