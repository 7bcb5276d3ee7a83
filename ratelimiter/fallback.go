package ratelimiter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/breaker"
	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// Fallback is what decides while the server cannot be asked: [Open], [Closed]
// or [Local].
type Fallback interface {
	check() error
	// decide takes tokens, or gives back what was taken.
	decide(c *exchange.Core, state string, q bucket.Want) (taken int64, d Decision, err error)
}

// Open allows everything.
var Open Fallback = openFallback{}

// Closed refuses everything.
var Closed Fallback = closedFallback{}

// Local applies a rate in the process, to each key: with N processes, up to N
// times that rate is let through, and more while more than 65,536 keys of one
// process are not full: then the fullest of them start full. A request for more
// than its burst is an [ErrExceedsBurst].
func Local(r Rate) Fallback {
	own, err := travelling(r)
	return localFallback{own, err}
}

type openFallback struct{}

func (openFallback) check() error { return nil }

func (openFallback) decide(_ *exchange.Core, _ string, q bucket.Want) (int64, Decision, error) {
	return q.Requests(), Decision{Allowed: true, Fallback: true}, nil
}

type closedFallback struct{}

func (closedFallback) check() error { return nil }

func (closedFallback) decide(*exchange.Core, string, bucket.Want) (int64, Decision, error) {
	return 0, Decision{Fallback: true, RetryAfter: breaker.LongestRest}, nil
}

type localFallback struct {
	r   *bucket.Rule
	bad error
}

func (f localFallback) check() error { return f.bad }

func (f localFallback) decide(c *exchange.Core, state string, q bucket.Want) (taken int64, d Decision, err error) {
	q.Rule = f.r
	switch {
	case f.r.Settled():
		taken, d = q.Settled(), settledDecision(f.r)
	case q.Kind == bucket.Take && q.N > f.r.Burst:
		return 0, Decision{}, exceedsBurst(q.N, f.r)
	default:
		var got bucket.State
		got, taken = c.StandIns.Answer(state, q, c.Engine.Mono())
		d = decisionOf(&got, taken > 0, q.N)
	}
	d.Fallback = true
	return taken, d, nil
}

// fallback is the setting of a handle.
type fallback struct {
	within time.Duration
	to     Fallback
}

// orFallBack asks the server, for as long as the fallback says.
func (b *Bucket) orFallBack(ctx context.Context, q bucket.Want, ask func(context.Context) (int64, Decision, error)) (taken int64, d Decision, err error) {
	if err := b.askable(ctx, q.N); err != nil {
		return 0, Decision{}, err
	}
	if b.own != nil && (b.own.Settled() || q.N > b.own.Burst) { // what is known without the server
		return ask(ctx)
	}
	err = unlessSilent(ctx, b.core, b.fallback.within,
		func(ctx context.Context) (err error) {
			taken, d, err = ask(ctx)
			return err
		},
		func() (err error) {
			if taken, d, err = b.fallback.to.decide(b.core, b.state, q); err == nil {
				b.core.Tell(ctx, core.Decision{Tokens: given(taken, q), Allowed: d.Allowed, Fallback: true})
			}
			return err
		})
	return taken, d, err
}

// askable checks what can be checked without a rule.
func (b *Bucket) askable(ctx context.Context, n int64) error {
	err := b.usable(ctx)
	if err == nil && n <= 0 {
		err = fmt.Errorf("%w: %d tokens: at least 1", ErrOption, n)
	}
	return err
}

// unlessSilent asks the server, and decides instead if that is silent for a
// time, or is known to be.
func unlessSilent(ctx context.Context, c *exchange.Core, within time.Duration, ask func(context.Context) error, instead func() error) error {
	return breaker.Instead(ctx, &c.Breaker, breaker.Patience{Within: within, Now: c.Engine.Mono, Silent: silent}, ask, instead)
}

// silent reports whether an error of a request shows that the server does not
// answer.
func silent(err error, late bool) bool { return !isSaid(err) && (late || send.Transient(err)) }

// isSaid reports whether err is something that the server has said, or that is
// wrong with the request: no outage, however long it took.
func isSaid(err error) bool {
	return exchange.Said(err) || errors.Is(err, ErrOtherRate) || errors.Is(err, ErrExceedsBurst)
}
