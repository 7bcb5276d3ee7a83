package ratelimiter

import (
	"cmp"
	"context"
	"slices"

	"github.com/rueidisson/rueidisson/internal/combine"
)

// cancellation is a reservation that is given back.
type cancellation struct {
	state  string
	n      int64
	a      bucket // as the reservation left it
	unused bool   // also if its time has come
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
		h.meters.cancel(x, h.e.Now().Mono)
		return nil
	}
	_, err := h.cancels.Do(ctx, x.state, x)
	return err
}

// giveBack cancels a reservation that nobody waits for. What cannot be given
// back is forfeited. Whoever calls it is a task that Close waits for, so that it
// can be done here if it is too late for another goroutine.
func (h *hub) giveBack(state string, n int64, a bucket) {
	x := cancellation{state, n, a, true}
	switch {
	case a.r.settled():
		return
	case a.r.Type == PerClient:
		h.meters.cancel(x, h.e.Now().Mono)
		return
	}
	if !h.cancels.Post(state, x) {
		_ = h.sendCancels(state, []*cancelCall{{Ask: x}})
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

// sendCancels is one exchange. The latest go first: who reserved early gets back
// only what nobody behind needs, so those behind have to be gone by then.
func (h *hub) sendCancels(state string, b []*cancelCall) error {
	all := make([]cancellation, len(b))
	for i, one := range b {
		all[i] = one.Ask
	}
	slices.SortStableFunc(all, func(x, y cancellation) int {
		return cmp.Or(cmp.Compare(y.due(), x.due()), cmp.Compare(y.waits()%y.a.r.gain, x.waits()%x.a.r.gain))
	})
	r := all[0].a.r
	args := []string{r.texts.generation, r.texts.gain, r.texts.perToken, r.texts.full, r.texts.unit}
	for _, x := range all {
		unused := "0"
		if x.unused {
			unused = "1"
		}
		args = append(args, decimal(r.ticks(x.n)), decimal(x.waits()), decimal(x.a.t), unused)
	}
	_, err := h.e.Run(context.Background(), cancelScript, []string{state}, args)
	h.forgetDenial(state)
	return told(err)
}

// waits is the ticks that the reservation had to wait for.
func (x cancellation) waits() int64 { return max(0, x.a.q-x.a.r.full) }

// due orders reservations by when they may be used.
func (x cancellation) due() int64 {
	return x.a.t + x.waits()/x.a.r.gain*x.a.r.unit
}
