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
	// paused, nobody is asked, and it is false for all.
	Members []Decision
}

// All makes one limit of several, such as one for a second and one for a day:
// one script decides about all of them, and takes from all or from none. Their
// options for denial, prefetch and fallback do not count here.
//
// On a cluster the members have to share a slot. Buckets of the same key do,
// whatever the limiters are called, unless a limiter's name has braces of its
// own. Limiters without keys do if their names have a hash tag in common.
// What cannot be decided together is an error of every operation:
// [ErrCrossSlot]; [ErrOption] for no members, a member twice, members of
// several clients, and for a rate per client.
func All(members ...Member) *Combined {
	a := &Combined{}
	for _, m := range members {
		if m == nil {
			a.bad = fmt.Errorf("%w: a nil member", ErrOption)
			return a
		}
		b := m.member()
		a.members, a.states = append(a.members, b), append(a.states, b.state)
	}
	a.bad = a.check()
	if a.bad == nil {
		a.table = allTableOf(a.members[0].core.e)
	}
	return a
}

// For is the same limits for one key.
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

// String names the members.
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
		return fmt.Errorf("%w: keys %q", ErrCrossSlot, a.states)
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

// TakeEach is Take with a number of tokens for each member, such as one
// request and 2,000 model tokens.
func (a *Combined) TakeEach(ctx context.Context, n ...int64) (AllDecision, error) {
	if a.bad == nil && len(n) != len(a.members) {
		return AllDecision{}, a.failed("take", fmt.Errorf("%w: %d numbers for %d members", ErrOption, len(n), len(a.members)))
	}
	return a.take(ctx, "take", n)
}

func (a *Combined) take(ctx context.Context, op string, n []int64) (AllDecision, error) {
	q, err := a.ask(ctx, n, take)
	if err != nil {
		return AllDecision{}, a.failed(op, err)
	}
	if d, paused := q.paused(); paused {
		return d, nil
	}
	answers, err := a.table.Do(ctx, a.key(), q)
	if err == nil && !answers.ok() {
		err = answers.exceed(q.n)
	}
	if err != nil {
		return AllDecision{}, a.failed(op, err)
	}
	return answers.decision(q.n), nil
}

// Wait waits for one token of each member. See [Combined.WaitN].
func (a *Combined) Wait(ctx context.Context) error { return a.WaitN(ctx, 1) }

// WaitN waits until n tokens of each member are its own, and takes them. It is
// [Bucket.WaitN] for several limits: the longest of their waits counts. While
// a member is paused it fails with [ErrExceedsDeadline] or waits, as there.
func (a *Combined) WaitN(ctx context.Context, n int64) error {
	return a.failed("wait", a.waitN(ctx, []int64{n}))
}

func (a *Combined) waitN(ctx context.Context, n []int64) error {
	for {
		q, err := a.ask(ctx, n, reserve)
		if err != nil {
			return err
		}
		c := a.members[0].core
		q.until = c.until(ctx)
		if _, paused := q.paused(); !paused {
			return a.reserveAndSleep(ctx, c, q)
		}
		if q.until != forever && q.until < c.e.Now().Mono+askAgain {
			return fmt.Errorf("%w: %w", ErrExceedsDeadline, errPaused)
		}
		if err := c.sleep(ctx, askAgain); err != nil {
			return err
		}
	}
}

func (a *Combined) reserveAndSleep(ctx context.Context, c *core, q allAsk) error {
	answers, err := a.table.Do(ctx, a.key(), q)
	if err != nil {
		return err
	}
	if !answers.ok() {
		return answers.refused(q, c.e.Now().Mono)
	}
	err = c.sleep(ctx, answers.delay())
	if err != nil {
		answers.giveBack(q)
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
		want := n[min(i, len(n)-1)]
		r, err := b.ruleFor(ctx, want)
		switch {
		case err != nil:
			return allAsk{}, err
		case r.Type == PerClient:
			return allAsk{}, fmt.Errorf("%w: %v has a rate per client", ErrOption, b)
		case want > r.Burst:
			return allAsk{}, fmt.Errorf("%v: %w", b, exceedsBurst(want, r))
		}
		q.rules, q.n, q.debts = append(q.rules, r), append(q.n, want), append(q.debts, b.debt(r))
	}
	return q, nil
}

// key is what calls on the same limits have in common.
func (a *Combined) key() string { return strings.Join(a.states, "\x00") }

func (a *Combined) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%v: %s: %w", a, op, err)
}
