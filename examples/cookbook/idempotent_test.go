package cookbook

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/queue/reliable"
	"github.com/rueidisson/rueidisson/rmap"
)

type Payment struct {
	Customer string
	Cents    int64
}

// Charge is the call of a payment provider, which ignores a second charge with the same key.
type Charge func(ctx context.Context, key string, p Payment) (receipt string, err error)

// servePayments charges each payment once, also if its message is redelivered.
func servePayments(ctx context.Context, c *rueidisson.Client, charge Charge) error {
	receipts := rmap.NewCache[int64, string](c, "receipts", rmap.WithTTL(7*24*time.Hour))
	payments := reliable.New[Payment](c, "payments")
	return payments.Serve(ctx, func(ctx context.Context, m *reliable.Message[Payment]) error {
		if _, charged, err := receipts.Get(ctx, m.ID); err != nil || charged {
			return err
		}
		receipt, err := charge(ctx, strconv.FormatInt(m.ID, 10), m.Value)
		if err != nil {
			return err // the message is redelivered after its backoff
		}
		return receipts.Put(ctx, m.ID, receipt)
	})
}

func Example_idempotentHandler() {
	c, stop := connect()
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	payments := reliable.New[Payment](c, "payments")
	for range 2 { // the caller did not get the first reply, and repeats
		_, err := payments.Add(ctx, Payment{Customer: "ann", Cents: 995}, reliable.WithDedup("order:42", time.Hour))
		fmt.Println("duplicate:", errors.Is(err, reliable.ErrDuplicate))
	}

	check(serveUntil(ctx, cancel, payments, func(ctx context.Context) error {
		return servePayments(ctx, c, func(_ context.Context, _ string, p Payment) (string, error) {
			fmt.Println("charged", p.Customer, p.Cents)
			return "r-1", nil
		})
	}))
	// Output:
	// duplicate: false
	// duplicate: true
	// charged ann 995
}
