package ratelimiter

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// Limiter is a handle on the token bucket of one name. It has no state. Any number of goroutines
// may use it, and all handles on one name are the same limiter.
//
// The methods that take tokens are those of [Bucket]. On the limiter itself they use the one bucket
// that has no key; [Limiter.For] gives each key a bucket of its own.
type Limiter struct {
	Bucket
}

// New returns a handle on the rate limiter of that name. Programs call client.RateLimiter(name),
// which returns the same. New is for packages that take a [Client] and do not import rueidisson.
func New(c Client, name string, opts ...Option) *Limiter {
	e := c.Engine()
	of := exchange.HubOf(e).Core(e.Map(name))
	l := &Limiter{Bucket{handle: &handle{core: of, limiter: name}, state: keys.Bucket(of.Name)}}
	l.bad = cmp.Or(object.Apply(&l.options, opts, Option.apply), object.CheckName(e, of.Name))
	return l
}

// Name returns the name that the handle was made with, before any mapping.
func (l *Limiter) Name() string { return l.limiter }

// For returns a handle on the bucket of one key, such as a user or an address: each key has the
// whole rate for itself. It does no I/O, and a key that is not used costs nothing, in the process
// or on the server.
//
// Any text except "" is a key. For an empty key the operations of the handle return
// ErrInvalidArgument.
//
// A key above 64 bytes is stored as a hash, and braces and "%" are escaped. So a user that chooses keys chooses neither a
// cluster slot nor how much is stored.
func (l *Limiter) For(key string, opts ...KeyOption) *Bucket {
	return new(Bucket).of(l, key, opts) // small enough to be inlined, so that the Bucket may stay on the caller's stack
}

// of makes b the bucket of a key.
func (b *Bucket) of(l *Limiter, key string, opts []KeyOption) *Bucket {
	*b = Bucket{handle: l.handle, key: key, state: keys.BucketOf(l.core.Name, key), bad: l.bad}
	if key == "" && b.bad == nil {
		b.bad = fmt.Errorf("%w: empty key", ErrInvalidArgument)
	}
	for _, o := range opts {
		switch {
		case b.bad != nil:
		case o == nil:
			b.bad = fmt.Errorf("%w: a nil option", ErrInvalidArgument)
		default:
			b.own, b.bad = o.travelling()
		}
	}
	return b
}

// TrySetRate stores the rate unless one is stored already. It returns the stored rate, and whether
// this call has stored it. A new rate starts with full buckets, as after [Limiter.Delete]; but see
// [WithRuleTTL].
//
// ctx ends the wait for the answer; the call may still take effect then.
//
// Cost: one round trip.
// Errors: ctx's; [ErrInvalidArgument] for a rate of nothing, or one that 2^53 cannot hold exactly
// (the text names the largest burst that fits); [ErrOtherAlgorithm]; [ErrClosed]; those of Redis
// and of the network.
// Source: RRateLimiter.trySetRate.
func (l *Limiter) TrySetRate(ctx context.Context, r Rate, opts ...TrySetOption) (stored Rate, created bool, err error) {
	defer func() { err = l.failed("try set rate", err) }()
	how, err := settingOf(ctx, l, r, opts)
	if err != nil {
		return Rate{}, false, err
	}
	got, created, err := l.core.Create(ctx, how)
	if err != nil {
		return Rate{}, false, err
	}
	return rateOf(got.Rate), created, nil
}

// SetRate stores the rate for all processes, also if another one is stored. Processes that use the
// limiter follow within a second. Taken tokens stay taken, in whole tokens and up to the new burst,
// unless [WithReset] makes all buckets full. A rate that equals the stored one, without WithReset,
// changes nothing, so a program may set its rate at each start. A paused limiter stays paused: only
// [Limiter.Resume] ends a pause.
//
// If a key gets no request until it would have been full by the old rate, it is full. Debt beyond
// the burst is forgiven. A wait that was already granted keeps its time, and a block of a key
// stays. ctx ends the wait for the answer; the call may still take effect then. It is sent once.
//
// Cost: one round trip.
// Errors: as [Limiter.TrySetRate], and [ErrOutcomeUnknown].
// Source: RRateLimiter.setRate.
func (l *Limiter) SetRate(ctx context.Context, r Rate, opts ...SetOption) error {
	how, err := settingOf(ctx, l, r, opts)
	if err == nil {
		err = l.core.Set(ctx, how)
	}
	return l.failed("set rate", err)
}

// Rate returns the rate that is stored now.
//
// Cost: one round trip. Errors: [ErrNoRate]; [ErrOtherAlgorithm]; ctx's;
// [ErrClosed]; Redis' and the network's. Source: RRateLimiter.getConfig.
func (l *Limiter) Rate(ctx context.Context) (Rate, error) {
	r, err := l.stored(ctx)
	if err != nil {
		return Rate{}, l.failed("rate", err)
	}
	return rateOf(r.Rate), nil
}

// RuleTTL returns how long the stored rate stays when it is not used, 0 for ever; see
// [WithRuleTTL]. A call of RuleTTL is a use. ctx bounds the round trip.
//
// Cost and errors: as [Limiter.Rate].
func (l *Limiter) RuleTTL(ctx context.Context) (time.Duration, error) {
	r, err := l.stored(ctx)
	if err != nil {
		return 0, l.failed("rule ttl", err)
	}
	return r.TTL, nil
}

// stored returns the rule as it is stored now.
func (l *Limiter) stored(ctx context.Context) (*bucket.Rule, error) {
	if err := l.usable(ctx); err != nil {
		return nil, err
	}
	r, err, _ := send.Await(l.core.Engine.Sender, ctx, 0, l.core.Refresh) // not one that was under way
	return r, err
}

// Pause stops granting until [Limiter.Resume], for all keys except those with a rule of their own,
// see [WithRule]. Requests are refused with a RetryAfter of a second, because the end of the pause
// is unknown, and waits wait. Buckets fill meanwhile. Other processes follow within a second. It is
// sent once.
//
// Cost: one round trip. Errors: [ErrNoRate]; [ErrOtherAlgorithm];
// [ErrOutcomeUnknown]; ctx's; [ErrClosed]; Redis' and the network's.
func (l *Limiter) Pause(ctx context.Context) error { return l.pause(ctx, "pause", true) }

// Resume ends a pause. Cost and errors: as [Limiter.Pause].
func (l *Limiter) Resume(ctx context.Context) error { return l.pause(ctx, "resume", false) }

func (l *Limiter) pause(ctx context.Context, op string, stop bool) error {
	err := l.usable(ctx)
	if err == nil {
		err = l.core.Pause(ctx, stop)
	}
	return l.failed(op, err)
}

// Delete deletes the rate and the bucket without a key, and reports whether there was a rate. From
// then on requests fail with [ErrNoRate], in other processes within a second. The buckets of keys
// expire. A rate that is set later starts with full buckets, with two exceptions. Keys that were
// last used by a rule of their own, see [WithRule], continue by that rule, also while no rate is
// stored. And buckets need not be full if the new rate expires, too, see [WithRuleTTL]. Delete is
// sent once.
//
// Cost: one round trip. Errors: [ErrOtherAlgorithm]; [ErrOutcomeUnknown]; ctx's;
// [ErrClosed]; Redis' and the network's. Source: RRateLimiter.delete.
func (l *Limiter) Delete(ctx context.Context) (bool, error) {
	if err := l.usable(ctx); err != nil {
		return false, l.failed("delete", err)
	}
	deleted, err := l.core.Delete(ctx, l.state)
	return deleted, l.failed("delete", err)
}
