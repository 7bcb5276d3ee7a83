package ratelimiter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/standby"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// Fallback is what decides while the server cannot be asked: [Open], [Closed]
// or [Local].
type Fallback interface {
	check() error
	decide(c *exchange.Core, state string, n int64) (Decision, error)
	upTo(c *exchange.Core, state string, n int64) (int64, Decision)
	undo(c *exchange.Core, state string, n int64) Decision // of what it allowed
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

func (openFallback) decide(*exchange.Core, string, int64) (Decision, error) {
	return letThrough, nil
}

func (openFallback) upTo(_ *exchange.Core, _ string, n int64) (int64, Decision) { return n, letThrough }

func (openFallback) undo(*exchange.Core, string, int64) Decision { return letThrough }

var letThrough = Decision{Allowed: true, Fallback: true}

type closedFallback struct{}

func (closedFallback) check() error { return nil }

func (closedFallback) decide(*exchange.Core, string, int64) (Decision, error) {
	return heldBack, nil
}

func (closedFallback) upTo(*exchange.Core, string, int64) (int64, Decision) { return 0, heldBack }

func (closedFallback) undo(*exchange.Core, string, int64) Decision { return heldBack }

var heldBack = Decision{Fallback: true, RetryAfter: standby.RestFor}

type localFallback struct {
	r   *bucket.Rule
	bad error
}

func (f localFallback) check() error { return f.bad }

func (f localFallback) decide(c *exchange.Core, state string, n int64) (Decision, error) {
	if n > f.r.Burst && !f.r.None() {
		return Decision{}, exceedsBurst(n, f.r)
	}
	_, d := f.answer(c, state, bucket.Want{N: n, Kind: bucket.Take})
	return d, nil
}

func (f localFallback) upTo(c *exchange.Core, state string, n int64) (int64, Decision) {
	return f.answer(c, state, bucket.Want{N: 1, UpTo: n, Kind: bucket.Take})
}

func (f localFallback) undo(c *exchange.Core, state string, n int64) Decision {
	_, d := f.answer(c, state, bucket.Want{N: n, Kind: bucket.Refund})
	return d
}

func (f localFallback) answer(c *exchange.Core, state string, q bucket.Want) (taken int64, d Decision) {
	q.Rule = f.r
	if f.r.Settled() {
		taken, d = q.Settled(), settledDecision(f.r)
	} else {
		var got bucket.State
		got, taken = c.StandIns.Answer(state, q, c.Engine.Now().Mono)
		d = decisionOf(&got, taken > 0, q.N)
	}
	d.Fallback = true
	return taken, d
}

// fallback is the setting of a handle.
type fallback struct {
	within time.Duration
	to     Fallback
}

// orFallBack asks the server, for as long as the fallback says.
func (b *Bucket) orFallBack(ctx context.Context, n int64) (Decision, error) {
	if err := b.askable(ctx, n); err != nil {
		return Decision{}, err
	}
	if b.own != nil && (b.own.Settled() || n > b.own.Burst) { // what is known without the server
		return b.decision(ctx, n)
	}
	return unlessSilent(ctx, b.core, b.fallback.within,
		func(ctx context.Context) (Decision, error) { return b.decision(ctx, n) },
		func() (Decision, error) {
			d, err := b.fallback.to.decide(b.core, b.state, n)
			return b.fellBack(ctx, n, d, err)
		})
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
func unlessSilent[D any](ctx context.Context, c *exchange.Core, within time.Duration, ask func(context.Context) (D, error), instead func() (D, error)) (D, error) {
	return standby.Instead(ctx, &c.Breaker, standby.Patience{Within: within, Now: c.Engine.Mono, Silent: silent}, ask, instead)
}

// silent reports whether an error of a request shows that the server does not
// answer.
func silent(err error, late bool) bool { return !isSaid(err) && (late || engine.Passing(err)) }

// isSaid reports whether err is something that the server has said, or that is
// wrong with the request: no outage, however long it took.
func isSaid(err error) bool {
	return exchange.Said(err) || errors.Is(err, ErrOtherRate) || errors.Is(err, ErrExceedsBurst)
}
