package latch

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
)

// state is what a look found.
type state struct {
	count  int64
	opened int64 // when it opened last, µs of the server's clock; 0: nobody remembers
	armed  int64 // when it was armed; 0: nobody knows
	left   int64 // ms until it opens by itself; below 0: it does not
}

func (h *hub) state(ctx context.Context, of *names) (state, error) {
	got, err := h.e.Run(ctx, lookScript, []string{of.key, of.parties, of.opened, of.armed}, nil)
	if err != nil {
		return state{}, err
	}
	said, err := got.AsIntSlice()
	switch {
	case err != nil:
		return state{}, err
	case len(said) != 4:
		return state{}, fmt.Errorf("look.lua said %v", said)
	}
	return state{max(said[0], 0), said[1], said[2], said[3]}, nil
}

// opening is what is waited for at a latch.
type opening struct {
	h  *hub
	of *names
}

// label is what the observer calls a latch.
const label = "latch"

func (o *opening) key() core.Key { return core.Key{Kind: label, Name: o.of.key} }

func (o *opening) channel() string { return o.of.channel }

// look lets those pass who see that nothing is left, or that the latch has opened or its
// time was over since their first look, though it is armed again.
func (o *opening) look(ctx context.Context, _ *gate) (verdict, time.Duration, error) {
	now, err := o.h.state(ctx, o.of)
	if err != nil {
		return nil, -1, err
	}
	return func(w *waiter) (over bool, err error) {
		if !w.looked {
			w.opened, w.armed = now.opened, now.armed
		}
		again := now.armed != 0 && now.armed != w.armed
		return now.count == 0 || now.opened > w.opened || again, nil
	}, left(now.left), nil
}

// await waits until the latch is open.
func (h *hub) await(ctx context.Context, of *names) error {
	g := h.gates.Get(of.key)
	defer h.gates.Put(of.key, g)
	return g.await(ctx, newWaiter())
}
