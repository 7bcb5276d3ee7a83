package ratelimiter

import (
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/combine"
)

type (
	call  = combine.Call[ask, answer]
	batch = []*call
)

// cut is how many of the waiting calls go out as one: those by the same rules
// and bounds of debt, in no more than maxRuns runs.
func cut(waiting batch) int {
	runs := 0
	var last, owing *ask
	for i, c := range waiting {
		a := &c.Ask
		if !a.sameBuckets(&waiting[0].Ask) {
			return i
		}
		if !a.Counts() {
			continue
		}
		if a.Debt > 0 {
			if owing != nil && !a.sameDebts(owing) {
				return i
			}
			owing = a
		}
		if last == nil || !a.alike(last) {
			if runs++; runs > bucket.MaxRuns {
				return i
			}
		}
		last = a
	}
	return len(waiting)
}

// sameBuckets reports whether both are about the same ones, whatever they are
// called, by the same rules.
func (a *ask) sameBuckets(b *ask) bool {
	if len(a.all) != len(b.all) {
		return false
	}
	for i := range a.members() {
		if x, y := a.of(i), b.of(i); x.state != y.state || x.r.Generation != y.r.Generation {
			return false
		}
	}
	return true
}

func (a *ask) sameDebts(b *ask) bool {
	for i := range a.members() {
		if a.of(i).debt != b.of(i).debt {
			return false
		}
	}
	return true
}

// send is one exchange for a batch of one rule. Once the client closes, only what
// callers that have left were granted still goes back.
func (h *hub) send(_ string, b batch) error {
	err := h.e.Open()
	if err == nil {
		return h.follow(b)
	}
	back := refunds(b)
	if len(back) == 0 {
		return err
	}
	lost := h.follow(back)
	if lost == nil && len(back) == len(b) {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrUnknown, errors.Join(err, lost)) // whoever refunds must not think that nothing was sent
}

func refunds(b batch) (back batch) {
	for _, one := range b {
		if one.Ask.Kind == bucket.Refund {
			back = append(back, one)
		}
	}
	return back
}

// follow is an exchange by the rules in force, also if one has just changed.
func (h *hub) follow(b batch) error {
	x := newExchange(&b[0].Ask)
	defer x.free()
	for {
		x.load(b, h.e.Mono())
		err := x.run(h.e)
		x.forgetDenials() // also if the reply was lost
		if err == nil {
			x.deal(b)
		}
		if !errors.Is(err, errStale) {
			return err
		}
		if err = x.renew(); err != nil {
			return err
		}
	}
}

// forgetDenials is for what was given back.
func (x *exchange) forgetDenials() {
	for i := range x.members {
		if x.members[i].credit > 0 {
			x.members[i].core.standby.Refilled(x.members[i].state, x.members[i].core.e.Mono())
		}
	}
}

// renew reads the rules again, after somebody has decided by a newer one. If
// there is none, that rule is gone: a failover or a clock set back has made an
// older one the newest, and the buckets adopt it. A rule that travels with the
// call stays.
func (x *exchange) renew() error {
	x.adopt = true
	for i := range x.members {
		m := &x.members[i]
		if m.Generation < 0 {
			continue
		}
		now, err := m.core.refresh() // not one that was under way
		if err != nil {
			return err
		}
		x.adopt = x.adopt && now.Generation <= m.Generation
		m.Rule = now
	}
	return nil
}

// giveBackTokens makes a refund that nobody waits for. Like giveBack, it is
// called by tasks that Close waits for.
func (h *hub) giveBackTokens(p part) {
	a := p.alone(bucket.Refund)
	if !h.table.Post(p.state, a) {
		_ = h.follow(batch{{Ask: a}})
	}
}

// left gives back what was granted to a caller that did not wait for it. A
// charge stands: it is for what was used already.
func (h *hub) left(_ string, a ask, got answer) { h.undo(&a, &got, h.e.Mono()) }

// undo gives back what was answered at a time.
func (h *hub) undo(a *ask, got *answer, answered time.Duration) {
	for i := range a.members() {
		p := a.of(i)
		if got.ok && a.Kind == bucket.Reserve {
			h.giveBack(p, *got.of(i), bucket.Later(answered, got.of(i).Delay()))
			continue
		}
		if !got.ok || a.Kind != bucket.Take {
			p.n = 0
		}
		p.r, p.n = got.of(i).Rule, p.n*got.taken+got.extra
		if p.n > 0 {
			h.standby.Refilled(p.state, h.e.Mono())
			h.giveBackTokens(p)
		}
	}
}
