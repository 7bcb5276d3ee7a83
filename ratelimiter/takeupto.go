package ratelimiter

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/bucket"
)

// TakeUpTo takes as many tokens as are there now, n at the most, and says how
// many those are, which may be none. It never waits. For the server it is n
// requests of one token that come together: on a hot key it goes out with the
// others. The decision is allowed if a token was taken, and its RetryAfter says
// when the next one is there if none was. n may be more than the burst.
//
// Cost, wire and errors: as [Bucket.Take], without ErrExceedsBurst. Source:
// Bucket4j's tryConsumeAsMuchAsPossible; a limiter on Redisson's keys takes all
// or nothing.
func (b *Bucket) TakeUpTo(ctx context.Context, n int64) (taken int64, d Decision, err error) {
	q := bucket.Want{N: 1, UpTo: min(n, mostAtOnce)}
	switch err = b.askable(ctx, n); {
	case err != nil:
	case b.fallback == nil:
		taken, d, err = b.upTo(ctx, q)
	default:
		taken, d, err = b.orFallBack(ctx, q, func(ctx context.Context) (int64, Decision, error) { return b.upTo(ctx, q) })
	}
	return taken, d, b.undecided(ctx, "take up to", n, err)
}

func (b *Bucket) upTo(ctx context.Context, q bucket.Want) (taken int64, d Decision, err error) {
	a, err := b.decide(ctx, q.N, q.UpTo)
	if err != nil {
		return 0, Decision{}, err
	}
	b.decided(ctx, given(a.Taken, q), a, nil)
	return a.Taken, decision(&a, q.N), nil
}

// mostAtOnce is more than any bucket holds.
const mostAtOnce = bucket.Exact - 1

// given returns the number of tokens that an observer hears of: those that were taken,
// or that were wanted in vain.
func given(taken int64, q bucket.Want) int64 {
	if q.UpTo > 0 && taken > 0 {
		return taken
	}
	return q.N * q.Requests()
}

// TakeUpTo takes as many tokens of each member as all of them have now, n at the
// most, and says how many those are: the same number of each, which may be 0. It
// is [Bucket.TakeUpTo] for several limits.
//
// Cost and errors: as [Combined.Take], without ErrExceedsBurst.
func (a *Combined) TakeUpTo(ctx context.Context, n int64) (taken int64, d AllDecision, err error) {
	if a.bad == nil && n <= 0 {
		err = fmt.Errorf("%w: %d tokens: at least 1", ErrOption, n)
	}
	if err == nil {
		taken, d, err = a.tryTake(ctx, []int64{1}, min(n, mostAtOnce))
	}
	if err != nil {
		return 0, AllDecision{}, a.undecided(ctx, "take up to", []int64{n}, err)
	}
	if d.Allowed && !d.Fallback {
		a.aside(ctx, []int64{taken})
	}
	return taken, d, nil
}

// given returns the numbers of tokens that an observer hears of.
func (a *Combined) given(taken int64, n []int64, upTo int64) []int64 {
	if upTo == 0 {
		return n
	}
	return []int64{given(taken, bucket.Want{N: 1, UpTo: upTo})}
}
