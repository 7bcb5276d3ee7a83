package exchange

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// exchange is one script call: what a batch asks of one bucket, or of several at
// once. Exchanges are used again, since a call is cheap enough for its memory to
// count.
type exchange struct {
	members []member
	runs    []run
	keys    []string
	args    []string
	extra   int64 // single tokens to take along: the last run, which is no call's
	adopt   bool  // also states of newer rules
	now     int64 // the answer's time
}

// member is one of the buckets of an exchange.
type member struct {
	*bucket.Rule
	core   *Core
	state  string
	credit int64 // ticks
	owed   int64 // the most tokens of debt, 0 if nothing may be owed

	q, t  int64 // the answer
	block int64 // until when, 0 if not blocked
}

// run is neighbours in a batch that want the same.
type run struct {
	*Ask
	calls int64 // or what such a call would be: an ask for up to some counts as so many
	wait  int64 // µs
	k     int64 // how many were granted
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// newExchange returns an exchange about the buckets of an ask, by its rules.
func newExchange(first *Ask) *exchange {
	x := exchanges.Get().(*exchange)
	for i := range first.Members() {
		p := first.Of(i)
		x.members = append(x.members, member{Rule: p.Rule, core: p.core, state: p.state})
	}
	return x
}

// free keeps the exchange for the next one.
func (x *exchange) free() {
	clear(x.members)
	clear(x.runs)
	*x = exchange{members: x.members[:0], runs: x.runs[:0], keys: x.keys[:0], args: x.args[:0]}
	exchanges.Put(x)
}

// load puts the batch into runs, by the rules of now.
func (x *exchange) load(b batch, now time.Duration) {
	x.runs, x.keys, x.extra = x.runs[:0], x.keys[:0], 0
	for i := range x.members {
		m := &x.members[i]
		m.credit, m.owed = 0, 0
		if !m.Settled() {
			x.keys = append(x.keys, m.state)
		}
	}
	barred := x.barred()
	for _, c := range b {
		x.add(&c.Ask, now, barred)
	}
	if x.extra > 0 && !barred {
		x.runs = append(x.runs, run{Ask: &oneMore, calls: x.extra, wait: ifNoneRefused})
	}
}

// barred reports whether a member grants nothing.
func (x *exchange) barred() bool {
	for i := range x.members {
		if x.members[i].None() {
			return true
		}
	}
	return false
}

var oneMore = Ask{Want: bucket.Want{N: 1}}

// ifNoneRefused is the wait of tokens that are only to be taken along.
const ifNoneRefused = -2

func (x *exchange) add(a *Ask, now time.Duration, barred bool) {
	for i := range x.members {
		m, p := &x.members[i], a.Of(i)
		if a.Kind == bucket.Refund {
			m.credit = min(bucket.Exact-1, m.credit+m.Ticks(p.N))
		}
		m.owed = max(m.owed, p.debt)
	}
	x.extra = max(x.extra, a.Extra)
	switch last := len(x.runs) - 1; {
	case !a.Counts() || barred:
	case last >= 0 && x.runs[last].alike(a) && x.runs[last].calls+a.Requests() < bucket.Exact:
		x.runs[last].calls += a.Requests()
	default:
		x.runs = append(x.runs, run{Ask: a, calls: a.Requests(), wait: a.Wait(now)})
	}
}

// errStale says that somebody decided by a newer rule already.
var errStale = errors.New("the rule has changed")

// lean reports whether take.lua will do.
func (x *exchange) lean() bool {
	return len(x.members) == 1 && len(x.keys) == 1 && len(x.runs) == 1 && x.runs[0].Kind == bucket.Take && x.members[0].credit == 0 && !x.adopt
}

func (x *exchange) run(e *locking.Engine) error {
	if len(x.keys) == 0 { // nobody is to be asked
		for i := range x.runs {
			x.runs[i].k = x.runs[i].calls
		}
		return nil
	}
	if x.lean() {
		done, err := x.take(e)
		if done || err != nil {
			return err
		}
	}
	return x.decide(e)
}

// take tries the lean script. It is not done if that does not know the state.
func (x *exchange) take(e *locking.Engine) (done bool, err error) {
	m, only := &x.members[0], &x.runs[0]
	x.args = append(x.args[:0], equal(m.Rule, only.N, only.calls))
	answer, err := x.send(e, takeScript)
	switch {
	case err != nil || answer.Nil:
		return false, told(err)
	case answer.IsString():
		text, err := answer.ToString()
		if err != nil || len(text) != 4*bucket.Width {
			return false, fmt.Errorf("take.lua said %q: %w", text, errors.Join(err, core.ErrOutcomeUnknown))
		}
		m.q, m.t = bucket.Unpack(text, 2)*m.PerToken+bucket.Unpack(text, 3), bucket.Unpack(text, 1)
		x.now, only.k = m.t, only.calls
		return true, nil
	}
	numbers, err := answer.AsIntSlice()
	if err != nil || len(numbers) != 4 {
		return false, fmt.Errorf("take.lua said %v: %w", numbers, errors.Join(err, core.ErrOutcomeUnknown))
	}
	m.q, m.t, x.now, only.k = numbers[0], numbers[1], numbers[2], numbers[3]
	return true, nil
}

// decide asks the script that can all.
func (x *exchange) decide(e *locking.Engine) error {
	x.argue()
	answer, err := x.send(e, decideScript)
	if err != nil {
		return told(err)
	}
	numbers, err := answer.AsIntSlice()
	switch {
	case err == nil && len(numbers) == 1:
		return errStale
	case err != nil || len(numbers) != 1+3*len(x.keys)+len(x.runs):
		return fmt.Errorf("decide.lua said %v: %w", numbers, errors.Join(err, core.ErrOutcomeUnknown))
	}
	x.read(numbers)
	return nil
}

// argue writes the arguments of decide.lua.
func (x *exchange) argue() {
	x.args = x.args[:0]
	for i := range x.members {
		if m := &x.members[i]; !m.Settled() {
			x.args = m.argue(x.args, x.adopt)
		}
	}
	for i := range x.runs {
		one := &x.runs[i]
		x.args = append(x.args, bucket.Decimal(one.calls), bucket.Decimal(one.wait))
		for j := range x.members {
			switch m, n := &x.members[j], one.Of(j).N; {
			case m.Settled():
			case n == 1:
				x.args = append(x.args, m.Texts.PerToken)
			default:
				x.args = append(x.args, bucket.Decimal(costs(m.Rule, one.Kind, n)))
			}
		}
	}
}

// argue writes the eight numbers by which decide.lua knows a bucket.
func (m *member) argue(args []string, adopt bool) []string {
	s := &m.Texts
	reset, owed := s.Reset, min(m.owed, m.Debt)
	if adopt {
		reset = "-1"
	}
	if owed == 0 { // what is owed already stays
		owed = m.Debt
	}
	return append(args, s.Generation, reset, s.Gain, s.PerToken, s.Full, s.Unit, bucket.Decimal(m.Ticks(owed)), bucket.Decimal(m.credit))
}

// read takes what decide.lua said.
func (x *exchange) read(numbers []int64) {
	x.now, numbers = numbers[0], numbers[1:]
	for i := range x.members {
		if m := &x.members[i]; !m.Settled() {
			m.q, m.t, m.block, numbers = numbers[0], numbers[1], numbers[2], numbers[3:]
		}
	}
	for i := range x.runs {
		x.runs[i].k = numbers[i]
	}
}

func (x *exchange) send(e *locking.Engine, s *scripts.Script) (send.Answer, error) {
	return e.Run(context.Background(), s, x.keys, x.args)
}

// equal returns the argument of take.lua for calls for n tokens each.
func equal(r *bucket.Rule, n, calls int64) string {
	if n == 1 && calls == 1 {
		return r.Texts.One
	}
	return r.Texts.One[:5*bucket.Width] + bucket.Pack(costs(r, bucket.Take, n), calls)
}

// costs returns the ticks of n tokens.
func costs(r *bucket.Rule, k bucket.Kind, n int64) int64 {
	if n > r.Burst && k != bucket.Charge { // the burst was larger when it was asked for
		return never
	}
	return r.Ticks(n)
}

// never is more ticks than are ever there.
const never = bucket.Exact

// deal gives the calls their answers, in order: the first k of a run were
// granted, each on top of those before it.
func (x *exchange) deal(b batch) {
	for i := range x.members { // the answer is the state after all runs: this turns it back to the one before
		m := &x.members[i]
		for j := range x.runs {
			m.q -= x.runs[j].k * m.Ticks(x.runs[j].Of(i).N)
		}
	}
	extra, barred := int64(0), x.barred()
	if x.extra > 0 && !barred {
		extra = x.runs[len(x.runs)-1].k
	}
	at, served := -1, int64(0)
	for _, c := range b {
		granted := int64(0)
		if barred && c.Ask.Kind == bucket.Charge {
			granted = 1
		}
		if c.Ask.Counts() && !barred {
			if at < 0 || served == x.runs[at].calls {
				at, served = at+1, 0
			}
			granted = min(max(0, x.runs[at].k-served), c.Ask.Requests())
			served += c.Ask.Requests()
		}
		c.Answer = x.answer(&c.Ask, granted)
		c.Answer.Together = len(b)
		if c.Ask.Extra > 0 {
			c.Answer.Extra, extra = extra, 0
		}
	}
}

// answer returns that of one call, after those before it, of whose requests so many
// were granted.
func (x *exchange) answer(a *Ask, granted int64) (got Answer) {
	if a.All != nil {
		got.all = make([]bucket.State, len(a.All))
	}
	there := true
	for i := range x.members {
		m, b, n := &x.members[i], got.Of(i), a.Of(i).N
		if m.Settled() {
			*b, there = bucket.State{Rule: m.Rule}, there && m.Unlimited()
			continue
		}
		m.q += granted * m.Ticks(n)
		// Before a reservation under a block moved the bucket on, it was another count.
		*b = bucket.State{Rule: m.Rule, Missing: max(0, m.q), AsOf: m.t, Late: m.t - x.now, Block: max(0, m.block-x.now)}
		there = there && m.q+m.Ticks(n) <= m.Full && b.Block == 0
	}
	got.State = *got.Of(0)
	got.Taken = granted
	got.OK = granted > 0 || a.Kind == bucket.Refund || a.Kind == bucket.Peek && there
	return got
}
