package ratelimiter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Member is one of several limits that are decided together: a [Limiter] or a
// [Bucket].
type Member interface{ member() *Bucket }

func (b *Bucket) member() *Bucket { return b }

func (l *Limiter) member() *Bucket {
	if l == nil {
		return nil
	}
	return &l.Bucket
}

// Combined is several limits of which all have to grant, or nothing is taken
// from any of them.
type Combined struct {
	members []*Bucket
	states  []string
	table   *allTable
	bad     error
}

// AllDecision is the answer about several limits.
type AllDecision struct {
	// Allowed says whether all members granted. Remaining is the smallest of
	// theirs, with that member's Limit and Rate; RetryAfter and ResetAfter are
	// the longest.
	Decision

	// Members are the limits in the order in which they were given. Allowed
	// says there whether this one alone would have granted; while a member is
	// paused, a request asks nobody, and it is false for all.
	Members []Decision
}

// All makes one limit of several, such as one for a second and one for a day:
// one script decides about all of them, and takes from all or from none.
//
// Of the members' options those for the expected rate and the debt count here.
// [WithFallback] does if all members have it: the shortest of their times
// counts, and then each asks its own, of which all have to grant, too; it is
// without one if any member is. [WithLocalDenial] and [WithPrefetch] do not
// count: each request asks the server.
//
// On a cluster the members have to share a slot. Buckets of the same key do,
// whatever the limiters are called, unless a limiter's name has braces of its
// own. Limiters without keys do if their names have a hash tag in common.
// While the cluster moves their slot, requests wait for up to three seconds, and
// fail with the server's TRYAGAIN after that, as long as a member is full: then
// it has no key, which is what a key looks like that has been moved.
//
// What cannot be decided together is an error of every operation:
// [ErrCrossSlot]; [ErrOption] for no members, a nil one, a member twice,
// members of several clients, and for a rate per client.
func All(members ...Member) *Combined {
	a := &Combined{}
	for _, m := range members {
		var b *Bucket
		if m != nil {
			b = m.member()
		}
		if b == nil || b.handle == nil {
			a.bad = fmt.Errorf("%w: a member that is nil, or was not made by a client", ErrOption)
			return a
		}
		a.members, a.states = append(a.members, b), append(a.states, b.state)
	}
	a.bad = a.check()
	if a.bad == nil {
		a.table = allTableOf(a.members[0].core.e)
	}
	return a
}

// For is the same limits for one key, whatever keys the members have. Where one
// of them is to follow a rate of the key's own, name the members one by one:
//
//	ratelimiter.All(perSecond.For(key), perDay.For(key, ratelimiter.WithRule(plan)))
func (a *Combined) For(key string) *Combined {
	if a.bad != nil && !errors.Is(a.bad, ErrCrossSlot) { // that is cured by a key
		return a
	}
	keyed := make([]Member, len(a.members))
	for i, b := range a.members {
		keyed[i] = (&Limiter{*b}).For(key)
	}
	return All(keyed...)
}

// String names the members, as [Bucket.String] does.
func (a *Combined) String() string {
	var names []string
	for _, b := range a.members {
		names = append(names, b.String())
	}
	return "all of " + strings.Join(names, ", ")
}

func (a *Combined) check() error {
	if len(a.members) == 0 {
		return fmt.Errorf("%w: no members", ErrOption)
	}
	e := a.members[0].core.e
	for i, b := range a.members {
		switch {
		case b.bad != nil:
			return b.bad
		case b.core.e != e:
			return fmt.Errorf("%w: members of several clients", ErrOption)
		case slices.Contains(a.states[:i], b.state):
			return fmt.Errorf("%w: %v is there twice", ErrOption, b)
		}
	}
	if !e.SameSlot(a.states...) {
		return ErrCrossSlot
	}
	return nil
}

// Allow reports whether each member has a token now, and takes them.
func (a *Combined) Allow(ctx context.Context) (bool, error) { return a.AllowN(ctx, 1) }

// AllowN reports whether each member has n tokens now, and takes them.
func (a *Combined) AllowN(ctx context.Context, n int64) (bool, error) {
	d, err := a.take(ctx, "allow", []int64{n})
	return d.Allowed, err
}

// Take takes n tokens of each member if all have them now.
//
// Cost: one round trip; on a hot key, calls of one process for as many tokens
// go out together. Errors: see [Bucket] and [All]; [ErrExceedsBurst] if n is
// more than a member holds.
func (a *Combined) Take(ctx context.Context, n int64) (AllDecision, error) {
	return a.take(ctx, "take", []int64{n})
}

// TakeEach is Take with a number of tokens for each member, in their order, such
// as one request and 2,000 model tokens. Another count of numbers than of members
// is an [ErrOption].
func (a *Combined) TakeEach(ctx context.Context, n ...int64) (AllDecision, error) {
	if err := a.each(n); err != nil {
		return AllDecision{}, a.failed("take", err)
	}
	return a.take(ctx, "take", n)
}

// each checks that there is a number for each member.
func (a *Combined) each(n []int64) error {
	if a.bad == nil && len(n) != len(a.members) {
		return fmt.Errorf("%w: %d numbers for %d members", ErrOption, len(n), len(a.members))
	}
	return a.bad
}

func (a *Combined) take(ctx context.Context, op string, n []int64) (AllDecision, error) {
	d, err := a.tryTake(ctx, n)
	if err != nil {
		return AllDecision{}, a.undecided(ctx, op, n, err)
	}
	return d, nil
}

func (a *Combined) tryTake(ctx context.Context, n []int64) (AllDecision, error) {
	if within, ok := a.patience(); ok {
		return a.orFallBack(ctx, n, within)
	}
	return a.decide(ctx, n)
}

// decide is what the rules say.
func (a *Combined) decide(ctx context.Context, n []int64) (AllDecision, error) {
	q, err := a.ask(ctx, n, take)
	if err != nil {
		return AllDecision{}, err
	}
	if d, paused := q.paused(); paused {
		a.decided(ctx, n, d, 0)
		return d, nil
	}
	answers, err := a.do(ctx, q)
	if err == nil && !answers.ok() {
		err = answers.exceed(&q)
	}
	if err != nil {
		return AllDecision{}, err
	}
	d := answers.decision(q.n)
	a.decided(ctx, n, d, answers[0].together)
	return d, nil
}

// do asks the server. An answer by a rate that came meanwhile, and is not the
// expected one, is an error, but for a refund, which was done.
func (a *Combined) do(ctx context.Context, q allAsk) (allAnswer, error) {
	if q.kind == refund {
		return insist(ctx, a.members[0].core.e, func(ctx context.Context) (allAnswer, error) { return a.table.Do(ctx, a.key(), q) })
	}
	answers, err := a.table.Do(ctx, a.key(), q)
	if err == nil {
		err = answers.unexpected(&q)
	}
	if answers != nil && err != nil && q.undoable() {
		answers.undo(&q)
	}
	return answers, err
}

// Wait waits for one token of each member. See [Combined.WaitN].
func (a *Combined) Wait(ctx context.Context) error { return a.WaitN(ctx, 1) }

// WaitN waits until n tokens of each member are its own, and takes them. It is
// [Bucket.WaitN] for several limits: the longest of their waits counts. The
// other members' tokens are taken when it is asked, too, and count there as of
// when they would have been there, though they are used later. While a member is
// paused it fails with [ErrExceedsDeadline] or waits, as there.
//
// Cost: one round trip. Errors: as [Bucket.WaitN], and see [All].
func (a *Combined) WaitN(ctx context.Context, n int64) error {
	if a.bad != nil {
		return a.failed("wait", a.bad)
	}
	return a.failed("wait", a.members[0].core.during(func() error { return a.waitN(ctx, []int64{n}) }))
}

func (a *Combined) waitN(ctx context.Context, n []int64) error {
	for {
		q, err := a.ask(ctx, n, reserve)
		if err != nil {
			a.reserved(ctx, n, nil, err)
			return err
		}
		c := a.members[0].core
		q.until = c.until(ctx)
		d, paused := q.paused()
		if !paused {
			return a.reserveAndSleep(ctx, c, q)
		}
		if q.until != forever && q.until < c.e.Now().Mono+askAgain {
			a.decided(ctx, n, d, 0)
			return fmt.Errorf("%w: %w", ErrExceedsDeadline, errPaused)
		}
		if err := c.sleep(ctx, askAgain); err != nil {
			return err
		}
	}
}

func (a *Combined) reserveAndSleep(ctx context.Context, c *core, q allAsk) error {
	answers, err := a.do(ctx, q)
	if err == nil && !answers.ok() {
		err = answers.refused(&q, c.e.Now().Mono)
	}
	a.reserved(ctx, q.n, answers, err)
	if err != nil {
		return err
	}
	err = c.sleep(ctx, answers.delay())
	if err != nil {
		answers.giveBack(&q)
	}
	return err
}

// ask checks a request, and knows the rules by which it is made.
func (a *Combined) ask(ctx context.Context, n []int64, k kind) (allAsk, error) {
	if a.bad != nil {
		return allAsk{}, a.bad
	}
	q := allAsk{members: a.members, states: a.states, kind: k}
	if err := a.members[0].usable(ctx); err != nil {
		return allAsk{}, err
	}
	for i, b := range a.members {
		want := of(n, i)
		r, err := b.ruleFor(ctx, want)
		switch {
		case err != nil:
			return allAsk{}, fmt.Errorf("%v: %w", b, err)
		case r.Type == PerClient:
			return allAsk{}, fmt.Errorf("%w: %v has a rate per client", ErrOption, b)
		case want > r.Burst && q.undoable():
			return allAsk{}, fmt.Errorf("%v: %w", b, exceedsBurst(want, r))
		}
		q.rules, q.n, q.debts = append(q.rules, r), append(q.n, want), append(q.debts, b.debt(r))
	}
	return q, nil
}

// of is the number for a member, where one number may stand for all.
func of(n []int64, member int) int64 { return n[min(member, len(n)-1)] }

// key is what calls on the same limits have in common.
func (a *Combined) key() string { return strings.Join(a.states, "\x00") }

func (a *Combined) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%v: %s: %w", a, op, err)
}
