package latch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Barrier is a handle on the barrier of one name: a place where a number of parties wait for each
// other, again and again. It has no state. Any number of goroutines may use it, and all handles on
// one name are the same barrier.
type Barrier struct {
	h       *barriers
	of      *site
	name    string // as the caller wrote it
	parties int
	action  func(ctx context.Context) error // of the last party; nil: there is none
	bad     error                           // what every operation returns, if an argument cannot be used
}

// NewBarrier returns a handle on the barrier of that name. Programs call client.Barrier(name,
// parties), which returns the same. NewBarrier is for packages that take a [Client] and do not
// import rueidisson.
func NewBarrier(c Client, name string, parties int, opts ...BarrierOption) *Barrier {
	e := c.Engine()
	h := e.Shared(barriersKey{}, func() any {
		h := &barriers{e: e}
		makeWaiters(e, &h.places, func(name string) protocol { return &barrierProtocol{h, newSite(name)} })
		makeWaiters(e, &h.insides, func(name string) protocol { return &insideProtocol{h, newSite(name)} })
		return h
	}).(*barriers)
	b := &Barrier{h: h, of: newSite(e.Map(name)), name: name, parties: parties}
	given, err := object.Options(barrierConfig{}, opts, BarrierOption.applyBarrier)
	b.action, b.bad = given.action, cmp.Or(err, object.CheckName(e, b.of.key))
	if b.bad == nil && (parties < 1 || parties > math.MaxInt32) {
		b.bad = fmt.Errorf("%w: %d parties: from 1 to %d", ErrInvalidArgument, parties, math.MaxInt32)
	}
	return b
}

// Name returns the name that the handle was made with, before any mapping.
func (b *Barrier) Name() string { return b.name }

// Parties returns the number of parties that have to arrive.
func (b *Barrier) Parties() int { return b.parties }

// Await arrives at the barrier and waits until all parties have arrived. It returns how many had
// arrived before: 0 for the first, one less than the number of parties for the last. Then the
// barrier is ready for the next generation.
//
// All parties of a generation pass, or none. If one of them gives up, Await returns [ErrBroken] for
// all of them. A party gives up when its context ends, its client closes, or it dies, which is
// detected when its lease ends (a watchdog timeout). The next party that arrives begins a new
// generation.
//
// A party whose context ends learns the outcome of its generation within two seconds, and passes if
// all had arrived by then. Else its error wraps the context's, and ErrBroken, or
// [ErrOutcomeUnknown] if the server does not answer. The context's error alone says that the party
// never arrived.
//
// The client renews a party while it waits. The party sleeps until the end of its generation is
// announced, until another party's lease ends, or for 5 s at most. If the server does not answer,
// it waits for up to a watchdog timeout. During a slot migration it waits for as long as ctx lasts.
//
// Cost: one script call to arrive; one for all of a process when a generation ends. A process that
// waits has one subscription per name.
// Errors: ErrBroken; [ErrInvalidArgument], also if others wait there for another number of parties,
// which it names; ErrOutcomeUnknown; ctx's error and cause; [ErrClosed]; those of Redis and of the
// network.
// Source: ours; Redisson has none.
func (b *Barrier) Await(ctx context.Context) (before int, err error) {
	err = b.usable(ctx)
	if err == nil && !b.h.e.During(func() { before, err = b.h.await(ctx, b.participant()) }) {
		err = ErrClosed
	}
	if err != nil {
		return 0, b.failed("await", err)
	}
	return before, nil
}

// participant returns a participant that is about to arrive.
func (b *Barrier) participant() *participant {
	return &participant{h: b.h, of: b.of, id: b.h.e.IDs.Private(), parties: b.parties, action: b.action, opens: b.action != nil}
}

// Waiting returns how many parties wait at the barrier: 0 also if it does not exist. A party that
// died counts until its lease ends. ctx bounds the round trip.
//
// Cost: one script call, which only reads.
// Errors: [ErrInvalidArgument]; ctx's error and cause; [ErrClosed]; those of Redis and of the
// network.
// Source: ours; a CyclicBarrier of Java has getNumberWaiting.
func (b *Barrier) Waiting(ctx context.Context) (int, error) {
	_, n, err := b.look(ctx)
	return n, b.failed("look at", err)
}

// Reset breaks the present generation, and reports whether it did: Await returns [ErrBroken] to its
// waiters, and the next party that arrives begins a new generation. Without waiters it does
// nothing. A generation that ends meanwhile is not broken.
//
// ctx ends the wait for the answer; the call may still take effect then.
//
// Cost: two script calls, one without waiters.
// Errors: as [Barrier.Waiting]; [ErrOutcomeUnknown].
// Source: ours; a CyclicBarrier of Java has reset.
func (b *Barrier) Reset(ctx context.Context) (bool, error) {
	generation, n, err := b.look(ctx)
	if err != nil || n == 0 {
		return false, b.failed("reset", err)
	}
	did, err := send.Writing(b.h.e.Sender, ctx, func() (bool, error) {
		got, err := b.h.e.Run(ctx, resetScript, []string{b.of.key, b.of.waiting, b.of.opened}, append(b.h.args(b.of), generation))
		if err != nil {
			return false, err
		}
		n, err := got.AsInt64()
		return n == 1 || n == 2 && got.Replayed, err // of two sends, the first did it
	})
	return did, b.failed("reset", err)
}

// Delete deletes the barrier, and reports whether there was one. Await returns [ErrBroken] to its
// waiters, and the next party that arrives makes a new barrier, of any number of parties. Members
// of a [DoubleBarrier] stay members until they leave. A barrier also expires without Delete, 45 s
// after its last generation.
//
// ctx ends the wait for the answer; the call may still take effect then.
//
// Cost: two script calls, one if there is none; two more each time that a generation ends meanwhile.
// Errors: as [Barrier.Waiting]; [ErrOutcomeUnknown].
// Source: ours, as RObject.delete.
func (b *Barrier) Delete(ctx context.Context) (bool, error) {
	for {
		generation, _, err := b.look(ctx)
		if err != nil || generation == "0" {
			return false, b.failed("delete", err)
		}
		var did, next bool
		did, err = send.Writing(b.h.e.Sender, ctx, func() (bool, error) {
			got, err := b.h.e.Run(ctx, forgetScript, []string{b.of.key, b.of.waiting, b.of.opened}, append(b.h.args(b.of), generation))
			if err != nil {
				return false, err
			}
			n, err := got.AsInt64()
			// Of two sends, the first may have deleted it. It has not if the generation opened.
			next = n == 2 || n == 3 && !got.Replayed
			return n == 1 || n != 2 && got.Replayed, err
		})
		if err != nil || !next {
			return did, b.failed("delete", err)
		}
	}
}

// look returns the present generation, and how many parties wait.
func (b *Barrier) look(ctx context.Context) (generation string, n int, err error) {
	if err := b.usable(ctx); err != nil {
		return "", 0, err
	}
	said, err := send.Reading(b.h.e.Sender, ctx, func() ([]int64, error) {
		got, err := b.h.e.Run(ctx, waitingScript, []string{b.of.key, b.of.waiting, b.of.opened}, b.h.args(b.of))
		if err != nil {
			return nil, err
		}
		return got.AsIntSlice()
	})
	switch {
	case err != nil:
		return "", 0, err
	case len(said) != 2:
		return "", 0, fmt.Errorf("waiting.lua said %v", said)
	}
	return decimal(said[0]), int(said[1]), nil
}

// failed adds the operation and the barrier to err, and notifies the observer.
func (b *Barrier) failed(op string, err error) error {
	b.h.e.Outcome(barrierLabel, b.of.key, op, err)
	return object.Failed(op, "barrier", b.name, object.Typed(b.of.key, err))
}

func (b *Barrier) usable(ctx context.Context) error { return object.Usable(ctx, b.h.e, b.bad) }

// site is one barrier on the server.
type site struct{ key, channel, waiting, opened string }

func newSite(mapped string) *site {
	return &site{mapped, keys.BarrierChannel(mapped), keys.BarrierWaiting(mapped), keys.BarrierOpened(mapped)}
}

// barriers is shared by the barriers of one client.
type barriers struct {
	e       *locking.Engine
	places  places.Places[string, *waiters]
	insides places.Places[string, *waiters] // members that leave
}

type barriersKey struct{}

// barrierLabel is the name of a barrier for the observer.
const barrierLabel = "barrier"

// barrierProtocol waits at a barrier, for the end of one's generation.
type barrierProtocol struct {
	h  *barriers
	of *site
}

func (n *barrierProtocol) key() core.Key { return core.Key{Kind: barrierLabel, Name: n.of.key} }

func (n *barrierProtocol) channel() string { return n.of.channel }

// look ends the waits whose generation is over.
func (n *barrierProtocol) look(ctx context.Context, g *waiters) (verdict, time.Duration, error) {
	of := g.generations()
	got, err := n.h.e.Run(ctx, watchScript, []string{n.of.key, n.of.waiting, n.of.opened}, append(n.h.args(n.of), of...))
	if err != nil {
		return nil, -1, err
	}
	said, err := got.AsIntSlice()
	switch {
	case err != nil:
		return nil, -1, err
	case len(said) != 1+len(of):
		return nil, -1, fmt.Errorf("watch.lua said %v", said)
	}
	states := make(map[string]int64, len(of))
	for i, generation := range of {
		states[generation] = said[1+i]
	}
	return func(w *waiter) (over bool, err error) {
		switch states[w.generation] {
		case opened:
			return true, nil
		case broken:
			return true, ErrBroken
		}
		return false, nil
	}, left(said[0]), nil
}

// left returns the time until the first lease ends.
func left(ms int64) time.Duration {
	if ms < 0 {
		return -1
	}
	return time.Duration(ms) * time.Millisecond
}

// The states of a generation.
const (
	present = iota
	opened
	broken
	never // of a party that has not arrived, and never will
	last  // the party is the last one, and is to open the generation
	full  // the party has not arrived, as another is about to open the generation
)

// args returns those that all scripts of a barrier begin with.
func (h *barriers) args(of *site) []string { return []string{memory, of.channel, h.e.Publish()} }

// await makes one arrival.
func (h *barriers) await(ctx context.Context, p *participant) (before int, err error) {
	at, err := p.enter(ctx)
	p.generation = at.generation
	switch {
	case errors.Is(err, ErrInvalidArgument) || err != nil && send.Permanent(err) && !errors.Is(err, ErrClosed):
		return 0, err
	case err != nil: // it may have been done, or may be yet
		return p.giveUp(ctx, err)
	case at.state == opened:
		return at.arrived - 1, nil
	case at.state == broken:
		return 0, ErrBroken
	case at.state == last:
		return p.open(ctx, at)
	}
	return p.wait(ctx, at)
}
