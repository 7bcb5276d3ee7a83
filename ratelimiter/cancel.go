package ratelimiter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/internal/combine"
)

// cancellation is a reservation that is given back.
type cancellation struct {
	state  string
	ticks  int64  // that are held still
	a      bucket // as the reservation left it
	unused bool   // also if its time has come
	due    time.Duration
}

type (
	cancelTable = combine.Table[string, cancellation, struct{}]
	cancelCall  = combine.Call[cancellation, struct{}]
)

func (h *hub) newCancelTable() *cancelTable {
	return combine.New(combine.Config[string, cancellation, struct{}]{
		Send: func(state string, _ int, b []*cancelCall) error { return h.sendCancels(state, b) },
		Cut:  cutCancels, Spawn: h.e.Spawn, Closed: ErrClosed,
	})
}

// cancel gives back what a reservation still holds.
func (h *hub) cancel(ctx context.Context, x cancellation) error {
	switch {
	case x.a.r.settled():
		return nil
	case x.a.r.Type == PerClient:
		h.sleepers.give([]cancellation{x}, h.e.Mono(), h.onMeter)
		return nil
	}
	_, err := h.cancels.Do(ctx, x.state, x)
	return err
}

// giveBack cancels a reservation that nobody waits for, and that was due then.
// What cannot be given back is forfeited. Whoever calls it is a task that Close
// waits for, so that it can be done here if it is too late for another
// goroutine.
func (h *hub) giveBack(p part, a bucket, due time.Duration) {
	x := cancellation{p.state, a.r.ticks(p.n), a, true, due}
	switch {
	case a.r.settled():
	case a.r.Type == PerClient:
		h.sleepers.give([]cancellation{x}, h.e.Mono(), h.onMeter)
	case !h.cancels.Post(p.state, x):
		_ = h.sendCancels(p.state, []*cancelCall{{Ask: x}})
	}
}

// cutCancels lets those go out together that were reserved by one rule.
func cutCancels(waiting []*cancelCall) int {
	for i, c := range waiting {
		if i == maxRuns || c.Ask.a.r.generation != waiting[0].Ask.a.r.generation {
			return i
		}
	}
	return len(waiting)
}

// sendCancels gives back what it can of a batch, and of what those who left
// earlier still hold.
func (h *hub) sendCancels(state string, b []*cancelCall) error {
	all := make([]cancellation, len(b))
	for i, one := range b {
		all[i] = one.Ask
	}
	defer h.forgetDenial(state)
	return h.sleepers.give(all, h.e.Mono(), h.onServer)
}

// onServer is one exchange.
func (h *hub) onServer(all []cancellation) (back []int64, err error) {
	r := all[0].a.r
	args := []string{r.texts.generation, r.texts.gain, r.texts.perToken, r.texts.full, r.texts.unit}
	for _, x := range all {
		unused := "0"
		if x.unused {
			unused = "1"
		}
		args = append(args, decimal(x.ticks), decimal(x.waits()), decimal(x.a.t), unused)
	}
	answer, err := h.e.Run(context.Background(), cancelScript, []string{all[0].state}, args)
	if err != nil {
		return nil, told(err)
	}
	back, err = answer.AsIntSlice()
	if err != nil || len(back) != len(all) && len(back) > 0 {
		return nil, fmt.Errorf("cancel.lua said %v: %w", back, errors.Join(err, ErrUnknown))
	}
	return back, nil
}

// onMeter does what cancel.lua does.
func (h *hub) onMeter(all []cancellation) (back []int64, err error) {
	for _, x := range all {
		back = append(back, h.meters.cancel(x, h.e.Now().Mono))
	}
	return back, nil
}

// waits is the ticks that the reservation had to wait for.
func (x cancellation) waits() int64 { return max(0, x.a.q-x.a.r.full) }

// begins is when it may be used, by the clock that counts it.
func (x cancellation) begins() int64 {
	return x.a.t + x.waits()/x.a.r.gain*x.a.r.unit
}

// latestFirst is the order in which reservations go back: who reserved early gets
// back only what nobody behind needs, so those behind have to be gone by then.
func latestFirst(all []cancellation) {
	slices.SortStableFunc(all, func(x, y cancellation) int { return earlierFirst(y, x) })
}

func earlierFirst(x, y cancellation) int {
	return cmp.Or(cmp.Compare(x.begins(), y.begins()), cmp.Compare(x.waits()%x.a.r.gain, y.waits()%y.a.r.gain))
}
