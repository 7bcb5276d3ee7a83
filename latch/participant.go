package latch

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/wait"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// participant is a party that has arrived at a barrier, or is about to.
type participant struct {
	h       *barriers
	of      *site
	id      string // fresh for each arrival
	parties int

	action     func(ctx context.Context) error // what it does if it is the last one
	opens      bool                            // it opens the generation later, if it is the last one
	inside     bool                            // of a double barrier
	generation string                          // that it has arrived for

	lose context.CancelCauseFunc // ends its wait
}

// arrival is the result of an arrival on the server.
type arrival struct {
	generation string
	state      int64
	arrived    int // parties, with this one as the last
	started    watchdog.Instant
}

// arrive asks until there is an answer: a repeated request finds the result of the first one.
func (p *participant) arrive(ctx context.Context) (at arrival, err error) {
	err = p.h.e.Watch(ctx, wait.Watch{
		Key: p.Key(),
		Look: func(ctx context.Context) (left time.Duration, done bool, err error) {
			got, err, answered := send.Await(p.h.e.Sender, ctx, time.Second, func() (arrival, error) { return p.ask(ctx) })
			if answered && err == nil {
				at = got
			}
			return -1, err == nil, err
		},
	})
	return at, err
}

// enter arrives. While another party is about to open a full generation, it waits for the end of
// that.
func (p *participant) enter(ctx context.Context) (arrival, error) {
	for {
		at, err := p.arrive(ctx)
		if err != nil || at.state != full {
			return at, err
		}
		if err = await(ctx, &p.h.places, p.of.key, at.generation); err != nil && err != ErrBroken {
			return at, err
		}
	}
}

func (p *participant) keys() []string {
	return []string{p.of.key, p.of.waiting, p.of.opened, keys.BarrierArrival(p.of.key, p.id)}
}

func (p *participant) ask(ctx context.Context) (at arrival, err error) {
	e, opens := p.h.e, "0"
	if p.opens {
		opens = "1"
	}
	got, err := e.Run(ctx, arriveScript, p.keys(),
		append(p.h.args(p.of), p.id, strconv.Itoa(p.parties), e.Millis(e.WatchdogTimeout), opens))
	if err != nil {
		return at, err
	}
	said, err := got.AsIntSlice()
	switch {
	case err != nil:
		return at, err
	case len(said) == 1:
		return at, fmt.Errorf("%w: others wait there for %d parties, not for %d", ErrInvalidArgument, said[0], p.parties)
	case len(said) != 4:
		return at, fmt.Errorf("arrive.lua said %v", said)
	}
	return arrival{decimal(said[0]), said[1], int(said[2]), got.Started}, nil
}

// open is for the last party: it runs the action under a lease that is renewed, and then opens the
// generation. If the action fails, or panics, the generation breaks.
func (p *participant) open(ctx context.Context, at arrival) (before int, err error) {
	outer := ctx
	ctx, p.lose = context.WithCancelCause(ctx)
	defer p.lose(nil)
	e := p.h.e
	grant := e.NewGrant(p, p.id, at.started, e.WatchdogTimeout, e.WatchdogTimeout/3, watchdog.Instant{}, p)
	defer grant.Finish(core.ErrReleased)
	if p.action != nil {
		returned := false
		defer func() {
			if !returned {
				_, _ = p.giveUp(outer, ErrBroken) // the panic goes on
			}
		}()
		err = p.action(ctx)
		returned = true
	}
	state := int64(never)
	if err == nil {
		err = e.Watch(ctx, wait.Watch{
			Key: p.Key(),
			Look: func(ctx context.Context) (left time.Duration, done bool, err error) {
				got, err, answered := send.Await(e.Sender, ctx, time.Second, func() (arrival, error) { return p.pass(ctx) })
				if answered && err == nil {
					state = got.state
				}
				return -1, err == nil, err
			},
		})
	}
	switch {
	case err != nil:
		return p.giveUp(outer, err)
	case state == opened:
		return at.arrived - 1, nil
	}
	return 0, ErrBroken
}

// pass opens the generation of the last party.
func (p *participant) pass(ctx context.Context) (arrival, error) {
	lease := "0"
	if p.inside {
		lease = p.h.e.Millis(p.h.e.WatchdogTimeout)
	}
	return p.end(ctx, passScript, append(p.keys(), keys.BarrierInside(p.of.key, p.generation)), append(p.h.args(p.of), lease))
}

// wait waits for the end of the generation, under a lease that is renewed. It returns how many
// parties had arrived before.
func (p *participant) wait(ctx context.Context, at arrival) (before int, err error) {
	ctx, p.lose = context.WithCancelCause(ctx)
	defer p.lose(nil)
	e := p.h.e
	grant := e.NewGrant(p, p.id, at.started, e.WatchdogTimeout, e.WatchdogTimeout/3, watchdog.Instant{}, p)
	defer grant.Finish(core.ErrReleased)
	switch err := await(ctx, &p.h.places, p.of.key, at.generation); err {
	case nil:
		return at.arrived - 1, nil
	case ErrBroken:
		return 0, err
	default:
		return p.giveUp(ctx, err)
	}
}

// giveUp breaks the generation because of why. If the generation is over, it returns its outcome
// instead, which is the same for all parties.
func (p *participant) giveUp(ctx context.Context, why error) (before int, err error) {
	ctx = context.WithoutCancel(ctx)
	bounded, cancel := context.WithCancel(ctx)
	cancel()
	left, answered := arrival{}, true
	if p.h.e.Open() != nil {
		left, err = p.leave(ctx) // Close waits for it here
	} else {
		left, err, answered = send.Await(p.h.e.Sender, bounded, time.Second, func() (arrival, error) { return p.leave(ctx) })
	}
	switch {
	case err != nil || !answered:
		p.h.e.GiveBackLater(p, p.id, p.h.e.WatchdogTimeout)
		return 0, fmt.Errorf("%w: whether the barrier opened: %w", ErrOutcomeUnknown, why)
	case left.state == opened:
		p.generation = left.generation // which it may not have been told
		return left.arrived - 1, nil
	case left.state == never:
		return 0, why
	}
	return 0, fmt.Errorf("%w: %w", ErrBroken, why)
}

// leave asks how the party's generation ended, and breaks it if it has not ended.
func (p *participant) leave(ctx context.Context) (arrival, error) {
	return p.end(ctx, leaveScript, p.keys(), p.h.args(p.of))
}

// end runs a script that says how the party's generation has ended.
func (p *participant) end(ctx context.Context, s *scripts.Script, on, args []string) (arrival, error) {
	got, err := p.h.e.Run(ctx, s, on, args)
	if err != nil {
		return arrival{}, err
	}
	said, err := got.AsIntSlice()
	if err == nil && len(said) != 3 {
		err = fmt.Errorf("%s said %v", s.Name, said)
	}
	if err != nil {
		return arrival{}, err
	}
	return arrival{generation: decimal(said[2]), state: said[0], arrived: int(said[1])}, nil
}

// Key returns the kind and the mapped name.
func (p *participant) Key() core.Key { return core.Key{Kind: barrierLabel, Name: p.of.key} }

// Renewal returns that of all parties.
func (p *participant) Renewal() *lease.Renewal { return participantRenewal }

// GiveBack leaves, also the inside of a double barrier: its generation may have opened, although
// its caller got ErrOutcomeUnknown.
func (p *participant) GiveBack(ctx context.Context, _ string) (lease.Released, error) {
	at, err := p.leave(ctx)
	if err == nil && p.inside && at.state != never {
		_, _, err = p.h.depart(ctx, p.of, at.generation, p.id)
	}
	return lease.Released{Held: err == nil}, err
}

// Ended ends the wait: the lease is over, or the client closes.
func (p *participant) Ended(cause error) { p.lose(cause) }

// participantRenewal extends the leases of waiting parties.
var participantRenewal = &lease.Renewal{
	Script: keepScript,
	Add: func(k, args []string, key core.Key, owner string, lease time.Duration) ([]string, []string) {
		return append(k, key.Name, keys.BarrierWaiting(key.Name), keys.BarrierArrival(key.Name, owner)),
			append(args, owner, decimal(core.Millis(lease)), memory)
	},
	Apart: []*lease.Renewal{
		{
			Script: keepWaitingScript,
			Add: func(k, args []string, key core.Key, owner string, lease time.Duration) ([]string, []string) {
				return append(k, keys.BarrierWaiting(key.Name)), append(args, owner, decimal(core.Millis(lease)), memory)
			},
		},
		keepKey(func(key core.Key, owner string) string { return keys.BarrierArrival(key.Name, owner) }),
		keepKey(func(key core.Key, _ string) string { return key.Name }),
	},
}

// keepKey returns the part of a renewal for one key.
func keepKey(of func(key core.Key, owner string) string) *lease.Renewal {
	return &lease.Renewal{
		Script: keepKeyScript,
		Add: func(k, args []string, key core.Key, owner string, lease time.Duration) ([]string, []string) {
			return append(k, of(key, owner)), append(args, decimal(core.Millis(lease+send.RequestMemory)))
		},
	}
}
