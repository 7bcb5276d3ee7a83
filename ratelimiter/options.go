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

// An Option is about one handle, and those that [Limiter.For] makes of it.
// Nothing of it is stored. A value that cannot be used is an [ErrInvalidArgument] of
// every operation of the handle.
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

// WithExpectedRate makes every request fail with [ErrOtherRate] while another
// rate than this is stored. Without it a handle follows what is stored. A charge
// or a refund that learns of the other rate only from its bucket is done all the
// same. A rate that could not be set is an [ErrInvalidArgument].
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

// WithMaxWait sets the longest that [Bucket.WaitN] and [Combined.WaitN] wait: where
// the tokens come later, they fail at once with [ErrExceedsWait] and take nothing.
// A context's deadline that comes sooner counts as well. The default is the
// context's deadline alone; and without one the larger of 30 s and of what the
// request itself needs from an empty bucket, but for the time of a pause. Of
// several limits' longest waits the shortest counts; the default is there what the
// request needs of those that have none of their own.
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

// WithPrefetch takes up to n tokens more than a request needs, and answers the
// next requests from them in the process, and one for more than are left of
// them from the server alone. It relaxes the limit: in any window up to n tokens
// for each process may be granted on top of it. A process that dies takes its n
// tokens along. What is not used within the time in which an empty bucket gets
// full is dropped. A request that is refused takes nothing along.
func WithPrefetch(n int64) Option {
	return option(func(o *options) error {
		if n < 1 {
			return fmt.Errorf("%w: prefetch of %d tokens: at least 1", ErrInvalidArgument, n)
		}
		o.prefetch = n
		return nil
	})
}

// WithFallback decides about [Bucket.Take] and [Bucket.Allow] by itself when
// the server has not answered within that time: because it cannot be reached,
// is loading, has failed over or is part of a cluster that is down. A server that
// answers, with an error too, is not fallen back from.
//
// A breaker keeps requests from waiting for a server that stays silent. It opens
// when at least half of the requests of the last second have failed, and at least 5;
// where none was answered for a second, after 5 failures in a row. While it is open
// the fallback decides at once. After 50 ms one request asks the server. Each such
// request that fails doubles this time, up to 1 s; an answer closes the breaker. So a
// single slow reply concerns its own request only. All keys of a limiter share the
// breaker: on a cluster of which most is silent, the fallback decides about
// keys of the other nodes, too.
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

// WithRule gives the key a rate of its own, such as that of the user's plan,
// in place of the stored one. It travels with the call and is stored nowhere,
// so all who use the key should name the same; the key's bucket stays the same
// one when the rate changes, with what was taken, in whole tokens: the fraction
// of one counts as one. A pause of the limiter does not touch it, nor does
// [WithReset] or [Limiter.Delete].
func WithRule(r Rate) KeyOption { return ruleOption(r) }

type setOption func(*exchange.Setting) error

func (o setOption) applySet(to *exchange.Setting) error { return o(to) }

type trySetOption struct{ setOption }

func (trySetOption) applyTrySet() {}

// WithReset makes all buckets of the limiter full, but for those of keys that
// were last used by a rule of their own, see [WithRule]: who goes by that does
// not ask for the stored one. [Bucket.Reset] fills them.
func WithReset() SetOption {
	return setOption(func(s *exchange.Setting) error {
		s.Reset = true
		return nil
	})
}

// WithRuleTTL has the stored rate go when nobody has used it for d: requests fail
// with [ErrNoRate] then, as after [Limiter.Delete], until somebody sets one. It is
// for names that are without number, such as tenants. The default is none.
//
// Whoever goes by the rate, looks at it or sets it has used it; for the server
// that counts once for each tenth of d, so that a rate stays for nine tenths of d
// to d after its last use. Requests by a rule of their own ([WithRule]) do not use
// it. A paused limiter stays until it is resumed.
//
// [Limiter.SetRate] without it leaves the time as it is stored; 0 stores none, and
// so does a new rate without it. It is stored with the rate, and is at least 10 s
// and twice the time in which an empty bucket gets full, so that the buckets of a
// rate that has gone are full. Those in debt are not: a new rate WithRuleTTL
// forgives nothing that was taken by an earlier one of the name, also after a
// Delete. One without it does.
//
// Whoever serves a name sets its rate ([Limiter.TrySetRate]) when it hears
// ErrNoRate. Until then it is for the program to say what happens: httplimit's
// FailOpen passes requests on.
//
// The server's clock ends the time, also while it is down or nobody can reach it,
// and if it is set ahead: choose days. With a rate that goes, an eviction policy
// of volatile keys may evict the rate.
func WithRuleTTL(d time.Duration) TrySetOption {
	return trySetOption{func(s *exchange.Setting) error {
		if least := exchange.LeastTTL(s.Rule); d != 0 && (d < least || d > core.LongestLease) {
			return fmt.Errorf("%w: a rule of %v that goes after %v: from %v to %v", ErrInvalidArgument, rateOf(s.Rule.Rate), d, least, core.LongestLease)
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
