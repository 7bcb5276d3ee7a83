package ratelimiter

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
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
	if b.fallback == nil {
		taken, d, err = b.upTo(ctx, n)
	} else {
		taken, d, err = b.upToOrFallBack(ctx, n)
	}
	return taken, d, b.undecided(ctx, "take up to", n, err)
}

func (b *Bucket) upTo(ctx context.Context, n int64) (taken int64, d Decision, err error) {
	a, err := b.someOf(ctx, n)
	if err != nil {
		return 0, Decision{}, err
	}
	b.decided(ctx, given(a.Taken, n), a, nil)
	return a.Taken, decision(&a, 1), nil
}

// someOf is what the rule says.
func (b *Bucket) someOf(ctx context.Context, n int64) (exchange.Answer, error) {
	r, err := b.ruleFor(ctx, n)
	switch {
	case err != nil:
		return exchange.Answer{}, err
	case r.Paused:
		return exchange.Answer{State: bucket.State{Rule: r}, Paused: true}, nil
	}
	want := b.wants(r, 1, bucket.Take)
	want.UpTo = min(n, mostAtOnce)
	return b.answer(ctx, want)
}

// mostAtOnce is more than any bucket holds.
const mostAtOnce = bucket.Exact - 1

// given is the number of tokens that an observer hears of: those that were taken,
// or that were wanted in vain.
func given(taken, n int64) int64 {
	if taken > 0 {
		return taken
	}
	return n
}

// some is a decision and what was taken by it.
type some[D any] struct {
	decision D
	taken    int64
}

func (b *Bucket) upToOrFallBack(ctx context.Context, n int64) (int64, Decision, error) {
	if err := b.askable(ctx, n); err != nil {
		return 0, Decision{}, err
	}
	if b.own != nil && b.own.Settled() {
		return b.upTo(ctx, n)
	}
	got, err := unlessSilent(ctx, b.core, b.fallback.within,
		func(ctx context.Context) (some[Decision], error) {
			taken, d, err := b.upTo(ctx, n)
			return some[Decision]{d, taken}, err
		},
		func() (some[Decision], error) {
			taken, d := b.fallback.to.upTo(b.core, b.state, n)
			d, err := b.fellBack(ctx, given(taken, n), d, nil)
			return some[Decision]{d, taken}, err
		})
	return got.taken, got.decision, err
}

// TakeUpTo takes as many tokens of each member as all of them have now, n at the
// most, and says how many those are: the same number of each, which may be 0. It
// is [Bucket.TakeUpTo] for several limits.
//
// Cost and errors: as [Combined.Take], without ErrExceedsBurst.
func (a *Combined) TakeUpTo(ctx context.Context, n int64) (taken int64, d AllDecision, err error) {
	if within, ok := a.patience(); ok {
		taken, d, err = a.upToOrFallBack(ctx, n, within)
	} else {
		taken, d, err = a.upTo(ctx, n)
	}
	if err != nil {
		return 0, AllDecision{}, a.undecided(ctx, "take up to", []int64{n}, err)
	}
	return taken, d, nil
}

func (a *Combined) upTo(ctx context.Context, n int64) (taken int64, d AllDecision, err error) {
	q, err := a.askUpTo(ctx, n)
	if err != nil {
		return 0, AllDecision{}, err
	}
	if d, at := refusedAtOnce(&q); at {
		a.decided(ctx, []int64{n}, d, 0)
		return 0, d, nil
	}
	got, err := a.do(ctx, q)
	if err != nil {
		return 0, AllDecision{}, err
	}
	d = decisionsOf(&got, &q)
	a.decided(ctx, []int64{given(got.Taken, n)}, d, got.Together)
	if d.Allowed {
		a.aside(ctx, []int64{got.Taken})
	}
	return got.Taken, d, nil
}

func (a *Combined) askUpTo(ctx context.Context, n int64) (exchange.Ask, error) {
	if a.bad == nil && n <= 0 {
		return exchange.Ask{}, fmt.Errorf("%w: %d tokens: at least 1", ErrOption, n)
	}
	q, err := a.ask(ctx, []int64{1}, bucket.Take)
	q.UpTo = min(n, mostAtOnce)
	return q, err
}

func (a *Combined) upToOrFallBack(ctx context.Context, n int64, within time.Duration) (int64, AllDecision, error) {
	for _, b := range a.members {
		if err := b.askable(ctx, n); err != nil {
			return 0, AllDecision{}, err
		}
	}
	got, err := unlessSilent(ctx, a.members[0].core, within,
		func(ctx context.Context) (some[AllDecision], error) {
			taken, d, err := a.upTo(ctx, n)
			return some[AllDecision]{d, taken}, err
		},
		func() (some[AllDecision], error) {
			taken, d := a.fallBackUpTo(n)
			a.decided(ctx, []int64{given(taken, n)}, d, 0)
			return some[AllDecision]{d, taken}, nil
		})
	return got.taken, got.decision, err
}

// fallBackUpTo asks each member's fallback for what it has. What one granted
// beyond what all did goes back.
func (a *Combined) fallBackUpTo(n int64) (taken int64, d AllDecision) {
	granted := make([]int64, len(a.members))
	taken = n
	for i, b := range a.members {
		var one Decision
		granted[i], one = b.fallback.to.upTo(b.core, b.state, n)
		d.Members, taken = append(d.Members, one), min(taken, granted[i])
	}
	for i, b := range a.members {
		if over := granted[i] - taken; over > 0 {
			d.Members[i] = b.fallback.to.undo(b.core, b.state, over)
		}
	}
	d.Decision = tightest(d.Members, taken > 0)
	return taken, d
}
