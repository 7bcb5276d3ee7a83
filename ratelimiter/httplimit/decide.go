package httplimit

import (
	"fmt"
	"net/http"

	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/admission"
)

// ticket is the decision about one request, and what it was made of.
type ticket struct {
	Report
	m       *middleware
	request *http.Request     // as the handler was given it
	taken   *admission.Ticket // nil: no limit was asked
}

// outcomes are the outcomes of a gate.
var outcomes = map[admission.Outcome]Outcome{
	admission.Allowed: Allowed, admission.Refused: Refused, admission.Gone: Gone, admission.Undecided: Undecided,
}

// ask gets a decision about the request.
func (m *middleware) ask(r *http.Request, cost int64) *ticket {
	t := &ticket{Report: Report{Cost: cost, Shadow: m.shadow}, m: m}
	if cost < 0 {
		t.Outcome, t.Err = NoCost, fmt.Errorf("%w: %d", ErrNoCost, cost)
		return t
	}
	key, err := m.key.Of(r)
	if err != nil && m.sharedKey != "" {
		key, err = m.sharedKey, nil
	}
	if err != nil {
		t.Outcome, t.Err = NoKey, err
		return t
	}
	var rule admission.Rule
	if m.rule != nil {
		rule = func(l *ratelimiter.Limiter) (ratelimiter.Rate, bool) { return m.rule(r, l) }
	}
	t.Key, t.taken = key, m.gate.Ask(r.Context(), key, cost, rule)
	t.Outcome, t.Never, t.Err = outcomes[t.taken.Outcome], t.taken.Never, t.taken.Err
	t.Limits = make([]Limit, len(t.taken.Decisions))
	for i, d := range t.taken.Decisions {
		t.Limits[i] = Limit{Name: m.names[i], Decision: d}
	}
	return t
}
