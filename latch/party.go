package latch

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// party is one that has arrived at a barrier, or is about to.
type party struct {
	h       *barriers
	of      *site
	id      string // fresh for each arrival
	parties int

	lose context.CancelCauseFunc // ends its wait
}

// arrival is what the server made of one.
type arrival struct {
	generation string
	state      int64
	arrived    int
	started    watchdog.Instant
}

// arrive asks until there is an answer: a second request finds the first one's.
func (p *party) arrive(ctx context.Context) (at arrival, err error) {
	err = p.h.e.Watch(ctx, engine.Watch{
		Key: p.Key(),
		Look: func(ctx context.Context) (left time.Duration, done bool, err error) {
			got, err, answered := engine.Await(p.h.e, ctx, time.Second, func() (arrival, error) { return p.ask(ctx) })
			if answered && err == nil {
				at = got
			}
			return -1, err == nil, err
		},
	})
	return at, err
}

func (p *party) keys() []string {
	return []string{p.of.key, p.of.waiting, p.of.opened, keys.BarrierArrival(p.of.key, p.id)}
}

func (p *party) ask(ctx context.Context) (at arrival, err error) {
	e := p.h.e
	got, err := e.Run(ctx, arriveScript, p.keys(),
		append(p.h.args(p.of), p.id, strconv.Itoa(p.parties), e.Millis(e.WatchdogTimeout)))
	if err != nil {
		return at, err
	}
	said, err := got.AsIntSlice()
	switch {
	case err != nil:
		return at, err
	case len(said) == 1:
		return at, fmt.Errorf("%w: others wait there for %d parties, not for %d", ErrOption, said[0], p.parties)
	case len(said) != 4:
		return at, fmt.Errorf("arrive.lua said %v", said)
	}
	return arrival{decimal(said[0]), said[1], int(said[2]), got.Started}, nil
}

// wait waits for the end of the generation, under a lease that is renewed.
func (p *party) wait(ctx context.Context, at arrival) error {
	ctx, p.lose = context.WithCancelCause(ctx)
	defer p.lose(nil)
	e := p.h.e
	grant := e.NewGrant(p, p.id, at.started, e.WatchdogTimeout, e.WatchdogTimeout/3, watchdog.Instant{}, p)
	defer grant.Finish(engine.ErrReleased)
	w := newWaiter()
	w.generation = at.generation
	g := p.h.gates.Get(p.of.key)
	defer p.h.gates.Put(p.of.key, g)
	switch err := g.await(ctx, w); err {
	case nil, ErrBroken:
		return err
	default:
		return p.giveUp(ctx, err)
	}
}

// giveUp breaks the generation because of why, unless that is over: then it is
// said how. All of a generation end alike.
func (p *party) giveUp(ctx context.Context, why error) error {
	ctx = context.WithoutCancel(ctx)
	bounded, cancel := context.WithCancel(ctx)
	cancel()
	state, err, answered := int64(0), error(nil), true
	if p.h.e.Open() != nil {
		state, err = p.leave(ctx) // Close waits for it here
	} else {
		state, err, answered = engine.Await(p.h.e, bounded, time.Second, func() (int64, error) { return p.leave(ctx) })
	}
	switch {
	case err != nil || !answered:
		p.h.e.GiveBackLater(p, p.id, p.h.e.WatchdogTimeout)
		return fmt.Errorf("%w: whether the barrier opened: %w", ErrUnknown, why)
	case state == opened:
		return nil
	}
	return fmt.Errorf("%w: %w", ErrBroken, why)
}

func (p *party) leave(ctx context.Context) (state int64, err error) {
	got, err := p.h.e.Run(ctx, leaveScript, p.keys(), p.h.args(p.of))
	if err != nil {
		return 0, err
	}
	return got.AsInt64()
}

// Key is the kind and the mapped name.
func (p *party) Key() engine.Key { return engine.Key{Kind: barrierLabel, Name: p.of.key} }

// Renewal is that of all parties.
func (p *party) Renewal() *engine.Renewal { return partyRenewal }

// GiveBack leaves.
func (p *party) GiveBack(ctx context.Context, _ string) (engine.Released, error) {
	_, err := p.leave(ctx)
	return engine.Released{Held: err == nil}, err
}

// Ended ends the wait: the lease is over, or the client closes.
func (p *party) Ended(cause error) { p.lose(cause) }

// partyRenewal is how the leases of parties that wait are lengthened.
var partyRenewal = &engine.Renewal{
	Script: keepScript,
	Add: func(k, args []string, key engine.Key, owner string, lease time.Duration) ([]string, []string) {
		return append(k, key.Name, keys.BarrierWaiting(key.Name), keys.BarrierArrival(key.Name, owner)),
			append(args, owner, decimal(engine.Millis(lease)), memory)
	},
	Apart: []*engine.Renewal{
		{
			Script: keepWaitingScript,
			Add: func(k, args []string, key engine.Key, owner string, lease time.Duration) ([]string, []string) {
				return append(k, keys.BarrierWaiting(key.Name)), append(args, owner, decimal(engine.Millis(lease)), memory)
			},
		},
		keepKey(func(key engine.Key, owner string) string { return keys.BarrierArrival(key.Name, owner) }),
		keepKey(func(key engine.Key, _ string) string { return key.Name }),
	},
}

// keepKey is the part of a renewal that is about one key.
func keepKey(of func(key engine.Key, owner string) string) *engine.Renewal {
	return &engine.Renewal{
		Script: keepKeyScript,
		Add: func(k, args []string, key engine.Key, owner string, lease time.Duration) ([]string, []string) {
			return append(k, of(key, owner)), append(args, decimal(engine.Millis(lease+engine.RequestMemory)))
		},
	}
}
