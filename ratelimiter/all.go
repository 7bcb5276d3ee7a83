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

// Combined is several limits. All have to grant, or nothing is taken from any of them.
type Combined struct {
	members limits     // the limits that decide
	shadows []shadowOf // the others
	key     string     // the common key of calls on the same limits
	bad     error
}

// All makes one limit of several, such as one for a second and one for a day: one script decides
// about all of them, and takes from all or from none.
//
// Of the members' options, the expected rate and the debt apply here. [WithFallback] applies if all
// members have it: the shortest of their times counts, and then each member's fallback decides; all
// have to grant, too. There is no fallback if one member has none. [WithLocalDenial] and
// [WithPrefetch] do not apply: each request is sent to the server.
//
// On a cluster the members have to share a slot. Buckets of the same key do, whatever the limiters
// are called, unless a limiter's name has braces of its own. Limiters without keys do if their
// names have a hash tag in common. During a slot migration, requests wait for up to three seconds,
// and fail with rueidisson.ErrSlotMoving after that, as long as a member is full. The reason is
// that a full member has no key, as a key that has been moved.
//
// Limits that cannot be decided together make every operation return an error: [ErrCrossSlot];
// [ErrInvalidArgument] for no members, a nil one, a member twice, members of several clients, and
// for a rate per client.
func All(members ...Member) *Combined {
	a := &Combined{}
	var states []string
	for i, m := range members {
		var b *Bucket
		if m != nil {
			b = m.member()
		}
		if b == nil || b.handle == nil {
			a.bad = fmt.Errorf("%w: a member that is nil, or was not made by a client", ErrInvalidArgument)
			return a
		}
		if s, in := m.(*Shadowed); in {
			a.shadows = append(a.shadows, shadowOf{s, i})
			continue
		}
		one := *b
		one.all = a
		a.members, states = append(a.members, &one), append(states, b.state)
	}
	a.key, a.bad = strings.Join(states, "\x00"), a.check(states)
	return a
}

func (a *Combined) check(states []string) error {
	if len(a.members) == 0 {
		return fmt.Errorf("%w: no members, except members in shadow", ErrInvalidArgument)
	}
	e := a.members[0].core.Engine
	for _, s := range a.shadows {
		switch {
		case s.b.bad != nil:
			return s.b.bad
		case s.b.core.Engine == e && slices.Contains(states, s.b.state):
			return fmt.Errorf("%w: %v is there twice", ErrInvalidArgument, s.b)
		}
	}
	for i, b := range a.members {
		switch {
		case b.bad != nil:
			return b.bad
		case b.core.Engine != e:
			return fmt.Errorf("%w: members of several clients", ErrInvalidArgument)
		case slices.Contains(states[:i], b.state):
			return fmt.Errorf("%w: %v is there twice", ErrInvalidArgument, b)
		}
	}
	if !e.SameSlot(states...) {
		return ErrCrossSlot
	}
	return nil
}

// For returns the same limits for one key, whatever keys the members have. Where one
// of them is to follow a rate of the key's own, name the members one by one:
//
//	ratelimiter.All(perSecond.For(key), perDay.For(key, ratelimiter.WithRule(plan)))
func (a *Combined) For(key string) *Combined {
	if a.bad != nil && !errors.Is(a.bad, ErrCrossSlot) { // that is cured by a key
		return a
	}
	var keyed []Member
	for _, b := range a.members {
		keyed = append(keyed, b.rekeyed(key))
	}
	for _, s := range a.shadows { // which are in order
		keyed = slices.Insert(keyed, s.at, Member(Shadow(s.b.rekeyed(key))))
	}
	return All(keyed...)
}

// rekeyed returns the bucket of another key.
func (b *Bucket) rekeyed(key string) *Bucket { return (&Limiter{*b}).For(key) }

// String names the members, as [Bucket.String] does.
func (a *Combined) String() string {
	var names []string
	for _, b := range a.members {
		names = append(names, b.String())
	}
	return "all of " + strings.Join(names, ", ")
}

// Allow reports whether each member has a token now, and takes them. It never waits for tokens.
//
// Cost and errors: as [Combined.Take].
func (a *Combined) Allow(ctx context.Context) (bool, error) { return a.AllowN(ctx, 1) }

// AllowN reports whether each member has n tokens now, and takes them. It never waits for tokens.
//
// Cost and errors: as [Combined.Take].
func (a *Combined) AllowN(ctx context.Context, n int64) (bool, error) {
	if err := a.undecidable(ctx, "allow", []int64{n}); err != nil {
		return false, err
	}
	return a.members.allow(ctx, []int64{n})
}

// Take takes n tokens of each member if all have them now, and nothing otherwise. It never waits
// for tokens; ctx bounds the round trip.
//
// Cost: one round trip; on a hot key, calls of one process for as many tokens go out together.
// Errors: see [Bucket] and [All]; [ErrExceedsBurst] if n is more than a member holds.
func (a *Combined) Take(ctx context.Context, n int64) (AllDecision, error) {
	return a.take(ctx, []int64{n})
}

// TakeEach takes a number of tokens of each member, in the order of the members, such as one
// request and 2,000 model tokens. It returns [ErrInvalidArgument] unless there are as many numbers
// as members, those in shadow included.
//
// Cost and other errors: as [Combined.Take].
func (a *Combined) TakeEach(ctx context.Context, n ...int64) (AllDecision, error) {
	if err := a.each(n); err != nil {
		return AllDecision{}, a.failed("take", err)
	}
	return a.take(ctx, n)
}

// each checks that there is a number for each member.
func (a *Combined) each(n []int64) error {
	if all := len(a.members) + len(a.shadows); a.bad == nil && len(n) != all {
		return fmt.Errorf("%w: %d numbers for %d members", ErrInvalidArgument, len(n), all)
	}
	return a.bad
}

func (a *Combined) take(ctx context.Context, n []int64) (AllDecision, error) {
	if err := a.undecidable(ctx, "take", n); err != nil {
		return AllDecision{}, err
	}
	var v verdict
	if err := a.members.take(ctx, "take", n, 0, &v); err != nil {
		return AllDecision{}, err
	}
	return v.decisions(), nil
}

// TakeUpTo takes as many tokens of each member as all of them have now, at most n, and returns
// their number: the same number of each, which may be 0. It is [Bucket.TakeUpTo] for several
// limits.
//
// Cost and errors: as [Combined.Take], without ErrExceedsBurst.
func (a *Combined) TakeUpTo(ctx context.Context, n int64) (taken int64, d AllDecision, err error) {
	if err := a.undecidable(ctx, "take up to", []int64{n}); err != nil {
		return 0, AllDecision{}, err
	}
	var v verdict
	if err := a.members.takeUpTo(ctx, n, &v); err != nil {
		return 0, AllDecision{}, err
	}
	return v.answer.Taken, v.decisions(), nil
}

// Peek looks without taking anything: the decision that a request of one token
// of each member would get. Each member's is there also while another is
// paused.
//
// Cost: one round trip. Errors: see [Bucket] and [All].
func (a *Combined) Peek(ctx context.Context) (AllDecision, error) {
	if a.bad != nil {
		return AllDecision{}, a.failed("peek", a.bad)
	}
	var v verdict
	if err := a.members.peek(ctx, &v); err != nil {
		return AllDecision{}, err
	}
	return v.decisions(), nil
}

// Refund gives n tokens back to each member, up to full buckets. It is
// [Bucket.Refund] for several limits, and one request for all of them: after
// [ErrOutcomeUnknown] all got theirs or none did.
//
// Cost: one round trip. Errors: see [Bucket] and [All].
func (a *Combined) Refund(ctx context.Context, n int64) error {
	return a.refund(ctx, []int64{n})
}

// RefundEach gives a number of tokens back to each member, as [Combined.TakeEach] took them.
//
// Cost and errors: as [Combined.Refund]; [ErrInvalidArgument] as for [Combined.TakeEach].
func (a *Combined) RefundEach(ctx context.Context, n ...int64) error {
	if err := a.each(n); err != nil {
		return a.failed("refund", err)
	}
	return a.refund(ctx, n)
}

func (a *Combined) refund(ctx context.Context, n []int64) error {
	if a.bad != nil {
		return a.failed("refund", a.bad)
	}
	return a.members.refund(ctx, n)
}

// Wait waits for one token of each member and takes them, as [Combined.WaitN] does, with its cost
// and errors.
func (a *Combined) Wait(ctx context.Context) error { return a.WaitN(ctx, 1) }

// WaitN waits until n tokens of each member are its own, and takes them. It is [Bucket.WaitN] for
// several limits: the longest of their waits counts. The tokens of the other members are taken at
// the time of the request, too, and count there from when they would have been there, although they
// are used later. While a member is paused it fails with [ErrExceedsDeadline] or waits, as there.
//
// Cost: one round trip. Errors: as [Bucket.WaitN], and see [All].
func (a *Combined) WaitN(ctx context.Context, n int64) error {
	if a.bad != nil {
		return a.failed("wait", a.bad)
	}
	return a.members.wait(ctx, n)
}

// undecidable names the operation in the error of limits that cannot be decided together, and tells of it.
func (a *Combined) undecidable(ctx context.Context, op string, n []int64) error {
	if a.bad != nil {
		a.members.tellError(ctx, a.deciding(n), a.bad)
	}
	return a.failed(op, a.bad)
}

// failed names the operation and the limits.
func (a *Combined) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", a.String(), op, err)
}
