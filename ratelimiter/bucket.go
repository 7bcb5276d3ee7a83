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

// Bucket is a handle on one bucket: that of a key, see [Limiter.For], or the one of a limiter that
// is used without keys. It has no state. Any number of goroutines may use it.
//
// The following is true of each method unless it says otherwise. ctx ends the wait for the answer,
// and tokens that were granted after the caller had gone are given back. A call costs one round
// trip. Calls of one process on one bucket that come while another is under way are sent together,
// up to 128 runs of equal ones at a time. While the bucket is used, a process also reads the rate
// twice a second; the first call waits for that. While there is no answer, the last known rate is
// used. A bucket to which other processes have applied a newer rate reports that itself.
//
// Errors of all: [ErrNoRate]; [ErrOtherAlgorithm]; [ErrOtherRate];
// [ErrInvalidArgument], for a request of 0 tokens or fewer and a handle that was made
// with one that cannot be used; [ErrOutcomeUnknown], if the reply was lost: the
// request is not sent again, and what it may have taken stays taken; ctx's
// error and cause; [ErrClosed]; Redis' and the network's.
type Bucket struct {
	*handle
	key   string       // as the caller wrote it, "" without
	state string       // where it is kept
	own   *bucket.Rule // that travels with the call
	bad   error        // what every operation returns
	all   *Combined    // the limits that this is a member of; nil for a bucket by itself
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

// Reset fills the bucket, and lifts a block. Reservations that were granted
// stay granted; one that is cancelled afterwards gives its tokens back all the
// same, up to a full bucket. It is sent once: after [ErrOutcomeUnknown] or ctx's error it
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
// other processes have prefetched still pass. It is sent once: after [ErrOutcomeUnknown]
// or ctx's error it may or may not have been done.
//
// Cost and errors: see [Bucket]; a call while blocked may cost a second round
// trip.
func (b *Bucket) Block(ctx context.Context, d time.Duration) error {
	r, err := b.ruleFor(ctx, 1)
	if err == nil && (d < time.Microsecond || d > core.LongestLease) {
		err = fmt.Errorf("%w: block for %v: from 1µs to %v", ErrInvalidArgument, d, core.LongestLease)
	}
	if err == nil {
		err = b.core.Block(ctx, b.state, r, d)
	}
	return b.failed("block", err)
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
	if err == nil {
		err = b.unexpected(r)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// unexpected returns the error of a stored rate that is not the expected one.
func (b *Bucket) unexpected(r *bucket.Rule) error {
	if b.own != nil || b.expected == nil || rateOf(r.Rate) == *b.expected {
		return nil
	}
	return fmt.Errorf("%w: %v, not %v", ErrOtherRate, r.Rate, *b.expected)
}

// askable checks what can be checked without a rule.
func (b *Bucket) askable(ctx context.Context, n int64) error {
	err := b.usable(ctx)
	if err == nil && n <= 0 {
		err = fmt.Errorf("%w: %d tokens: at least 1", ErrInvalidArgument, n)
	}
	return err
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
