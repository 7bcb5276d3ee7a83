package ratelimiter

import (
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
	members []*Bucket  // that decide
	shadows []shadowOf // the others
	states  []string
	key     string // what calls on the same limits have in common
	bad     error
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
// fail with rueidisson.ErrMoving after that, as long as a member is full: then
// it has no key, which is what a key looks like that has been moved.
//
// What cannot be decided together is an error of every operation:
// [ErrCrossSlot]; [ErrOption] for no members, a nil one, a member twice,
// members of several clients, and for a rate per client.
func All(members ...Member) *Combined {
	a := &Combined{}
	for i, m := range members {
		var b *Bucket
		if m != nil {
			b = m.member()
		}
		if b == nil || b.handle == nil {
			a.bad = fmt.Errorf("%w: a member that is nil, or was not made by a client", ErrOption)
			return a
		}
		if s, in := m.(*Shadowed); in {
			a.shadows = append(a.shadows, shadowOf{s, i})
			continue
		}
		a.members, a.states = append(a.members, b), append(a.states, b.state)
	}
	a.key, a.bad = strings.Join(a.states, "\x00"), a.check()
	return a
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

func (a *Combined) check() error {
	if len(a.members) == 0 {
		return fmt.Errorf("%w: no members, but for any in shadow", ErrOption)
	}
	e := a.members[0].core.Engine
	for _, s := range a.shadows {
		switch {
		case s.b.bad != nil:
			return s.b.bad
		case s.b.core.Engine == e && slices.Contains(a.states, s.b.state):
			return fmt.Errorf("%w: %v is there twice", ErrOption, s.b)
		}
	}
	for i, b := range a.members {
		switch {
		case b.bad != nil:
			return b.bad
		case b.core.Engine != e:
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

func (a *Combined) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%v: %s: %w", a, op, err)
}
