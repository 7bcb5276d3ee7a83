package reliable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// flight is one exchange of a consumer.
type flight struct {
	send.Request
	started watchdog.Instant // before it was sent first
	sent    time.Duration    // when it was sent first, since the hub began
	acks    []*settle        // without a result: most
	results []*settle        // acks with a result
	nacks   []*settle
	want    int
	direct  bool // nothing of what it takes has to wait for a handler
	lease   time.Duration
	args    []string
}

// repeats is how long a flight is said again: then the server may have forgotten it.
const repeats = send.RequestMemory * 3 / 4

// sendStep makes one exchange for all callers that settle messages or want some.
func (h *hub) sendStep(key consumerKey, _ int, batch []*stepCall) error {
	c := h.consumers.Get(key)
	defer h.consumers.Put(key, c)
	settles := make([]*settle, 0, len(batch))
	woken := false
	for _, call := range batch {
		woken = woken || call.Ask.woken
		if call.Ask.settle != nil {
			settles = append(settles, call.Ask.settle)
		}
	}
	err := c.step(settles, woken)
	for _, call := range batch {
		switch s := call.Ask.settle; {
		case s == nil:
			call.Answer = answer{err: err, more: c.more}
		case s.resolved:
			call.Answer = answer{err: s.err}
		default:
			call.Answer = answer{err: unsettled(err)}
		}
	}
	return nil
}

// unsettled returns the error of a settle that goes on until it is done.
func unsettled(err error) error {
	if errors.Is(err, ErrOutcomeUnknown) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
}

// step makes an exchange, after the one before if that has no answer.
func (c *consumer) step(settles []*settle, woken bool) error {
	c.more = false
	if len(c.carry) == 0 {
		c.carry = settles
	} else {
		c.carry = append(c.carry, settles...)
	}
	if f := c.pending; f != nil {
		if err := c.fly(f); err != nil && c.pending != nil {
			return fmt.Errorf("%w: %w", errNoAnswer, err)
		}
	}
	for again := true; ; {
		f := c.flight(woken)
		if f == nil {
			return nil
		}
		switch err := c.fly(f); {
		case again && errors.Is(err, send.ErrOvertaken): // the next has a fresh lane
			again = false
		case err != nil || len(c.carry) == 0:
			return err
		}
	}
}

// flight returns the next exchange, nil if there is nothing to say.
func (c *consumer) flight(woken bool) *flight {
	now := time.Now()
	n := together(len(c.carry), mostSettled, func(i int) int { return c.carry[i].bytes() })
	f := &flight{acks: make([]*settle, 0, n)}
	for _, s := range c.carry[:n] {
		switch {
		case s.unsure && !s.trusted(now):
			s.resolve(fmt.Errorf("%w: %w", ErrOutcomeUnknown, ErrLost))
		case s.nack:
			f.nacks = append(f.nacks, s)
		case s.kept == 0:
			f.acks = append(f.acks, s)
		default:
			f.results = append(f.results, s)
		}
	}
	c.carry = append([]*settle(nil), c.carry[n:]...)
	c.mu.Lock()
	if c.h.e.Open() == nil {
		begins := 0 // how many of the messages that are wanted have a handler
		f.direct = true
		for _, t := range c.takers {
			f.want, begins = f.want+t.want, begins+max(t.want-t.ahead, 0)
			f.direct = f.direct && (t.ahead == 0 || t.want == 0)
		}
		if c.terms.MaxAttempts == 1 { // what waits here would lose its only attempt with this process
			f.want, f.direct = begins, true
		}
		f.want = min(f.want, mostTaken)
	}
	hears := c.sub != nil && !c.policy.dead // a consumer of dead letters is told of nothing
	c.mu.Unlock()
	f.lease = cmp.Or(c.policy.lease, c.terms.Lease, c.h.e.WatchdogTimeout)
	role := "-"
	switch {
	case f.want > 0 && hears:
		role, c.enrolled = "w", true
	case f.want == 0 && (c.enrolled || woken):
		role = "l"
	case f.want == 0 && f.settles() == 0:
		return nil
	}
	f.Request = c.h.e.Request(c.of.lane, lanes+c.number)
	f.args = c.args(f, role)
	f.started, f.sent = c.h.e.Now(), time.Since(c.h.began)
	return f
}

// args returns f as step.lua reads it.
func (c *consumer) args(f *flight, role string) []string {
	args := append(c.h.e.Preamble(f.Request, c.of.wake),
		counts(c.h.e), c.me, decimal(f.want), decimal(core.Millis(f.lease)), c.text, c.policy.given,
		decimal(mostWait.Milliseconds()), role, flag(!c.told), c.of.done, flag(f.direct),
		c.h.identity, c.policy.ways(), decimal(len(f.acks)))
	for _, s := range f.acks {
		args = append(args, s.d.member)
	}
	for _, s := range f.acks {
		args = append(args, decimal(s.d.id))
	}
	for _, of := range [...][]*settle{f.results, f.nacks} {
		args = append(args, decimal(len(of)))
		for _, s := range of {
			if s.nack {
				args = append(args, s.d.member, decimal(s.delay), s.cause)
			} else {
				args = append(args, s.d.member, decimal(s.kept), string(s.result))
			}
		}
	}
	return args
}

// settles returns how many settles f has.
func (f *flight) settles() int { return len(f.acks) + len(f.results) + len(f.nacks) }

// fly sends f. What may have been done is said again, by the same number, until there
// is an answer: it has taken messages, perhaps.
func (c *consumer) fly(f *flight) error {
	results := make([]string, len(f.results))
	for i, s := range f.results {
		results[i] = keys.ReliableResult(c.of.key, decimal(s.d.id))
	}
	got, err := c.h.e.RunTold(context.Background(), takes, c.of.on(f.Lane, results...), f.args, c.fails)
	if err == nil {
		c.pending, c.failing = nil, time.Time{}
		c.mu.Lock()
		c.retries, c.failure = false, nil
		c.mu.Unlock()
		return c.land(f, got)
	}
	perhaps := errors.Is(err, ErrOutcomeUnknown) || c.pending == f
	c.pending = nil
	switch {
	case perhaps && f.Age() < repeats:
		c.pending = f
	case perhaps || !send.Permanent(err):
		c.later(f, perhaps)
	default:
		c.each(f, func(s *settle) { s.resolve(err) })
	}
	c.trouble(err)
	return err
}

// later has what f says said again by another flight.
func (c *consumer) later(f *flight, unsure bool) {
	c.each(f, func(s *settle) {
		s.unsure = s.unsure || unsure
		c.carry = append(c.carry, s)
	})
}

// each calls do for the settles of f, in the order in which step.lua answers them.
func (c *consumer) each(f *flight, do func(s *settle)) {
	for _, of := range [...][]*settle{f.acks, f.results, f.nacks} {
		for _, s := range of {
			do(s)
		}
	}
}

// unheard has what f says said again, also if nobody uses the queue any more: its answer says nothing of that.
func (c *consumer) unheard(f *flight, unsure bool, err error) error {
	c.later(f, unsure)
	c.trouble(err)
	return err
}

// land takes the answer to f.
func (c *consumer) land(f *flight, got send.Answer) error {
	all, err := got.ToArray()
	if err == nil && len(all) == 1 { // a later request is known, of another with this client id
		c.h.e.Overtaken(f.Request, c.of.key)
		return c.unheard(f, false, send.ErrOvertaken)
	}
	if err != nil || len(all) < 5 {
		return c.unheard(f, true, fmt.Errorf("%w: %w", ErrOutcomeUnknown, errAnswer))
	}
	wait, err := all[0].AsInt64()
	settled, bad := all[1].ToString()
	delivered, worse := all[2].ToString()
	took, worst := all[3].ToString()
	terms, evil := all[4].ToString()
	if err = errors.Join(err, bad, worse, worst, evil); err != nil || len(settled) != f.settles() {
		return c.unheard(f, true, fmt.Errorf("%w: %w", ErrOutcomeUnknown, errors.Join(errAnswer, err)))
	}
	now, i := time.Now(), 0
	c.each(f, func(s *settle) {
		s.said(settled[i], now)
		i++
	})
	if err := c.hearsTerms(terms); err != nil {
		c.fail(err)
		return err
	}
	if terms != "" { // nothing was taken
		wait = 0
	}
	if delivered == "p" {
		c.flowed.Store(0)
	} else {
		c.flowed.Store(int64(f.sent))
	}
	taken := make([]*delivery, 0, len(all)-5)
	for _, text := range all[5:] {
		var of string
		of, took, _ = strings.Cut(took, " ")
		body, bad := text.ToString()
		d, worse := c.delivered(of, delivered, body, f, now)
		if err := errors.Join(bad, worse); err != nil {
			return fmt.Errorf("%w: %w", errAnswer, err)
		}
		taken = append(taken, d)
	}
	c.got(taken, f.want, time.Duration(wait)*time.Millisecond)
	return nil
}

// got deals out what was taken, and sees to it that it looks again.
func (c *consumer) got(taken []*delivery, want int, wait time.Duration) {
	c.mu.Lock()
	spare := c.deal(taken)
	left := c.demand()
	deaf := c.sub == nil && slices.ContainsFunc(c.takers, func(t *taker) bool { return t.waits && t.want > 0 })
	c.mu.Unlock()
	c.giveBack(spare)
	c.more = left > 0 && (len(taken) >= want || wait == 0)
	switch {
	case want == 0:
		c.enrolled, c.more = false, false
	case c.more:
		c.look()
	case left > 0:
		if wait >= mostWait {
			wait = wait*9/10 + rand.N(wait/5)
		}
		c.arm(wait)
	}
	if deaf {
		c.hear()
	}
}
