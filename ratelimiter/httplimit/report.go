package httplimit

import (
	"fmt"
	"net/http"

	"github.com/rueidisson/rueidisson/ratelimiter"
)

// Report is what became of a request.
type Report struct {
	// Outcome is what was done with it.
	Outcome Outcome

	// Key is whose request it is, "" if that is not known. Unless it was
	// made by [ByIP], or by [ByHeader] without [Plain], it may be a secret.
	Key string

	// Cost is how many tokens it took or wanted.
	Cost int64

	// Limits are the decisions, in the order of the limits. There are none if
	// nobody could decide; and there may be none if Never is set and the limits
	// could not be asked about it.
	Limits []Limit

	// Never says that it was refused for a cost that no full bucket has.
	Never bool

	// Shadow says that nothing of this was done; see the option of that name.
	Shadow bool

	// Err is why there is no key, no cost or no decision, or why tokens could
	// not be given back.
	Err error
}

// Limit is the decision of one limit. If there are several, Allowed says whether
// this one alone would have granted.
type Limit struct {
	Name string // as clients see it
	ratelimiter.Decision
}

// Outcome is what became of a request.
type Outcome int

const (
	// Allowed requests are passed on.
	Allowed Outcome = iota
	// Refused requests are answered with 429.
	Refused
	// NoKey is a request without a key, answered with 400.
	NoKey
	// NoCost is a request whose cost is below 0, answered with 400.
	NoCost
	// Undecided is what the [Failure] is for.
	Undecided
	// Refunded comes after Allowed, by [RefundIf].
	Refunded
	// Gone is a client that did not wait for the decision. Only under [Shadow]
	// it is reported, as the request is passed on there.
	Gone
	// Charged comes after Allowed, by [Charge]; Cost is the whole then.
	Charged
)

// String returns the outcome in words, such as "no key".
func (o Outcome) String() string {
	names := [...]string{"allowed", "refused", "no key", "no cost", "undecided", "refunded", "gone", "charged"}
	if o < 0 || int(o) >= len(names) {
		return fmt.Sprintf("Outcome(%d)", int(o))
	}
	return names[o]
}

// Violated returns the names of the limits that did not grant.
func (p Report) Violated() (names []string) {
	for _, l := range p.Limits {
		if !l.Allowed && !p.unasked(l) {
			names = append(names, l.Name)
		}
	}
	return names
}

// unasked reports whether only the rate of the limit is known: another limit of the request is
// paused, so that the server was not asked. A limit that refuses has a time.
func (p Report) unasked(l Limit) bool {
	return !l.Allowed && l.RetryAfter == 0 && !p.Never && !l.banned()
}

// banned reports whether the limit's rate grants nothing, ever.
func (l Limit) banned() bool { return l.Rate.N == 0 && l.Rate.Per > 0 }

// closed reports whether it was refused because nobody could be asked, and not
// for anybody's quota.
func (p Report) closed() bool {
	refusals := 0
	for _, l := range p.Limits {
		if l.Allowed {
			continue
		}
		if !l.Fallback || l.known() {
			return false
		}
		refusals++
	}
	return p.Outcome == Refused && refusals > 0
}

func (m *middleware) observe(r *http.Request, p Report) {
	for _, observe := range m.observers {
		observe(r, p)
	}
	if m.logger == nil || p.Err == nil {
		return
	}
	if p.Outcome == NoKey || p.Outcome == NoCost || p.Outcome == Gone { // the client did it, and not the limiter
		return
	}
	key := "shared"
	if m.sharedKey == "" || p.Key != m.sharedKey {
		key = m.key.Redact(p.Key)
	}
	m.log.Warn(r.Context(), m.logger, m.limits[0].Name(), key, p.Outcome.String(), p.Err)
}
