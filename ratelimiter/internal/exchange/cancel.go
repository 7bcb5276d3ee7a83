package exchange

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
)

type cancelCall = combine.Call[bucket.Cancellation, struct{}]

// Cancel gives back what a reservation still holds.
func (h *hub) Cancel(ctx context.Context, x bucket.Cancellation) error {
	switch {
	case x.Left.Rule.Settled():
		return nil
	case x.Left.Rule.Type == bucket.PerClient:
		h.sleepers.Give([]bucket.Cancellation{x}, h.Engine.Mono(), h.onMeter)
		return nil
	}
	_, err := h.cancels.Do(ctx, x.State, x)
	return err
}

// giveBack cancels a reservation that nobody waits for, and that was due then.
// What cannot be given back is forfeited. Whoever calls it is a task that Close
// waits for, so that it can be done here if it is too late for another
// goroutine.
func (h *hub) giveBack(p Part, a bucket.State, due time.Duration) {
	x := bucket.Cancellation{State: p.state, Ticks: a.Rule.Ticks(p.N), Left: a, Unused: true, Due: due}
	switch {
	case a.Rule.Settled():
	case a.Rule.Type == bucket.PerClient:
		h.sleepers.Give([]bucket.Cancellation{x}, h.Engine.Mono(), h.onMeter)
	case !h.cancels.Post(p.state, x):
		_ = h.sendCancels(p.state, []*cancelCall{{Ask: x}})
	}
}

// cutCancels lets those go out together that were reserved by one rule.
func cutCancels(waiting []*cancelCall) int {
	for i, c := range waiting {
		if i == bucket.MaxRuns || c.Ask.Left.Rule.Generation != waiting[0].Ask.Left.Rule.Generation {
			return i
		}
	}
	return len(waiting)
}

// sendCancels gives back what it can of a batch, and of what those who left
// earlier still hold.
func (h *hub) sendCancels(state string, b []*cancelCall) error {
	all := make([]bucket.Cancellation, len(b))
	for i, one := range b {
		all[i] = one.Ask
	}
	defer func() { h.Standby.Refilled(state, h.Engine.Mono()) }()
	return h.sleepers.Give(all, h.Engine.Mono(), h.onServer)
}

// onServer makes one exchange.
func (h *hub) onServer(all []bucket.Cancellation) (back []int64, err error) {
	r := all[0].Left.Rule
	args := []string{r.Texts.Generation, r.Texts.Gain, r.Texts.PerToken, r.Texts.Full, r.Texts.Unit}
	for _, x := range all {
		unused := "0"
		if x.Unused {
			unused = "1"
		}
		args = append(args, bucket.Decimal(x.Ticks), bucket.Decimal(x.Waits()), bucket.Decimal(x.Left.AsOf), unused)
	}
	answer, err := h.Engine.Run(context.Background(), cancelScript, []string{all[0].State}, args)
	if err != nil {
		return nil, told(err)
	}
	back, err = answer.AsIntSlice()
	if err != nil || len(back) != len(all) && len(back) > 0 {
		return nil, fmt.Errorf("cancel.lua said %v: %w", back, errors.Join(err, core.ErrOutcomeUnknown))
	}
	return back, nil
}

// onMeter does what cancel.lua does.
func (h *hub) onMeter(all []bucket.Cancellation) (back []int64, err error) {
	for _, x := range all {
		back = append(back, h.Meters.Cancel(x, h.Engine.Now().Mono))
	}
	return back, nil
}
