package admission

import (
	"context"
	"errors"
	"sync"

	"github.com/rueidisson/rueidisson/ratelimiter"
)

// bill is what a request has paid so far.
type bill struct {
	mu   sync.Mutex
	paid []int64 // tokens of each limit; nil: what the decision took
	told int64   // what limits in shadow know of, once paid is not nil
}

// Settle makes n what the request has paid in all, of all limits at the same time. It is done also if ctx has ended,
// within the timeout. A settlement without an answer counts as made.
func (t *Ticket) Settle(ctx context.Context, n int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.gate.timeout)
	defer cancel()
	t.bill.mu.Lock()
	defer t.bill.mu.Unlock()
	return t.settle(ctx, n)
}

// settle is Settle with the mutex held.
func (t *Ticket) settle(ctx context.Context, n int64) error {
	if t.bill.paid == nil {
		for range t.buckets {
			t.bill.paid = append(t.bill.paid, t.cost)
		}
		t.bill.told = t.cost
	}
	t.settleShadows(ctx, t.bill.told, n)
	t.bill.told = n
	var all sync.WaitGroup // and no errgroup, which returns the first error alone
	errs := make([]error, len(t.buckets))
	for i := range t.buckets {
		all.Go(func() {
			errs[i] = t.buckets[i].Settle(ctx, t.bill.paid[i], n)
			if errs[i] == nil || errors.Is(errs[i], ratelimiter.ErrOutcomeUnknown) || ctx.Err() != nil {
				t.bill.paid[i] = n
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// GiveBack refunds what the request has paid. It is done also if ctx has ended, within the timeout.
func (t *Ticket) GiveBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.gate.timeout)
	defer cancel()
	t.bill.mu.Lock()
	defer t.bill.mu.Unlock()
	if t.bill.paid != nil {
		return t.settle(ctx, 0)
	}
	t.bill.paid, t.bill.told = make([]int64, len(t.buckets)), 0
	t.settleShadows(ctx, t.cost, 0)
	if len(t.buckets) == 1 { // All has no rates per client
		return t.buckets[0].Refund(ctx, t.cost)
	}
	return all(t.buckets).Refund(ctx, t.cost)
}

// settleShadows tells the limits in shadow what the request costs now.
func (t *Ticket) settleShadows(ctx context.Context, before, n int64) {
	for _, s := range t.shadows {
		s.Settle(ctx, before, n)
	}
}
