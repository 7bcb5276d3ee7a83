package semaphore

import (
	"context"
	"errors"
	"time"

	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/wait"
)

// applicant is one goroutine that waits for a permit.
type applicant struct {
	i     *issuer
	of    *permitNames
	r     *room
	terms terms
	turn  first // if it is the head at once

	permit *Permit

	told
}

// acquire waits for permits, of which it returns the first. Close waits for it, and for
// what it may leave behind.
func (i *issuer) acquire(ctx context.Context, of *permitNames, t terms) (p *Permit, err error) {
	if !i.e.During(func() { p, err = i.waitFor(ctx, of, t) }) {
		return nil, ErrClosed
	}
	return p, err
}

func (i *issuer) waitFor(ctx context.Context, of *permitNames, t terms) (*Permit, error) {
	i.waiting.Add(1)
	defer i.waiting.Add(-1)
	a := &applicant{i: i, of: of, r: i.rooms.Get(of.key), terms: t, turn: first{terms: t}}
	defer i.rooms.Put(of.key, a.r)
	err := a.contend(ctx)
	permits := 0
	if err == nil {
		permits = 1 + len(a.permit.with)
	}
	a.observe(ctx, i.e, permitLabel, of.key, false, permits, err)
	if err != nil {
		return nil, ended(err, a.r.end)
	}
	return a.permit, nil
}

// try asks once.
func (i *issuer) try(ctx context.Context, of *permitNames, t terms) (*Permit, error) {
	if i.starved(of) {
		return nil, ErrNotAcquired
	}
	ask := permitAsk{of: of, wants: []want{i.want(t)}}
	got, err := i.table.Do(ctx, of.key, ask)
	if err == nil {
		err = errors.Join(got.err, got.short)
	}
	switch {
	case errors.Is(err, errNotSet):
		return nil, errTryNotSet
	case err != nil:
		return nil, err
	case got.took[0] == 0:
		return nil, ErrNotAcquired
	}
	p := of.permit(ask.wants[0], got.Answer)
	if i.e.Observer != nil {
		for range p.all() {
			i.e.Observer.Acquired(ctx, permitLabel, of.key, false)
		}
	}
	return p, nil
}

// starved reports whether somebody of this process waits.
func (i *issuer) starved(of *permitNames) bool {
	if i.waiting.Load() == 0 {
		return false
	}
	r := i.rooms.Get(of.key)
	defer i.rooms.Put(of.key, r)
	return r.starved()
}

func (a *applicant) contend(ctx context.Context) error {
	if a.r.tryEnter(&a.turn) {
		return a.r.lead(ctx, a, false)
	}
	w := handover.NewWaiter[*Permit](true)
	w.Terms = &a.terms
	if a.r.enter(w) {
		return a.r.lead(ctx, a, false)
	}
	a.waiting(ctx)
	return a.r.await(ctx, w, a)
}

// vie looks until there is a permit. The first look is on its own where nobody
// listens, since most need no other.
func (a *applicant) vie(ctx context.Context, heir bool) error {
	if !a.r.deaf() || a.i.e.Subscribed(a.of.channel) {
		return watch(ctx, a.i.e, a.watch(), heir, a.r.rest)
	}
	left, done, err := a.look(ctx)
	if done {
		return nil
	}
	return a.i.e.WatchOn(ctx, a.watch(), left, err)
}

func (a *applicant) watch() wait.Watch {
	return wait.Watch{
		Key:      a.of.Key(),
		Channels: []pubsub.Channel{a.i.e.Channel(a.of.channel)},
		Look:     a.look, By: a.r.listener(),
	}
}

func (a *applicant) pass() (p *Permit, served bool) {
	p = a.r.pass()
	return p, p != nil
}

func (a *applicant) accept(p *Permit, _ bool) { a.permit = p }

func (a *applicant) decline(p *Permit) { p.discard() }

func (a *applicant) waiting(ctx context.Context) { a.observeWait(ctx, a.i.e, permitLabel, a.of.key) }

// look asks the server once, after standing back for others.
func (a *applicant) look(ctx context.Context) (left time.Duration, done bool, err error) {
	if a.r.served() {
		return 0, true, nil
	}
	if err := standBack(ctx, a.i.e, &a.r.courtesy); err != nil {
		return -1, false, err
	}
	c := a.r.enlist(false)
	if len(c.wants) == 0 { // another asks for us, and will poke
		return -1, a.r.served(), nil
	}
	got, err := a.i.table.Do(ctx, a.of.key, permitAsk{of: a.of, wants: c.wants})
	if err == nil {
		err = errors.Join(got.err, got.short)
	}
	for _, p := range a.r.deal(a.of, c, got) {
		p.discard()
	}
	notSet := errors.Is(err, errNotSet)
	if err != nil && !notSet {
		return -1, false, err
	}
	if done = a.r.served(); !done {
		a.waiting(ctx)
	}
	if got.left < 0 || notSet {
		return -1, done, nil
	}
	return time.Duration(got.left) * time.Millisecond, done, nil
}
