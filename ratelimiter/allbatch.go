package ratelimiter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/engine"
)

type (
	allTable = combine.Table[string, allAsk, allAnswer]
	allCall  = combine.Call[allAsk, allAnswer]
)

// allAsk is what one caller wants of several buckets.
type allAsk struct {
	members []*Bucket
	states  []string
	rules   []*rule
	n       []int64 // tokens, for each member
	debts   []int64 // the most that each may owe
	kind    kind
	until   time.Duration
}

// alike reports whether two asks on the same buckets may be one run.
func (q *allAsk) alike(p *allAsk) bool {
	return q.kind == p.kind && q.until == p.until && slices.Equal(q.n, p.n) && slices.Equal(q.debts, p.debts) && slices.EqualFunc(q.rules, p.rules, sameRule)
}

func sameRule(r, s *rule) bool { return r.generation == s.generation }

// paused is the answer while a member is paused.
func (q *allAsk) paused() (AllDecision, bool) {
	if !slices.ContainsFunc(q.rules, func(r *rule) bool { return r.paused }) {
		return AllDecision{}, false
	}
	d := AllDecision{}
	for _, r := range q.rules {
		one := pausedDecision(r)
		if !r.paused {
			one = Decision{Limit: r.Burst, Rate: r.Rate}
		}
		d.Members = append(d.Members, one)
	}
	d.Decision = tightest(d.Members, false)
	return d, true
}

// allAnswer is the buckets as one ask left them.
type allAnswer []answer

// ok reports whether all granted.
func (as allAnswer) ok() bool { return as[0].ok }

// exceed is the error of a refusal that no wait would end.
func (as allAnswer) exceed(n []int64) error {
	for i, a := range as {
		if n[i] > a.r.Burst {
			return exceedsBurst(n[i], a.r)
		}
	}
	return nil
}

func (as allAnswer) decision(n []int64) AllDecision {
	d := AllDecision{Members: make([]Decision, len(as))}
	for i, a := range as {
		if !a.ok { // the whole was not granted, this one alone might have been
			a.ok = a.block == 0 && a.q+a.r.ticks(n[i]) <= a.r.full
		}
		d.Members[i] = a.decision(n[i])
	}
	d.Decision = tightest(d.Members, as.ok())
	return d
}

// tightest is what several decisions say together.
func tightest(all []Decision, allowed bool) Decision {
	d := all[0]
	for _, one := range all[1:] {
		if one.Remaining < d.Remaining {
			d.Remaining, d.Limit, d.Rate = one.Remaining, one.Limit, one.Rate
		}
		d.Paused = d.Paused || one.Paused
		d.RetryAfter, d.ResetAfter = max(d.RetryAfter, one.RetryAfter), max(d.ResetAfter, one.ResetAfter)
	}
	d.Allowed = allowed
	return d
}

// delay is how long the longest of the reservations has to wait.
func (as allAnswer) delay() (longest time.Duration) {
	for _, a := range as {
		longest = max(longest, a.delay())
	}
	return longest
}

// refused is why the reservations were.
func (as allAnswer) refused(q allAsk, now time.Duration) error {
	worst, latest := 0, time.Duration(-1)
	for i, a := range as {
		if delay := a.enough(q.n[i]); delay > latest {
			worst, latest = i, delay
		}
	}
	return fmt.Errorf("%v: %w", q.members[worst], as[worst].refused(q.n[worst], q.until, now))
}

// giveBack cancels the reservations.
func (as allAnswer) giveBack(q allAsk) {
	for i, b := range q.members {
		b.core.giveBack(b.state, q.n[i], as[i])
	}
}

// allSender sends the calls on the Combined limits of one engine.
type allSender struct{ e *engine.Engine }

type allKey struct{}

func allTableOf(e *engine.Engine) *allTable {
	s := allSender{e}
	return e.Shared(allKey{}, func() any {
		return combine.New(combine.Config[string, allAsk, allAnswer]{
			Send: s.send, Cut: cutAll, Left: s.left, Spawn: e.Spawn, Closed: ErrClosed, Flights: flights,
		})
	}).(*allTable)
}

// cutAll lets equal calls go out as one.
func cutAll(waiting []*allCall) int {
	for i, c := range waiting {
		if !c.Ask.alike(&waiting[0].Ask) {
			return i
		}
	}
	return len(waiting)
}

func (s allSender) send(_ string, b []*allCall) error {
	if err := s.e.Open(); err != nil {
		return err
	}
	q, adopt := b[0].Ask, false
	for {
		numbers, err := s.decide(&q, adopt, len(b))
		if err == nil {
			q.deal(b, numbers)
			return nil
		}
		if !errors.Is(err, errStale) {
			return err
		}
		if q.rules, adopt, err = q.newer(); err != nil {
			return err
		}
	}
}

// newer is core.newer for all members. A rule that travels with the call stays.
func (q *allAsk) newer() (rules []*rule, adopt bool, err error) {
	adopt = true
	for i, b := range q.members {
		r := b.own
		if r == nil {
			old := true
			if r, old, err = b.core.newer(q.rules[i]); err != nil {
				return nil, false, err
			}
			adopt = adopt && old
		}
		rules = append(rules, r)
	}
	return rules, adopt, nil
}

// decide asks for calls equal requests.
func (s allSender) decide(q *allAsk, adopt bool, calls int) ([]int64, error) {
	var args []string
	for i, r := range q.rules {
		x := exchange{rule: r, owed: q.debts[i], adopt: adopt}
		args = append(args, x.member()...)
	}
	first := ask{kind: q.kind, until: q.until}
	args = append(args, decimal(int64(calls)), decimal(first.wait(s.e.Now().Mono)))
	for i, r := range q.rules {
		args = append(args, r.cost(q.kind, q.n[i]))
	}
	got, err := s.e.Run(context.Background(), decideScript, q.states, args)
	if err != nil {
		return nil, told(err)
	}
	numbers, err := got.AsIntSlice()
	switch {
	case err == nil && len(numbers) == 1:
		return nil, errStale
	case err != nil || len(numbers) != 2+3*len(q.rules):
		return nil, fmt.Errorf("decide.lua said %v: %w", numbers, errors.Join(err, ErrUnknown))
	}
	return numbers, nil
}

// deal gives the calls their answers, in order: the first k were granted.
func (q *allAsk) deal(b []*allCall, numbers []int64) {
	now, granted := numbers[0], numbers[len(numbers)-1]
	for i, c := range b {
		as := make(allAnswer, len(q.rules))
		ahead := max(0, granted-int64(i)-1) // calls behind this one that were granted, too
		for j, r := range q.rules {
			missing, t, block := numbers[1+3*j], numbers[2+3*j], numbers[3+3*j]
			as[j] = answer{
				ok: int64(i) < granted, r: r, q: missing - ahead*r.ticks(q.n[j]), t: t, late: t - now, block: max(0, block-now),
			}
		}
		c.Answer = as
	}
}

// left gives back what was granted to a caller that did not wait for it.
func (s allSender) left(_ string, q allAsk, as allAnswer) {
	if !as.ok() {
		return
	}
	if q.kind == reserve {
		as.giveBack(q)
		return
	}
	for i, b := range q.members {
		b.core.forgetDenial(b.state)
		b.core.table.Post(b.state, ask{r: as[i].r, n: q.n[i], kind: refund})
	}
}
