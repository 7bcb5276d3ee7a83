package ratelimiter

import (
	"context"
	"fmt"
	"strings"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// Limiter is a handle on the token bucket of one name. It holds nothing, so it
// may be used by any number of goroutines, and any number of handles on one
// name are the same limiter.
//
// The methods that take tokens are those of [Bucket]: on the limiter itself
// they are about the one bucket that has no key; [Limiter.For] gives each key
// a bucket of its own.
type Limiter struct {
	Bucket
}

// New returns a handle. Programs outside of this module call
// rueidisson.Client.RateLimiter.
func New(e *engine.Engine, name string, opts ...Option) *Limiter {
	c := hubOf(e).core(e.Map(name))
	l := &Limiter{Bucket{handle: &handle{core: c, limiter: name}, state: keys.Bucket(c.name)}}
	l.bad = l.configure(opts)
	switch {
	case l.bad != nil:
	case c.name == "":
		l.bad = fmt.Errorf("%w: empty name", ErrOption)
	case e.Cluster():
		if err := keys.OnCluster(c.name); err != nil {
			l.bad = fmt.Errorf("%w: name %q cannot be used on a cluster: %w", ErrOption, c.name, err)
		}
	}
	return l
}

// Name is the name that the handle was made with, before any mapping.
func (l *Limiter) Name() string { return l.limiter }

// For returns a handle on the bucket of one key, such as a user or an address:
// each key has the whole rate for itself. It asks nobody, and a key that is not
// used costs nothing, in the process or on the server.
//
// Any text is a key but the empty one, which is an ErrOption of the handle's
// operations. Wire: string name:{key}. Of a key above 64 bytes a hash stands
// there, and braces and "%" are escaped, so that who chooses keys chooses
// neither a cluster slot nor how much is stored.
func (l *Limiter) For(key string, opts ...KeyOption) *Bucket {
	return new(Bucket).of(l, key, opts) // small enough to be inlined, so that the Bucket may stay on the caller's stack
}

// of makes b the bucket of a key.
func (b *Bucket) of(l *Limiter, key string, opts []KeyOption) *Bucket {
	*b = Bucket{handle: l.handle, key: key, state: keys.BucketOf(l.core.name, key), bad: l.bad}
	if key == "" && b.bad == nil {
		b.bad = fmt.Errorf("%w: empty key", ErrOption)
	}
	for _, o := range opts {
		if b.bad == nil {
			b.own, b.bad = travellingOf(o)
		}
	}
	return b
}

// TrySetRate stores the rate unless one is stored already. It returns the one
// that is stored then, and whether it is this call's. A new rate starts with
// full buckets, as after [Limiter.Delete]; but see [WithRuleTTL].
//
// ctx ends the wait for the answer; the call may still take effect then.
// Cost: one round trip. Wire: string name. Errors: ctx's; [ErrOption] for a
// rate of nothing, or one that 2^53 cannot hold exactly (the text names the
// largest burst that fits); [ErrOtherAlgorithm]; [ErrClosed]; Redis' and the
// network's. Source: RRateLimiter.trySetRate.
func (l *Limiter) TrySetRate(ctx context.Context, r Rate, opts ...TrySetOption) (stored Rate, created bool, err error) {
	defer func() { err = l.failed("try set rate", err) }()
	want, err := l.settable(ctx, r)
	if err != nil {
		return Rate{}, false, err
	}
	how, err := resolveSet(want, opts)
	if err != nil {
		return Rate{}, false, err
	}
	nonce := engine.NewRequest()
	got, err := l.core.change(ctx, ruleCreateScript, want.Parameters(), nonce, how.createTTL())
	if err != nil {
		return Rate{}, false, err
	}
	return rateOf(got.Rate), strings.Contains(got.Stored, " "+nonce), nil
}

// SetRate stores the rate for everybody, whatever is stored. Processes that
// use the limiter follow within a second. What was taken stays taken, in whole
// tokens and up to the new burst, unless [WithReset] makes all buckets full. The
// very rate that is stored, without WithReset, changes nothing, so that a program
// may set its rate at each start. A paused limiter stays paused, whatever is set:
// only [Limiter.Resume] ends a pause.
//
// A key that nobody asks about until it would have been full by the old rate is
// full. Debt beyond the burst is forgiven. A wait that was already granted keeps
// its time, and a block of a key stays. ctx ends the wait for the answer; the
// call may still take effect then. It is sent once.
// Cost: one round trip. Wire: string name. Errors: as
// [Limiter.TrySetRate], and [ErrUnknown]. Source: RRateLimiter.setRate.
func (l *Limiter) SetRate(ctx context.Context, r Rate, opts ...SetOption) error {
	return l.failed("set rate", l.setRate(ctx, r, opts))
}

func (l *Limiter) setRate(ctx context.Context, r Rate, opts []SetOption) error {
	want, err := l.settable(ctx, r)
	if err != nil {
		return err
	}
	how, err := resolveSet(want, opts)
	if err != nil {
		return err
	}
	_, err = l.core.change(ctx, ruleSetScript, want.Parameters(), how.reset, engine.NewRequest(), how.ttl, bucket.Decimal(leastTTL(want).Milliseconds()))
	return err
}

// settable checks what is common to setting a rate.
func (l *Limiter) settable(ctx context.Context, r Rate) (*bucket.Rule, error) {
	if err := l.usable(ctx); err != nil {
		return nil, err
	}
	return resolve(r)
}

// Rate is the rate that is stored now.
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

// stored is the rule as it is stored now.
func (l *Limiter) stored(ctx context.Context) (*bucket.Rule, error) {
	if err := l.usable(ctx); err != nil {
		return nil, err
	}
	r, err, _ := engine.Await(l.core.e, ctx, 0, l.core.refresh) // not one that was under way
	return r, err
}

// Pause stops granting, for all keys but those that go by a rule of their own,
// see [WithRule], until [Limiter.Resume]: requests are
// refused with a RetryAfter of a second, as nobody knows when it ends, and waits
// wait. Buckets fill meanwhile. Other processes follow within a second. It is
// sent once.
//
// Cost: one round trip. Errors: [ErrNoRate]; [ErrOtherAlgorithm];
// [ErrUnknown]; ctx's; [ErrClosed]; Redis' and the network's.
func (l *Limiter) Pause(ctx context.Context) error { return l.pause(ctx, "pause", "1") }

// Resume ends a pause. Cost and errors: as [Limiter.Pause].
func (l *Limiter) Resume(ctx context.Context) error { return l.pause(ctx, "resume", "0") }

func (l *Limiter) pause(ctx context.Context, op, paused string) error {
	err := l.usable(ctx)
	if err == nil {
		_, err = l.core.change(ctx, rulePauseScript, paused)
	}
	return l.failed(op, err)
}

// Delete forgets the rate and the bucket without a key, and reports whether
// there was one. Requests fail with [ErrNoRate] from then on, in other
// processes within a second. What is kept for keys goes by itself, and a rate
// that is set later starts with full buckets, but for those of keys that were
// last used by a rule of their own, see [WithRule]: they go on by that, also
// while no rate is stored; and unless the new rate goes, too, see [WithRuleTTL].
// It is sent once.
//
// Cost: one round trip. Errors: [ErrOtherAlgorithm]; [ErrUnknown]; ctx's;
// [ErrClosed]; Redis' and the network's. Source: RRateLimiter.delete.
func (l *Limiter) Delete(ctx context.Context) (bool, error) {
	if err := l.usable(ctx); err != nil {
		return false, l.failed("delete", err)
	}
	n, err := await(ctx, l.core.e, func() (int64, error) {
		asked := l.core.e.Now().Mono
		answer, err := l.core.e.Run(ctx, ruleDeleteScript, []string{l.core.name, l.state}, nil)
		if err != nil {
			return 0, told(err)
		}
		l.core.changed(nil, asked, l.core.e.Now().Mono)
		return answer.AsInt64()
	})
	return n == 1, l.failed("delete", err)
}

// change runs a script that returns the stored rule, and remembers that.
func (c *core) change(ctx context.Context, s *scripts.Script, args ...string) (*bucket.Rule, error) {
	return await(ctx, c.e, func() (*bucket.Rule, error) {
		asked := c.e.Now().Mono
		answer, err := c.e.Run(ctx, s, []string{c.name}, args)
		if err == nil && answer.Nil {
			err = ErrNoRate
		}
		if err != nil {
			return nil, told(err)
		}
		text, err := answer.ToString()
		if err != nil {
			return nil, err
		}
		r, err := parseRule(text)
		if err == nil {
			c.changed(r, asked, c.e.Now().Mono)
		}
		return r, err
	})
}
