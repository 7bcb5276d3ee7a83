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

// alike reports whether two asks may be one run.
func (q *allAsk) alike(p *allAsk) bool {
	return q.kind == p.kind && q.until == p.until && slices.Equal(q.n, p.n) && slices.Equal(q.states, p.states) &&
		slices.Equal(q.debts, p.debts) && slices.EqualFunc(q.rules, p.rules, sameRule)
}

func sameRule(r, s *rule) bool { return r.generation == s.generation }

// undoable reports whether what is granted is taken back if its caller has gone.
func (q *allAsk) undoable() bool { return q.kind == take || q.kind == reserve }

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
func (as allAnswer) exceed(q *allAsk) error {
	for i, a := range as {
		if q.n[i] > a.r.Burst {
			return fmt.Errorf("%v: %w", q.members[i], exceedsBurst(q.n[i], a.r))
		}
	}
	return nil
}

// unexpected is the error of a member whose rate has become another than it
// expects.
func (as allAnswer) unexpected(q *allAsk) error {
	for i, b := range q.members {
		if err := b.unexpected(as[i].r); err != nil {
			return fmt.Errorf("%v: %w", b, err)
		}
	}
	return nil
}

// couldGrant reports whether the bucket has n tokens, as the answer left it.
func (a answer) couldGrant(n int64) bool { return a.block == 0 && a.q+a.r.ticks(n) <= a.r.full }

// couldGrant reports whether all have what was asked for.
func (as allAnswer) couldGrant(n []int64) bool {
	for i, a := range as {
		if !a.couldGrant(n[i]) {
			return false
		}
	}
	return true
}

func (as allAnswer) decision(n []int64) AllDecision {
	d := AllDecision{Members: make([]Decision, len(as))}
	for i, a := range as {
		a.ok = a.ok || a.couldGrant(n[i]) // the whole was not granted, this one alone might have been
		d.Members[i] = a.decision(n[i])
	}
	d.Decision = tightest(d.Members, as.ok())
	return d
}

// tightest is what several decisions say together.
func tightest(all []Decision, allowed bool) Decision {
	d := all[0]
	for _, one := range all[1:] {
		if d.boundless() || !one.boundless() && one.Remaining < d.Remaining {
			d.Remaining, d.Limit, d.Rate = one.Remaining, one.Limit, one.Rate
		}
		d.Paused = d.Paused || one.Paused
		d.RetryAfter, d.ResetAfter = max(d.RetryAfter, one.RetryAfter), max(d.ResetAfter, one.ResetAfter)
	}
	d.Allowed = allowed
	return d
}

// boundless reports whether the decision is that of [Open], which counts
// nothing.
func (d *Decision) boundless() bool { return d.Allowed && d.Limit == 0 }

// delay is how long the longest of the reservations has to wait.
func (as allAnswer) delay() (longest time.Duration) {
	for _, a := range as {
		longest = max(longest, a.delay())
	}
	return longest
}

// refused is why the reservations were.
func (as allAnswer) refused(q *allAsk, now time.Duration) error {
	if err := as.exceed(q); err != nil {
		return err
	}
	worst, latest := 0, time.Duration(-1)
	for i, a := range as {
		if delay := a.enough(q.n[i]); delay > latest {
			worst, latest = i, delay
		}
	}
	return fmt.Errorf("%v: %w", q.members[worst], as[worst].refused(q.n[worst], q.until, now))
}

// giveBack cancels the reservations.
func (as allAnswer) giveBack(q *allAsk) {
	for i, b := range q.members {
		b.core.giveBack(b.state, q.n[i], as[i])
	}
}

// undo gives back what was granted.
func (as allAnswer) undo(q *allAsk) {
	if !as.ok() {
		return
	}
	if q.kind == reserve {
		as.giveBack(q)
		return
	}
	for i, b := range q.members {
		b.core.forgetDenial(b.state)
		b.core.giveBackTokens(b.state, ask{r: as[i].r, n: q.n[i], kind: refund})
	}
}

// allSender sends the calls on the Combined limits of one engine.
type allSender struct{ e *engine.Engine }

type allKey struct{}

func allTableOf(e *engine.Engine) *allTable {
	s := allSender{e}
	return e.Shared(allKey{}, func() any {
		return combine.New(combine.Config[string, allAsk, allAnswer]{
			Send: func(key string, _ int, b []*allCall) error { return s.send(key, b) },
			Cut:  cutAll, Left: s.left, Spawn: e.Spawn, Closed: ErrClosed, Flights: flights,
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
	if q.kind == refund {
		defer q.forgetDenials() // also if the reply was lost
	}
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

func (q *allAsk) forgetDenials() {
	for _, b := range q.members {
		b.core.forgetDenial(b.state)
	}
}

// decide asks for calls equal requests.
func (s allSender) decide(q *allAsk, adopt bool, calls int) ([]int64, error) {
	args := q.args(int64(calls), adopt, s.e.Now().Mono)
	got, err := s.e.Run(context.Background(), decideScript, q.states, args)
	if err != nil {
		return nil, told(err)
	}
	numbers, err := got.AsIntSlice()
	switch {
	case err == nil && len(numbers) == 1:
		return nil, errStale
	case err != nil || len(numbers) != 1+3*len(q.rules)+q.runs():
		return nil, fmt.Errorf("decide.lua said %v: %w", numbers, errors.Join(err, ErrUnknown))
	}
	return numbers, nil
}

// runs is how many runs of requests decide.lua gets: what takes nothing stands
// in none.
func (q *allAsk) runs() int {
	if q.undoable() {
		return 1
	}
	return 0
}

func (q *allAsk) args(calls int64, adopt bool, now time.Duration) (args []string) {
	for i, r := range q.rules {
		x := exchange{rule: r, owed: q.debts[i], adopt: adopt}
		if q.kind == refund {
			x.credit = times(r.ticks(q.n[i]), calls)
		}
		args = append(args, x.member()...)
	}
	if q.runs() == 0 {
		return args
	}
	first := ask{kind: q.kind, until: q.until}
	args = append(args, decimal(calls), decimal(first.wait(now)))
	for i, r := range q.rules {
		args = append(args, r.cost(q.kind, q.n[i]))
	}
	return args
}

// times is the ticks of so many calls, or what counts as infinitely many.
func times(ticks, calls int64) int64 {
	if ticks >= exact/calls {
		return exact - 1
	}
	return ticks * calls
}

// deal gives the calls their answers, in order: the first of them were granted
// what they asked for, as many as decide.lua says.
func (q *allAsk) deal(b []*allCall, numbers []int64) {
	granted := int64(0)
	if q.undoable() {
		granted = numbers[len(numbers)-1]
	}
	for i, c := range b {
		c.Answer = q.answer(numbers, granted-int64(i)-1, len(b))
	}
}

// answer is that of one call. behind is how many calls behind it were granted,
// too; below 0 it was not granted itself.
func (q *allAsk) answer(numbers []int64, behind int64, calls int) allAnswer {
	as, now := make(allAnswer, len(q.rules)), numbers[0]
	for i, r := range q.rules {
		missing, t, block := numbers[1+3*i], numbers[2+3*i], numbers[3+3*i]
		as[i] = answer{r: r, q: missing - max(0, behind)*r.ticks(q.n[i]), t: t, late: t - now, block: max(0, block-now), together: calls}
	}
	ok := behind >= 0
	switch q.kind {
	case refund:
		ok = true
	case peek:
		ok = as.couldGrant(q.n)
	}
	for i := range as {
		as[i].ok = ok
	}
	return as
}

// left gives back what was granted to a caller that did not wait for it.
func (s allSender) left(_ string, q allAsk, as allAnswer) {
	if q.undoable() {
		as.undo(&q)
	}
}
