package ratelimiter

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// Bucket is a handle on one bucket: that of a key, see [Limiter.For], or the
// one of a limiter that is used without keys. It holds nothing, so it may be
// used by any number of goroutines.
//
// Unless a method says otherwise: ctx ends the wait for the answer, and what
// was granted after the caller had gone is given back. It costs one round
// trip; calls of one process on one bucket that come while another is on its
// way go out together, up to 128 runs of equal ones at a time. While it is used, a
// process asks for the rate twice a second, too. The first call waits for that.
// While nobody answers, the rate that is known goes on; a bucket that others have
// asked by a newer one says so itself.
//
// Errors of all: [ErrNoRate]; [ErrOtherAlgorithm]; [ErrOtherRate];
// [ErrOption], for a request of 0 tokens or fewer and a handle that was made
// with one that cannot be used; [ErrUnknown], if the reply was lost: the
// request is not sent again, and what it may have taken stays taken; ctx's
// error and cause; [ErrClosed]; Redis' and the network's.
type Bucket struct {
	*handle
	key   string       // as the caller wrote it, "" without
	state string       // where it is kept
	own   *bucket.Rule // that travels with the call
	bad   error        // what every operation returns
}

// handle is what the buckets of one handle on a limiter have in common.
type handle struct {
	core    *exchange.Core
	limiter string // its name, as the caller wrote it
	options
}

// String names the bucket, as errors do. Of the key, which may be a secret, it
// has a hash: the first 8 hexadecimal digits of its SHA-256.
func (b *Bucket) String() string {
	if b.key == "" {
		return fmt.Sprintf("rate limiter %q", b.limiter)
	}
	sum := sha256.Sum256([]byte(b.key))
	return fmt.Sprintf("rate limiter %q for key #%x", b.limiter, sum[:4])
}

// Allow reports whether one token is there now, and takes it. See [Bucket.Take].
func (b *Bucket) Allow(ctx context.Context) (bool, error) { return b.AllowN(ctx, 1) }

// AllowN reports whether n tokens are there now, and takes them if all are.
// See [Bucket.Take].
func (b *Bucket) AllowN(ctx context.Context, n int64) (bool, error) {
	if b.fallback == nil { // then the rest of a decision need not be worked out
		a, err := b.decide(ctx, n, 0)
		b.decided(ctx, n, a, err)
		return a.OK, b.undecided(ctx, "allow", n, err)
	}
	d, err := b.takeOrFallBack(ctx, n)
	return d.Allowed, b.undecided(ctx, "allow", n, err)
}

// Take takes n tokens if all are there now, and nothing otherwise. It never
// waits for tokens. The decision says what is left, or when it would have been
// allowed.
//
// Cost and errors: see [Bucket]; [ErrExceedsBurst] if n is more than a full
// bucket holds. Wire: string {name}:bucket, or name:{key}; absent while full,
// and with a TTL until then. Source: the token bucket, in whole numbers and by
// the server's clock; RRateLimiter.tryAcquire.
func (b *Bucket) Take(ctx context.Context, n int64) (Decision, error) {
	if b.fallback == nil {
		d, err := b.decision(ctx, n)
		return d, b.undecided(ctx, "take", n, err)
	}
	d, err := b.takeOrFallBack(ctx, n)
	return d, b.undecided(ctx, "take", n, err)
}

func (b *Bucket) takeOrFallBack(ctx context.Context, n int64) (d Decision, err error) {
	_, d, err = b.orFallBack(ctx, bucket.Want{N: n}, func(ctx context.Context) (int64, Decision, error) {
		d, err := b.decision(ctx, n)
		return 0, d, err
	})
	return d, err
}

// decision returns all that decide says.
func (b *Bucket) decision(ctx context.Context, n int64) (Decision, error) {
	a, err := b.decide(ctx, n, 0)
	b.decided(ctx, n, a, err)
	if err != nil {
		return Decision{}, err
	}
	return decision(&a, n), nil
}

// decide returns what the rule says of a request of n tokens, or of up to so many of
// them, here or on the server.
func (b *Bucket) decide(ctx context.Context, n, upTo int64) (exchange.Answer, error) {
	r, err := b.ruleFor(ctx, n)
	switch {
	case err != nil:
		return exchange.Answer{}, err
	case n > r.Burst && !r.None():
		return exchange.Answer{}, exceedsBurst(n, r)
	case r.Paused:
		return exchange.Answer{State: bucket.State{Rule: r}, Paused: true}, nil
	}
	q := b.wants(r, n, bucket.Take)
	q.UpTo = upTo
	a, err := b.answer(ctx, q)
	switch {
	case err != nil:
		return exchange.Answer{}, err
	case !a.OK && n > a.Rule.Burst && !a.Rule.None(): // by a rule that came meanwhile
		return exchange.Answer{}, exceedsBurst(n, a.Rule)
	}
	return a, nil
}

func exceedsBurst(n int64, r *bucket.Rule) error {
	return fmt.Errorf("%w: %d tokens of %v", ErrExceedsBurst, n, r.Rate)
}

// askAgain is what a refusal by a paused limiter suggests: as long as it may
// take until the end of the pause is known.
const askAgain = exchange.StaleAfter

func pausedDecision(r *bucket.Rule) Decision {
	return Decision{Paused: true, Limit: r.Burst, Rate: rateOf(r.Rate), RetryAfter: askAgain, ResetAfter: askAgain}
}

// wants returns an ask of the bucket.
func (b *Bucket) wants(r *bucket.Rule, n int64, k bucket.Kind) exchange.Ask {
	a := exchange.Ask{Core: b.core, State: b.state, Want: bucket.Want{Rule: r, N: n, Kind: k}}
	if k == bucket.Reserve || k == bucket.Charge {
		a.Debt = b.debt(r)
	}
	return a
}

// answer decides in the process where it can, and asks the server otherwise.
func (b *Bucket) answer(ctx context.Context, a exchange.Ask) (exchange.Answer, error) {
	switch {
	case a.Rule.Settled():
		return a.Settle(), nil
	case a.Rule.Type == bucket.PerClient:
		got, taken := b.core.Meters.Answer(b.state, a.Want, b.core.Engine.Now().Mono)
		return exchange.Answer{State: got, OK: taken > 0, Taken: taken}, nil
	case a.Kind == bucket.Take && b.prefetch > 0:
		return b.fromStock(ctx, a)
	}
	return b.askServer(ctx, a)
}

// askServer asks, unless the answer is known.
func (b *Bucket) askServer(ctx context.Context, a exchange.Ask) (exchange.Answer, error) {
	switch {
	case a.Kind == bucket.Take && b.denial:
		return b.unlessDenied(ctx, a)
	case a.Kind == bucket.Charge || a.Kind == bucket.Refund:
		c, state := b.core, b.state // b itself stays on its caller's stack
		return exchange.Insist(ctx, c.Engine.Sender, func(ctx context.Context) (exchange.Answer, error) { return c.Table.Do(ctx, state, a) })
	}
	return b.do(ctx, a)
}

// do asks the server.
func (b *Bucket) do(ctx context.Context, a exchange.Ask) (exchange.Answer, error) {
	got, err := b.core.Table.Do(ctx, b.state, a)
	if err == nil && a.Kind.Undoable() {
		if err = b.unexpected(got.Rule); err != nil {
			b.core.Left(b.state, a, got)
		}
	}
	return got, err
}

// unexpected returns the error of an answer by a rate that came meanwhile, and is
// not the expected one.
func (b *Bucket) unexpected(r *bucket.Rule) error {
	if b.own != nil || b.expected == nil || rateOf(r.Rate) == *b.expected {
		return nil
	}
	return b.otherRate(r)
}

func (b *Bucket) otherRate(r *bucket.Rule) error {
	return fmt.Errorf("%w: %v, not %v", ErrOtherRate, r.Rate, *b.expected)
}

// ruleFor returns the rule in force, after the checks that all requests share.
func (b *Bucket) ruleFor(ctx context.Context, n int64) (*bucket.Rule, error) {
	if err := b.askable(ctx, n); err != nil {
		return nil, err
	}
	if b.own != nil {
		return b.own, nil
	}
	r, err := b.core.Rule(ctx)
	if err == nil && b.expected != nil && rateOf(r.Rate) != *b.expected {
		return nil, b.otherRate(r)
	}
	return r, err
}

// Peek looks without taking anything: the decision that a request of one token
// would get.
//
// Cost and errors: see [Bucket].
func (b *Bucket) Peek(ctx context.Context) (Decision, error) {
	d, err := b.peek(ctx)
	return d, b.failed("peek", err)
}

func (b *Bucket) peek(ctx context.Context) (Decision, error) {
	r, err := b.ruleFor(ctx, 1)
	if err != nil {
		return Decision{}, err
	}
	a, err := b.answer(ctx, b.wants(r, 1, bucket.Peek))
	if err == nil {
		err = b.unexpected(a.Rule)
	}
	if err != nil {
		return Decision{}, err
	}
	if b.prefetch > 0 {
		seen, served := b.core.Standby.Beside(a.State, b.state, b.core.Engine.Mono())
		a.State, a.OK = seen, a.OK || served
	}
	d := decision(&a, 1)
	if r.Paused {
		d.pause()
	}
	return d, nil
}

// pause makes it the decision of a limiter that is paused.
func (d *Decision) pause() {
	d.Paused, d.Allowed, d.RetryAfter = true, false, max(d.RetryAfter, askAgain)
}

// Reset fills the bucket, and lifts a block. Reservations that were granted
// stay granted; one that is cancelled afterwards gives its tokens back all the
// same, up to a full bucket. It is sent once: after [ErrUnknown] or ctx's error it
// may or may not have been done.
//
// Cost and errors: see [Bucket]. It needs no rate.
func (b *Bucket) Reset(ctx context.Context) error {
	err := b.usable(ctx)
	if err == nil {
		err = b.core.Reset(ctx, b.state)
	}
	return b.failed("reset", err)
}

// Block grants nothing for the next d, whatever is there; [Bucket.Reset] ends
// it early. The bucket fills meanwhile. A second block replaces the first,
// but does not end before what was reserved under that. Waits that were granted
// before keep their time. Of a rate per client, it blocks this one. Tokens that
// other processes have prefetched still pass. It is sent once: after [ErrUnknown]
// or ctx's error it may or may not have been done.
//
// Cost and errors: see [Bucket]; a call while blocked may cost a second round
// trip.
func (b *Bucket) Block(ctx context.Context, d time.Duration) error {
	r, err := b.ruleFor(ctx, 1)
	if err == nil && (d < time.Microsecond || d > core.LongestLease) {
		err = fmt.Errorf("%w: block for %v: from 1µs to %v", ErrOption, d, core.LongestLease)
	}
	if err == nil {
		err = b.core.Block(ctx, b.state, r, d)
	}
	return b.failed("block", err)
}

// usable checks what every operation checks first.
func (b *Bucket) usable(ctx context.Context) error {
	return object.Usable(ctx, b.core.Engine, b.bad)
}

// failed names the operation and the bucket.
func (b *Bucket) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", b.String(), op, err) // not b, which would let no Bucket stay on its caller's stack
}
