package guide

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

type Shipment struct {
	Customer string
	Parcel   string
}

var errNoAddress = errors.New("the customer has no address")

// shipments returns the queue with its terms: five attempts, which are a second apart, then two, four and eight.
func shipments(c *rueidisson.Client) *reliable.Queue[Shipment] {
	return reliable.New[Shipment](c, "shipments",
		reliable.WithMaxAttempts(5),
		reliable.WithBackoff(func(attempt int) time.Duration { return time.Second << (attempt - 1) }),
		reliable.WithDeadLimit(1000, 30*24*time.Hour))
}

// ship adds a shipment. The parcels of a customer are handled in their order. A repeated call adds nothing.
func ship(ctx context.Context, c *rueidisson.Client, s Shipment) error {
	_, err := shipments(c).Add(ctx, s,
		reliable.WithGroup(s.Customer),
		reliable.WithDedup(s.Parcel, 24*time.Hour))
	if errors.Is(err, reliable.ErrDuplicate) {
		return nil
	}
	return err // rueidisson.ErrOutcomeUnknown: call again, the key makes that safe
}

// work handles shipments with 16 goroutines until ctx ends. Then handlers have ten seconds to finish.
func work(ctx context.Context, c *rueidisson.Client, carry func(ctx context.Context, s Shipment) error) error {
	return shipments(c).Serve(ctx, func(ctx context.Context, m *reliable.Message[Shipment]) error {
		err := carry(ctx, m.Value) // ctx is cancelled before the message is redelivered
		if errors.Is(err, errNoAddress) {
			return reliable.Discard(err) // another attempt would not help: it becomes a dead letter
		}
		return err // nil acknowledges; another error has the message redelivered after its backoff
	}, reliable.WithConcurrency(16), reliable.WithGrace(10*time.Second))
}

// repair delivers all dead letters again, after their cause was removed.
func repair(ctx context.Context, c *rueidisson.Client) (int64, error) {
	return shipments(c).RedriveAll(ctx)
}

// shipNow ships an order, or says what became of it.
func shipNow(ctx context.Context, c *rueidisson.Client, s Shipment) error {
	id, err := shipments(c).Transfer(ctx, s)
	switch {
	case err == nil:
		return nil // a consumer has acknowledged it
	case errors.Is(err, reliable.ErrTaken):
		return fmt.Errorf("shipment %d may have begun, and is delivered no more: %w", id, err)
	case errors.Is(err, reliable.ErrOutcomeUnknown):
		return fmt.Errorf("shipment %d may be done, or may follow: %w", id, err)
	}
	return err // ErrRemoved, ErrExpired, ErrFull …: no consumer has had it. ErrBuried: its attempts were used up
}

func Example_reliableQueue() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	check(ship(ctx, c, Shipment{"ann", "p1"}))
	check(ship(ctx, c, Shipment{"ann", "p1"}))
	serve := func(done func(s reliable.Stats) bool, carry func(ctx context.Context, s Shipment) error) {
		working, end := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- work(working, c, carry) }()
		until(func() bool {
			s, err := shipments(c).Stats(ctx)
			check(err)
			return done(s)
		})
		end()
		check(<-ended)
	}
	serve(func(s reliable.Stats) bool { return s.Dead == 1 }, func(context.Context, Shipment) error { return errNoAddress })
	fmt.Println(repair(ctx, c))
	serve(func(s reliable.Stats) bool { return s.Acked == 1 }, func(_ context.Context, s Shipment) error {
		fmt.Println("ships", s.Parcel)
		return nil
	})
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	fmt.Println("nobody ships:", errors.Is(shipNow(short, c, Shipment{"ann", "p2"}), reliable.ErrRemoved))
	// Output:
	// 1 <nil>
	// ships p1
	// nobody ships: true
}
