package grpclimit

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
)

// An Option changes what [New] returns. One that cannot be used is an error of
// New that wraps [ratelimiter.ErrInvalidArgument].
type Option interface{ apply(*settings) error }

// settings are what options set.
type settings struct {
	more      []*ratelimiter.Limiter
	tried     []*ratelimiter.Limiter // in shadow
	aliases   []string
	headers   httplimit.HeaderFormat
	cost      func(ctx context.Context, method string) int64
	messages  func(ctx context.Context, method string, message any) int64 // nil: they cost nothing
	rule      func(ctx context.Context, method string, lim *ratelimiter.Limiter) (ratelimiter.Rate, bool)
	refundIf  func(Response) bool
	observers []func(ctx context.Context, method string, what httplimit.Report)
	logger    *slog.Logger
	sharedKey string
	shadow    bool
	timeout   time.Duration
	jitter    time.Duration
}

// defaultTimeout is that of package httplimit.
const defaultTimeout = 500 * time.Millisecond

func defaults() settings {
	return settings{headers: httplimit.None, cost: func(context.Context, string) int64 { return 1 }, timeout: defaultTimeout}
}

type option func(*settings) error

func (o option) apply(s *settings) error { return o(s) }

// given returns an option whose value may not be nil.
func given(name string, missing bool, set func(*settings)) Option {
	return option(func(s *settings) error {
		if missing {
			return fmt.Errorf("%w: %s of nil", ratelimiter.ErrInvalidArgument, name)
		}
		set(s)
		return nil
	})
}

// Also adds limits that have to grant as well, such as one for a day. They are
// asked together, see [ratelimiter.All]: tokens are taken of all or of none.
func Also(more ...*ratelimiter.Limiter) Option {
	return given("Also", slices.Contains(more, nil), func(s *settings) { s.more = append(s.more, more...) })
}

// AlsoShadow adds limits that are only tried out, see [ratelimiter.Shadow]. Each
// call that the others let through is counted, with what [Charge] and [RefundIf] make of it. The observer of the
// limiters' client is told their decisions. They refuse nothing, and no call waits for them.
func AlsoShadow(more ...*ratelimiter.Limiter) Option {
	return given("AlsoShadow", slices.Contains(more, nil), func(s *settings) { s.tried = append(s.tried, more...) })
}

// PolicyNames sets the names of the limits in refusals and in the fields of [Headers], in their order: the limit given to
// [New], then those of [Also]. Without it they are called as the limiters are.
func PolicyNames(names ...string) Option {
	return option(func(s *settings) error {
		if slices.Contains(names, "") {
			return fmt.Errorf("%w: an empty policy name", ratelimiter.ErrInvalidArgument)
		}
		s.aliases = names
		return nil
	})
}

// Headers sends the fields that package httplimit sends, such as ratelimit-policy and ratelimit of [httplimit.Draft11], as
// metadata in the header of each answer. The default is [httplimit.None].
func Headers(f httplimit.HeaderFormat) Option {
	return option(func(s *settings) error {
		if f < httplimit.Draft11 || f > httplimit.None {
			return fmt.Errorf("%w: %v is no format", ratelimiter.ErrInvalidArgument, f)
		}
		s.headers = f
		return nil
	})
}

// Cost sets how many tokens a call takes; method is its full name, such as
// "/package.Service/Method". A call that costs 0, such as a health check, is passed on as if there were no limit. A call
// that costs less than 0 ends with InvalidArgument.
func Cost(cost func(ctx context.Context, method string) int64) Option {
	return given("Cost", cost == nil, func(s *settings) { s.cost = cost })
}

// Messages sets how many tokens a message takes that a stream receives, in addition to the [Cost] of the stream. The one
// request of a stream that only sends is such a message, too. A message that costs 0 is passed on, and one that costs less ends
// the stream with InvalidArgument. The limits are asked when the message has come, in one round
// trip. After a refusal RecvMsg returns the status that ends the stream, if its handler returns it.
// Observers are told of each message. [RefundIf] and [Charge] are not about messages.
func Messages(cost func(ctx context.Context, method string, message any) int64) Option {
	return given("Messages", cost == nil, func(s *settings) { s.messages = cost })
}

// Rule gives keys rates of their own, such as that of the user's plan, in place of the stored one; see
// [ratelimiter.WithRule]. It is called for each call, or message, and each limit; false means the stored rate. Calls with the
// same key should get the same rate.
func Rule(rule func(ctx context.Context, method string, lim *ratelimiter.Limiter) (ratelimiter.Rate, bool)) Option {
	return given("Rule", rule == nil, func(s *settings) { s.rule = rule })
}

// RefundIf gives the tokens of a call back if the predicate says so of its result, such as [Succeeded] or [Failed]. The
// call then costs another round trip, after its handler has returned. Tokens that a limiter's fallback granted are not
// given back.
func RefundIf(predicate func(Response) bool) Option {
	return given("RefundIf", predicate == nil, func(s *settings) { s.refundIf = predicate })
}

// Observe adds a function that is told of each decision, before anything of it is sent, of each refund and of each charge.
// Calls wait for it.
func Observe(observe func(ctx context.Context, method string, what httplimit.Report)) Option {
	return given("Observe", observe == nil, func(s *settings) { s.observers = append(s.observers, observe) })
}

// Logger writes errors of the limiter, as warnings, at most one a second. Without it nothing is logged.
func Logger(l *slog.Logger) Option {
	return given("Logger", l == nil, func(s *settings) { s.logger = l })
}

// SharedKey lets all calls without a key share this one. Without it they end with InvalidArgument.
func SharedKey(key string) Option {
	return given("SharedKey", key == "", func(s *settings) { s.sharedKey = key })
}

// Shadow decides, takes tokens and tells the functions given to [Observe], which is required then, but sends nothing and
// refuses nothing.
func Shadow() Option { return given("Shadow", false, func(s *settings) { s.shadow = true }) }

// WithRetryJitter adds a random time, up to d, to the RetryInfo of each refusal. Clients that were
// refused at the same time then come back at different times. Without it nothing is added.
func WithRetryJitter(d time.Duration) Option {
	return option(func(s *settings) error {
		if d < 0 {
			return fmt.Errorf("%w: a jitter of %v: it must not be negative", ratelimiter.ErrInvalidArgument, d)
		}
		s.jitter = d
		return nil
	})
}

// Timeout bounds the wait for a decision, and the one for a refund or a charge. A limiter's own
// ratelimiter.WithFallback has to come sooner to have an effect. The default is
// half a second.
func Timeout(d time.Duration) Option {
	return option(func(s *settings) error {
		if d <= 0 {
			return fmt.Errorf("%w: a timeout of %v: it must be positive", ratelimiter.ErrInvalidArgument, d)
		}
		s.timeout = d
		return nil
	})
}
