package httplimit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/admission"
)

// New returns middleware that asks lim about each request, under the key that key finds for it.
// failure handles requests without a decision. The package comment describes the responses.
//
// It does no I/O, so a limiter without a rate is detected at the first request. The middleware may
// be used for any number of handlers, which share the limit. Errors:
// [ratelimiter.ErrInvalidArgument], for a nil limiter, a zero or unusable key, a nil failure and
// options that cannot be used.
func New(lim *ratelimiter.Limiter, key Key, failure Failure, opts ...Option) (func(http.Handler) http.Handler, error) {
	m := &middleware{limits: []*ratelimiter.Limiter{lim}, key: key, failure: failure, settings: settings{
		headers: Draft11,
		cost:    func(*http.Request) int64 { return 1 },
		refusal: func(w http.ResponseWriter, _ *http.Request, refused Report) { exceeded(refused).write(w) },
		timeout: defaultTimeout,
	}}
	err := m.configure(opts)
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return nil, fmt.Errorf("httplimit: %w", err)
	}
	m.names, m.gate = m.policies(), admission.NewGate(m.limits, m.tried, m.shadow, m.timeout)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, next) })
	}, nil
}

// middleware is what all handlers have in common that one New was for.
type middleware struct {
	limits  []*ratelimiter.Limiter
	names   []string // of the limits, as clients see them
	key     Key
	failure Failure
	log     admission.Quiet
	gate    *admission.Gate
	settings
}

func (m *middleware) check() error {
	m.limits = append(m.limits, m.more...)
	switch {
	case slices.Contains(m.limits, nil):
		return fmt.Errorf("%w: a nil limiter", ratelimiter.ErrInvalidArgument)
	case m.key.bad != nil:
		return m.key.bad
	case m.key.of == nil:
		return fmt.Errorf("%w: no key: use ByIP, ByHeader or By", ratelimiter.ErrInvalidArgument)
	case m.failure == nil:
		return fmt.Errorf("%w: no failure: use FailOpen, FailClosed or FailWith", ratelimiter.ErrInvalidArgument)
	case m.shadow && len(m.observers) == 0:
		return fmt.Errorf("%w: Shadow without Observe would show nothing", ratelimiter.ErrInvalidArgument)
	case m.aliases != nil && len(m.aliases) != len(m.limits):
		return fmt.Errorf("%w: %d policy names for %d limits", ratelimiter.ErrInvalidArgument, len(m.aliases), len(m.limits))
	}
	return m.failure.check()
}

// policies returns the names of the limits in headers and bodies.
func (m *middleware) policies() []string {
	names := make([]string, len(m.limits))
	for i, l := range m.limits {
		names[i] = l.Name()
		if m.aliases != nil {
			names[i] = m.aliases[i]
		}
		names[i] = printable(names[i])
	}
	return names
}

// serve serves one request, from its cost to its refund.
func (m *middleware) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	cost := m.cost(r)
	if cost == 0 {
		m.pass(w, r, next, &ticket{m: m})
		return
	}
	t := m.ask(r, cost)
	if m.shadow {
		m.observe(r, t.Report)
		m.pass(w, r, next, t)
		return
	}
	m.settle(w, r, next, t)
}

// settle does what the decision says.
func (m *middleware) settle(w http.ResponseWriter, r *http.Request, next http.Handler, t *ticket) {
	if t.Outcome != Gone {
		m.observe(r, t.Report)
	}
	switch t.Outcome {
	case Allowed:
		m.headers.set(w.Header(), r, t.Report)
		m.pass(w, r, next, t)
	case Refused:
		m.refuse(w, r, t.Report)
	case NoKey:
		noKey.write(w)
	case NoCost:
		noCost.write(w)
	case Gone:
		// An empty response would be a 200 to a client that still listens.
		unavailable.write(w)
	case Undecided:
		with, served := t.carry(r)
		defer served()
		m.failure.serve(w, with, next, t.Err)
	}
}

// refuse answers in place of the handler.
func (m *middleware) refuse(w http.ResponseWriter, r *http.Request, refused Report) {
	if refused.closed() {
		unavailable.write(w)
		return
	}
	m.headers.set(w.Header(), r, refused)
	if wait := retryAfter(refused); wait > 0 {
		wait = min(wait+rand.Int64N(int64(m.jitter/time.Second)+1), largest)
		w.Header().Set("Retry-After", decimal(wait))
	}
	m.refusal(w, r, refused)
}

// pass hands the request on, and gives back what the response says.
func (m *middleware) pass(w http.ResponseWriter, r *http.Request, next http.Handler, t *ticket) {
	with, served := t.carry(r)
	defer served()
	if m.refundIf == nil || !t.taken.Refundable() {
		next.ServeHTTP(w, with)
		return
	}
	rec, returned := &recorder{ResponseWriter: w}, false
	defer func() {
		if !returned {
			rec.note(http.StatusInternalServerError)
		}
		rec.note(http.StatusOK)
		if !m.refundIf(Response{Request: with, Status: rec.status, Header: rec.Header()}) {
			return
		}
		done := t.Report
		done.Outcome, done.Err = Refunded, t.taken.GiveBack(with.Context())
		m.observe(with, done)
	}()
	next.ServeHTTP(rec.asCapableAs(w), with)
	returned = true
}

var (
	// ErrNoKey is what a key function returns, on its own or wrapped, if a
	// request has no key. Any other error of a key function means the same.
	ErrNoKey = errors.New("the request has no key")

	// ErrNoCost is in the [Report] about a request whose cost is below 0.
	ErrNoCost = errors.New("the request has no cost")
)
