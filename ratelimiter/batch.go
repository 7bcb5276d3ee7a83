package ratelimiter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

type (
	call  = combine.Call[ask, answer]
	batch = []*call
)

// maxRuns bounds the work of one script call.
const maxRuns = 32

// cut is how many of the waiting calls go out as one: those by the same rule
// and bound of debt, in no more than maxRuns runs.
func cut(waiting batch) int {
	runs := 0
	last := -1
	debt := int64(0)
	for i, c := range waiting {
		if c.Ask.r.generation != waiting[0].Ask.r.generation {
			return i
		}
		if !c.Ask.counts() {
			continue
		}
		if c.Ask.debt > 0 {
			if debt > 0 && c.Ask.debt != debt {
				return i
			}
			debt = c.Ask.debt
		}
		if last < 0 || !c.Ask.alike(&waiting[last].Ask) {
			if runs++; runs > maxRuns {
				return i
			}
		}
		last = i
	}
	return len(waiting)
}

// run is neighbours in a batch that want the same.
type run struct {
	ask
	calls int64
	wait  int64 // µs
	k     int64 // how many were granted
}

// exchange is one script call: what a batch asks of one bucket. Exchanges are
// used again, since a call is cheap enough for its memory to count.
type exchange struct {
	*rule
	runs   []run
	keys   [1]string
	args   []string
	credit int64 // ticks
	owed   int64 // the most tokens of debt, 0 if nothing may be owed
	extra  int64 // single tokens to take along: the last run, which is no call's
	adopt  bool  // also a state of a newer rule

	q, t, now int64 // the answer
	block     int64 // until when, 0 if not blocked
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

func newExchange(r *rule, b batch, now time.Duration) *exchange {
	x := exchanges.Get().(*exchange)
	x.rule = r
	for _, c := range b {
		switch a := &c.Ask; {
		case a.kind == refund:
			x.credit = min(exact-1, x.credit+r.ticks(a.n))
		case a.kind == peek:
		case len(x.runs) > 0 && x.runs[len(x.runs)-1].alike(a):
			x.runs[len(x.runs)-1].calls++
		default:
			x.runs = append(x.runs, run{ask: *a, calls: 1, wait: a.wait(now)})
		}
		x.owed, x.extra = max(x.owed, c.Ask.debt), max(x.extra, c.Ask.extra)
	}
	if x.extra > 0 {
		x.runs = append(x.runs, run{ask: ask{n: 1}, calls: x.extra, wait: ifNoneRefused})
	}
	return x
}

// free keeps the exchange for the next one.
func (x *exchange) free() {
	*x = exchange{runs: x.runs[:0], args: x.args[:0]}
	exchanges.Put(x)
}

// lean reports whether take.lua will do.
func (x *exchange) lean() bool {
	return len(x.runs) == 1 && x.runs[0].kind == take && x.credit == 0 && !x.adopt
}

// send is one exchange for a batch of one rule. Once the client closes, only what
// callers that have left were granted still goes back.
func (c *core) send(key string, b batch) error {
	err := c.e.Open()
	if err == nil {
		return c.follow(key, b)
	}
	back := refunds(b)
	if len(back) == 0 {
		return err
	}
	lost := c.follow(key, back)
	if lost == nil && len(back) == len(b) {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrUnknown, errors.Join(err, lost)) // whoever refunds must not think that nothing was sent
}

func refunds(b batch) (back batch) {
	for _, one := range b {
		if one.Ask.kind == refund {
			back = append(back, one)
		}
	}
	return back
}

// follow is an exchange by the rule in force, also if that has just changed.
func (c *core) follow(key string, b batch) error {
	r, adopt := b[0].Ask.r, false
	for {
		err := c.attempt(key, r, adopt, b)
		if !errors.Is(err, errStale) {
			return err
		}
		if r, adopt, err = c.newer(r); err != nil {
			return err
		}
	}
}

// newer reads the rule again, after somebody has decided by a newer one than r.
// If there is none, that rule is gone: a failover or a clock set back has made
// an older one the newest, and the bucket adopts it.
func (c *core) newer(r *rule) (now *rule, adopt bool, err error) {
	read, err := c.refresh() // not one that was under way
	if err != nil {
		return nil, false, err
	}
	now = read.(*rule)
	return now, now.generation <= r.generation, nil
}

// attempt is one exchange by one rule.
func (c *core) attempt(key string, r *rule, adopt bool, b batch) error {
	x := newExchange(r, b, c.e.Mono())
	x.adopt = adopt
	defer x.free()
	err := c.exchange(key, x)
	if x.credit > 0 { // also if the reply was lost
		c.forgetDenial(key)
	}
	if err == nil {
		x.deal(b)
	}
	return err
}

// errStale says that somebody decided by a newer rule already.
var errStale = errors.New("the rule has changed")

func (c *core) exchange(key string, x *exchange) error {
	if x.lean() {
		done, err := c.take(key, x)
		if done || err != nil {
			return err
		}
	}
	return c.decide(key, x)
}

// take tries the lean script. It is not done if that does not know the state.
func (c *core) take(key string, x *exchange) (done bool, err error) {
	only, s := &x.runs[0], &x.texts
	x.args = append(x.args[:0], s.generation, s.gain, s.perToken, s.full, s.unit, x.cost(take, only.n), decimal(only.calls))
	answer, err := x.run(c, takeScript, key)
	if err != nil || answer.Nil {
		return false, told(err)
	}
	numbers, err := answer.AsIntSlice()
	if err != nil || len(numbers) != 4 {
		return false, fmt.Errorf("take.lua said %v: %w", numbers, errors.Join(err, ErrUnknown))
	}
	x.q, x.t, x.now, only.k = numbers[0], numbers[1], numbers[2], numbers[3]
	return true, nil
}

func (c *core) decide(key string, x *exchange) error {
	x.args = append(x.args[:0], x.member()...)
	for i := range x.runs {
		one := &x.runs[i]
		x.args = append(x.args, decimal(one.calls), decimal(one.wait), x.cost(one.kind, one.n))
	}
	answer, err := x.run(c, decideScript, key)
	if err != nil {
		return told(err)
	}
	numbers, err := answer.AsIntSlice()
	switch {
	case err == nil && len(numbers) == 1:
		return errStale
	case err != nil || len(numbers) != 4+len(x.runs):
		return fmt.Errorf("decide.lua said %v: %w", numbers, errors.Join(err, ErrUnknown))
	}
	x.now, x.q, x.t, x.block = numbers[0], numbers[1], numbers[2], numbers[3]
	for i := range x.runs {
		x.runs[i].k = numbers[4+i]
	}
	return nil
}

func (x *exchange) run(c *core, s *scripts.Script, key string) (engine.Answer, error) {
	x.keys[0] = key
	return c.e.Run(context.Background(), s, x.keys[:], x.args)
}

// cost is the ticks of n tokens, as a script gets them.
func (r *rule) cost(k kind, n int64) string {
	switch {
	case n == 1:
		return r.texts.perToken
	case n > r.Burst && k != charge: // the burst was larger when it was asked for
		return never
	}
	return decimal(r.ticks(n))
}

// never is more ticks than are ever there.
var never = decimal(exact)

// ifNoneRefused is the wait of tokens that are only to be taken along.
const ifNoneRefused = -2

// member is the eight numbers by which decide.lua knows a bucket.
func (x *exchange) member() []string {
	s := &x.texts
	reset, owed := s.reset, min(x.owed, x.debt)
	if x.adopt {
		reset = "-1"
	}
	if owed == 0 { // what is owed already stays
		owed = x.debt
	}
	return []string{s.generation, reset, s.gain, s.perToken, s.full, s.unit, decimal(x.ticks(owed)), decimal(x.credit)}
}

// deal gives the calls their answers, in order: the first k of a run were
// granted, each on top of those before it.
func (x *exchange) deal(b batch) {
	q := x.q
	for i := range x.runs {
		q -= x.runs[i].k * x.ticks(x.runs[i].n)
	}
	extra := int64(0)
	if x.extra > 0 {
		extra = x.runs[len(x.runs)-1].k
	}
	at, served := -1, int64(0)
	for _, c := range b {
		a := answer{r: x.rule, t: x.t, late: x.t - x.now, block: max(0, x.block-x.now), together: len(b)}
		if c.Ask.extra > 0 {
			a.extra, extra = extra, 0
		}
		switch {
		case c.Ask.counts():
			if at < 0 || served == x.runs[at].calls {
				at, served = at+1, 0
			}
			if served++; served <= x.runs[at].k {
				a.ok = true
				q += x.ticks(c.Ask.n)
			}
		case c.Ask.kind == refund:
			a.ok = true
		default:
			a.ok = x.full-q >= x.perToken*c.Ask.n && a.block == 0
		}
		a.q = max(0, q) // before a reservation under a block moved the bucket on, it was another count
		c.Answer = a
	}
}

// giveBackTokens makes a refund that nobody waits for. Like giveBack, it is
// called by tasks that Close waits for.
func (c *core) giveBackTokens(key string, a ask) {
	if !c.table.Post(key, a) {
		_ = c.follow(key, batch{{Ask: a}})
	}
}

// left gives back what was granted to a caller that did not wait for it. A
// charge stands: it is for what was used already.
func (c *core) left(key string, asked ask, a answer) {
	n := a.extra
	if a.ok && asked.kind == take {
		n += asked.n
	}
	switch {
	case n > 0:
		c.forgetDenial(key)
		c.giveBackTokens(key, ask{r: a.r, n: n, kind: refund})
	case a.ok && asked.kind == reserve:
		c.giveBack(key, asked.n, a)
	}
}
