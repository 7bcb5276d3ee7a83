package exchange

import (
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
)

type (
	call  = combine.Call[Ask, Answer]
	batch = []*call
)

// cut returns how many of the waiting calls go out as one: those by the same rules
// and bounds of debt, in no more than bucket.MaxRuns runs.
func cut(waiting batch) int {
	runs := 0
	var last, owing *Ask
	for i, c := range waiting {
		a := &c.Ask
		if !a.agree(&waiting[0].Ask, sameBucket) {
			return i
		}
		if !a.Counts() {
			continue
		}
		if a.Debt > 0 {
			if owing != nil && !a.agree(owing, func(x, y Part) bool { return x.debt == y.debt }) {
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

// sameBucket reports whether both are about one, whatever it is called, by the same rule.
func sameBucket(x, y Part) bool {
	return x.state == y.state && x.Rule.Generation == y.Rule.Generation
}

// agree reports whether two asks are about as many buckets, and agree about each of them.
func (a *Ask) agree(b *Ask, about func(x, y Part) bool) bool {
	if a.Members() != b.Members() {
		return false
	}
	for i := range a.Members() {
		if !about(a.Of(i), b.Of(i)) {
			return false
		}
	}
	return true
}

// send makes one exchange for a batch of one rule. Once the client closes, only what
// callers that have left were granted still goes back.
func (h *hub) send(_ string, b batch) error {
	err := h.Engine.Open()
	if err == nil {
		return h.follow(b)
	}
	var back batch
	for _, one := range b {
		if one.Ask.Kind == bucket.Refund {
			back = append(back, one)
		}
	}
	if len(back) == 0 {
		return err
	}
	lost := h.follow(back)
	if lost == nil && len(back) == len(b) {
		return nil
	}
	return fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, errors.Join(err, lost)) // whoever refunds must not think that nothing was sent
}

// follow makes an exchange by the rules in force, also if one has just changed.
func (h *hub) follow(b batch) error {
	x := newExchange(&b[0].Ask)
	defer x.free()
	for {
		x.load(b, h.Engine.Mono())
		err := x.run(h.Engine)
		for i := range x.members { // also if the reply was lost
			if m := &x.members[i]; m.credit > 0 {
				m.core.Standby.Refilled(m.state, m.core.Engine.Mono()) // what was denied may be there again
			}
		}
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
		now, err := m.core.Refresh() // not one that was under way
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
func (h *hub) giveBackTokens(p Part) {
	a := p.Alone(bucket.Refund)
	if !h.Table.Post(p.state, a) {
		_ = h.follow(batch{{Ask: a}})
	}
}

// Return gives tokens of a bucket back, and nobody waits for it.
func (c *Core) Return(state string, r *bucket.Rule, n int64) {
	c.giveBackTokens(Part{core: c, state: state, Rule: r, N: n})
}

// Left gives back what was granted to a caller that did not wait for it. A
// charge stands: it is for what was used already.
func (h *hub) Left(_ string, a Ask, got Answer) { h.undo(&a, &got, h.Engine.Mono()) }

// undo gives back what was answered at a time.
func (h *hub) undo(a *Ask, got *Answer, answered time.Duration) {
	for i := range a.Members() {
		p := a.Of(i)
		if got.OK && a.Kind == bucket.Reserve {
			h.giveBack(p, *got.Of(i), bucket.Later(answered, got.Of(i).Delay()))
			continue
		}
		if !got.OK || a.Kind != bucket.Take {
			p.N = 0
		}
		p.Rule, p.N = got.Of(i).Rule, p.N*got.Taken+got.Extra
		if p.N > 0 {
			h.Standby.Refilled(p.state, h.Engine.Mono())
			h.giveBackTokens(p)
		}
	}
}
