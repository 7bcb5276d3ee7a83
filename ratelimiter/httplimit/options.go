package httplimit

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/ratelimiter"
)

// An Option changes what [New] returns. One that cannot be used is an error of
// New that wraps [ratelimiter.ErrInvalidArgument].
type Option interface{ apply(*settings) error }

// settings are what options set.
type settings struct {
	more      []*ratelimiter.Limiter
	tried     []*ratelimiter.Limiter // in shadow
	aliases   []string
	headers   HeaderFormat
	cost      func(*http.Request) int64
	rule      func(*http.Request, *ratelimiter.Limiter) (ratelimiter.Rate, bool)
	refundIf  func(Response) bool
	refusal   func(http.ResponseWriter, *http.Request, Report)
	observers []func(*http.Request, Report)
	logger    *slog.Logger
	sharedKey string
	shadow    bool
	timeout   time.Duration
	jitter    time.Duration
}

// defaultTimeout is far above what a decision takes, and what a visitor may
// have to wait for when there is none.
const defaultTimeout = 500 * time.Millisecond

func (s *settings) configure(opts []Option) error {
	for _, o := range opts {
		if o == nil {
			return fmt.Errorf("%w: a nil option", ratelimiter.ErrInvalidArgument)
		}
		if err := o.apply(s); err != nil {
			return err
		}
	}
	return nil
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
// asked together, see [ratelimiter.All]: tokens are taken of all or of none. Of
// middlewares one around the other, the outer one takes before the inner refuses.
func Also(limits ...*ratelimiter.Limiter) Option {
	return given("Also", slices.Contains(limits, nil), func(s *settings) { s.more = append(s.more, limits...) })
}

// AlsoShadow adds limits that are only tried out, see [ratelimiter.Shadow]: each request that the
// others let through is counted, also what [Charge] and [RefundIf] make of it, and the observer of
// the limiters' client hears what they say. They refuse nothing and delay nothing, and no header,
// body or [Report] shows them. [Shadow] is for all limits at once.
func AlsoShadow(limits ...*ratelimiter.Limiter) Option {
	return given("AlsoShadow", slices.Contains(limits, nil), func(s *settings) { s.tried = append(s.tried, limits...) })
}

// PolicyNames sets what clients are told the limits are called, in their order:
// the one given to [New], then those of [Also]. Without it they are called as
// the limiters are. What a header cannot carry is percent-encoded.
func PolicyNames(names ...string) Option {
	return option(func(s *settings) error {
		if slices.Contains(names, "") {
			return fmt.Errorf("%w: an empty policy name", ratelimiter.ErrInvalidArgument)
		}
		s.aliases = names
		return nil
	})
}

// Headers says which headers tell clients about the limit. The default is
// [Draft11].
func Headers(f HeaderFormat) Option {
	return option(func(s *settings) error {
		if f < Draft11 || f > None {
			return fmt.Errorf("%w: %v is none of Draft11, Legacy, None", ratelimiter.ErrInvalidArgument, f)
		}
		s.headers = f
		return nil
	})
}

// Cost says how many tokens a request takes, of each limit. One that costs 0 is
// not limited and not observed. One below 0 means that it cannot be told, and
// the request is answered with 400. So http.Request.ContentLength is no cost as
// it is: it is -1 for a body that comes in pieces, and 0 for none, which passes
// without limit. Add something for each request, and for a body of unknown length
// give the most that the handler reads of it.
func Cost(cost func(*http.Request) int64) Option {
	return given("Cost", cost == nil, func(s *settings) { s.cost = cost })
}

// Rule gives keys rates of their own, such as that of the user's plan, in place
// of the stored one; see [ratelimiter.WithRule]. It is called for each request
// and each limit; false means the stored rate. Requests with the same key
// should get the same rate.
func Rule(rule func(*http.Request, *ratelimiter.Limiter) (ratelimiter.Rate, bool)) Option {
	return given("Rule", rule == nil, func(s *settings) { s.rule = rule })
}

// RefundIf gives the tokens of a request back if the predicate says so of the
// response, such as [Succeeded] or [Failed]. That costs those requests another
// round trip, after the handler has returned. It is done even if the client is
// gone. What a limiter's fallback let through is not refunded.
func RefundIf(predicate func(Response) bool) Option {
	return given("RefundIf", predicate == nil, func(s *settings) { s.refundIf = predicate })
}

// RefuseWith answers refused requests, with a status and a body of its own. The
// headers are set by then, Retry-After among them.
func RefuseWith(refuse func(w http.ResponseWriter, r *http.Request, refused Report)) Option {
	return given("RefuseWith", refuse == nil, func(s *settings) { s.refusal = refuse })
}

// Observe adds a function that hears of each decision, before anything of it is
// sent, and of each refund. Requests wait for it.
func Observe(observe func(r *http.Request, what Report)) Option {
	return given("Observe", observe == nil, func(s *settings) { s.observers = append(s.observers, observe) })
}

// Logger writes errors of the limiter, as warnings, at most one a second.
// Without it nothing is logged.
func Logger(l *slog.Logger) Option {
	return given("Logger", l == nil, func(s *settings) { s.logger = l })
}

// SharedKey lets all requests without a key share this one. Without it they are
// answered with status 400.
func SharedKey(key string) Option {
	return given("SharedKey", key == "", func(s *settings) { s.sharedKey = key })
}

// Shadow decides, takes tokens and calls the functions given to [Observe], but sends no header and
// refuses no request. At least one such function is needed.
func Shadow() Option { return given("Shadow", false, func(s *settings) { s.shadow = true }) }

// Timeout bounds the wait for a decision, and the one for a refund. A limiter's
// own ratelimiter.WithFallback has to come sooner to have an effect. The
// default is half a second.
func Timeout(d time.Duration) Option {
	return option(func(s *settings) error {
		if d <= 0 {
			return fmt.Errorf("%w: a timeout of %v: it must be positive", ratelimiter.ErrInvalidArgument, d)
		}
		s.timeout = d
		return nil
	})
}

// WithRetryJitter adds a random number of whole seconds, up to d, to the Retry-After of each
// refusal. Clients that were refused at the same time then come back at different times. A client
// that heeds it waits longer than it had to, by half of d in the mean. The t of [Draft11] stays as
// it is. Without it nothing is added.
func WithRetryJitter(d time.Duration) Option {
	return option(func(s *settings) error {
		if d < time.Second {
			return fmt.Errorf("%w: a jitter of %v: Retry-After is in seconds", ratelimiter.ErrInvalidArgument, d)
		}
		s.jitter = d
		return nil
	})
}
