package ratelimiter

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// An Option changes one handle, and those that [Limiter.For] makes of it. It is not stored. With an
// invalid value every operation of the handle returns [ErrInvalidArgument].
type Option interface{ apply(*options) error }

// A KeyOption is about the bucket of one key.
type KeyOption interface{ travelling() (*bucket.Rule, error) }

// A SetOption changes one [Limiter.SetRate].
type SetOption interface{ applySet(*exchange.Setting) error }

// A TrySetOption changes one [Limiter.TrySetRate] or [Limiter.SetRate].
type TrySetOption interface {
	SetOption
	applyTrySet()
}

// options are those of a handle. All are off by default.
type options struct {
	expected *Rate
	maxDebt  int64
	maxWait  time.Duration
	denial   bool
	prefetch int64
	fallback *fallback
}

type option func(*options) error

func (o option) apply(to *options) error { return o(to) }

// WithExpectedRate makes every request fail with [ErrOtherRate] while another rate is stored.
// Without it a handle follows the stored rate. A charge or a refund that learns of the other rate
// only from its bucket is done nevertheless. With a rate that could not be set, operations return
// [ErrInvalidArgument].
func WithExpectedRate(r Rate) Option {
	return option(func(o *options) error {
		o.expected = &r
		_, err := resolve(r)
		return err
	})
}

// WithMaxDebt bounds how many tokens may be owed beyond a bucket that is
// empty, by reservations, waits and charges of this handle. The default, and
// the most, is what can be counted exactly, which is at least another burst.
func WithMaxDebt(tokens int64) Option {
	return option(func(o *options) error {
		if tokens < 1 {
			return fmt.Errorf("%w: a maximum debt of %d tokens: at least 1", ErrInvalidArgument, tokens)
		}
		o.maxDebt = tokens
		return nil
	})
}

// WithMaxWait sets the longest wait of [Bucket.WaitN] and [Combined.WaitN]. If the tokens come
// later, they fail at once with [ErrExceedsWait] and take nothing. An earlier deadline of the
// context counts as well. By default only the context's deadline counts. Without a deadline, the
// default is the larger of 30 s and the time that the request itself needs from an empty bucket,
// not counting the time of a pause. Of several limits' longest waits the shortest counts; the
// default there is the time that the request needs of the members that have none of their own.
func WithMaxWait(d time.Duration) Option {
	return option(func(o *options) error {
		if d <= 0 {
			return fmt.Errorf("%w: a longest wait of %v: it must be positive", ErrInvalidArgument, d)
		}
		o.maxWait = d
		return nil
	})
}

// WithLocalDenial refuses requests in the process while it knows that the
// server would: for up to a second after a refusal, it remembers the most that
// can be there since. What another process gives back, resets or unblocks in
// that second is not seen, nor is a rate that it sets; everything else is as if
// the server had been asked. It makes the refusals of a hot key free.
func WithLocalDenial() Option {
	return option(func(o *options) error {
		o.denial = true
		return nil
	})
}

// WithPrefetch takes up to n tokens more than a request needs. The process answers the next
// requests from them. A request for more tokens than are left is decided by the server alone. It
// relaxes the limit: in any window up to n tokens for each process may be granted on top of it. A
// process that dies takes its n tokens along. What is not used within the time in which an empty
// bucket gets full is dropped. A request that is refused takes nothing along.
func WithPrefetch(n int64) Option {
	return option(func(o *options) error {
		if n < 1 {
			return fmt.Errorf("%w: prefetch of %d tokens: at least 1", ErrInvalidArgument, n)
		}
		o.prefetch = n
		return nil
	})
}

// WithFallback decides about [Bucket.Take] and [Bucket.Allow] in the process when the server has
// not answered within that time: because it cannot be reached, is loading, has failed over or is
// part of a cluster that is down. If the server answers, also with an error, the fallback is not
// used.
//
// A breaker keeps requests from waiting for a server that stays silent. It opens when at least half
// of the requests of the last second have failed, and at least 5. If none was answered for a
// second, it opens after 5 failures in a row. While it is open the fallback decides at once. After
// 50 ms one request asks the server. Each such request that fails doubles this time, up to 1 s; an
// answer closes the breaker. So a single slow reply concerns its own request only. All keys of a
// limiter share the breaker: on a cluster that is mostly silent, the fallback decides about keys of
// the other nodes, too.
//
// Such decisions have Fallback set. Waits, reservations and charges have no
// fallback. Several limits have one together if each does, see [All].
func WithFallback(within time.Duration, f Fallback) Option {
	return option(func(o *options) error {
		if within <= 0 {
			return fmt.Errorf("%w: a fallback after %v: the time must be positive", ErrInvalidArgument, within)
		}
		if f == nil {
			return fmt.Errorf("%w: a nil fallback", ErrInvalidArgument)
		}
		o.fallback = &fallback{within: within, to: f}
		return f.check()
	})
}

// debt returns the most tokens that may be owed.
func (o *options) debt(r *bucket.Rule) int64 {
	if o.maxDebt > 0 {
		return min(o.maxDebt, r.Debt)
	}
	return r.Debt
}

type ruleOption Rate

func (o ruleOption) travelling() (*bucket.Rule, error) { return travelling(Rate(o)) }

// WithRule gives the key a rate of its own, such as that of the user's plan, instead of the stored
// one. The rule is sent with each call and is not stored, so all callers should use the same rule
// for the key. When the rate changes, the key keeps its bucket and its taken tokens, in whole
// tokens: a fraction of one counts as one. A pause of the limiter does not change it, nor does
// [WithReset] or [Limiter.Delete].
func WithRule(r Rate) KeyOption { return ruleOption(r) }

type setOption func(*exchange.Setting) error

func (o setOption) applySet(to *exchange.Setting) error { return o(to) }

type trySetOption struct{ setOption }

func (trySetOption) applyTrySet() {}

// WithReset makes all buckets of the limiter full, except those of keys that were last used by a
// rule of their own, see [WithRule]: such requests do not read the stored rate. [Bucket.Reset]
// fills them.
func WithReset() SetOption {
	return setOption(func(s *exchange.Setting) error {
		s.Reset = true
		return nil
	})
}

// WithRuleTTL lets the stored rate expire when it has not been used for d: requests fail with
// [ErrNoRate] then, as after [Limiter.Delete], until a rate is set. It is for an unbounded number
// of names, such as tenants. The default is none.
//
// Each request by the rate, each look at it and each call that sets it is a use. The server records
// a use once for each tenth of d, so a rate stays for nine tenths of d to d after its last use.
// Requests by a rule of their own ([WithRule]) do not use it. A paused limiter stays until it is
// resumed.
//
// [Limiter.SetRate] without this option keeps the stored time; 0 stores none, and so does a new
// rate without it. The time is stored with the rate. It is at least 10 s and twice the time in
// which an empty bucket gets full, so that the buckets of an expired rate are full. Buckets in debt
// are not full: a new rate WithRuleTTL forgives nothing that was taken by an earlier rate of the
// name, also after a Delete. A new rate without it does.
//
// A program that serves a name sets its rate ([Limiter.TrySetRate]) when it gets ErrNoRate. Until
// then the program decides what happens: httplimit's FailOpen passes requests on.
//
// The server's clock ends the time, also while the server is down or cannot be reached, and if the
// clock is set ahead: choose days. A rate that expires can be evicted by an eviction policy for
// volatile keys.
func WithRuleTTL(d time.Duration) TrySetOption {
	return trySetOption{func(s *exchange.Setting) error {
		if least := exchange.LeastTTL(s.Rule); d != 0 && (d < least || d > core.LongestLease) {
			return fmt.Errorf("%w: a rule of %v that expires after %v: from %v to %v", ErrInvalidArgument, rateOf(s.Rule.Rate), d, least, core.LongestLease)
		}
		s.TTL = d
		return nil
	}}
}

// settingOf returns how a rate is to be set.
func settingOf[O interface {
	SetOption
	comparable
}](ctx context.Context, l *Limiter, r Rate, opts []O) (s exchange.Setting, err error) {
	if err := l.usable(ctx); err != nil {
		return s, err
	}
	s.TTL = exchange.KeepTTL
	if s.Rule, err = resolve(r); err != nil {
		return s, err
	}
	err = object.Apply(&s, opts, O.applySet)
	return s, err
}
