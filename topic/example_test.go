package topic_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/topic"
)

// exampleClient is a client of the Redis or Valkey that a program has.
func exampleClient() (c *rueidisson.Client, stop func()) {
	s, err := embedded.Start()
	if err != nil {
		panic(err)
	}
	if c, err = rueidisson.New(s.ClientOption()); err != nil {
		panic(err)
	}
	return c, func() {
		c.Close(context.Background())
		s.Close()
	}
}

type Price struct {
	Name  string
	Cents int
}

func Example() {
	c, stop := exampleClient() // such as rueidisson.Open("redis://127.0.0.1:6379")
	defer stop()
	ctx := context.Background()

	prices := topic.New[Price](c, "prices")
	s, err := prices.Listen(ctx) // from now on nothing is missed
	if err != nil {
		panic(err)
	}
	defer s.Close()

	fmt.Println(prices.Publish(ctx, Price{"tea", 300}))
	for p, err := range s.Messages(ctx) {
		fmt.Println(p, err)
		break
	}
	// Output:
	// 1 <nil>
	// {tea 300} <nil>
}

// A loop that lags is told how many messages it has missed, and goes on.
func ExampleWithBuffer() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	ticks := topic.New[int](c, "ticks")
	slow, err := ticks.Listen(ctx, topic.WithBuffer(2))
	if err != nil {
		panic(err)
	}
	defer slow.Close()
	all, err := ticks.Listen(ctx)
	if err != nil {
		panic(err)
	}
	defer all.Close()
	for i := range 5 {
		if _, err := ticks.Publish(ctx, i); err != nil {
			panic(err)
		}
	}
	for i := range all.Messages(ctx) {
		if i == 4 { // so the slow one was given all of them, too
			break
		}
	}
	for i, err := range slow.Messages(ctx) {
		var lagged *topic.LaggedError
		if errors.As(err, &lagged) {
			fmt.Println("missed", lagged.Missed)
			continue
		}
		fmt.Println(i, err)
		if i == 4 {
			break
		}
	}
	// Output:
	// missed 3
	// 3 <nil>
	// 4 <nil>
}

func ExamplePattern() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	s, err := topic.NewPattern[string](c, "orders:*", topic.WithCodec(codec.Text)).Listen(ctx)
	if err != nil {
		panic(err)
	}
	defer s.Close()
	if _, err := topic.New[string](c, "orders:42", topic.WithCodec(codec.Text)).Publish(ctx, "paid"); err != nil {
		panic(err)
	}
	for m, err := range s.Messages(ctx) {
		fmt.Println(m.Channel, m.Value, err)
		break
	}
	// Output:
	// orders:42 paid <nil>
}

// A durable name gets every message, also those of times when nobody listens for it.
func ExampleReliable_Durable() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	orders := topic.NewReliable[string](c, "orders", topic.WithMaxLength(100_000))
	billing, err := orders.Durable("billing").Listen(ctx)
	if err != nil {
		panic(err)
	}
	billing.Close() // the process ends

	fmt.Println(orders.Publish(ctx, "order 42"))
	for order, err := range orders.Durable("billing").Subscribe(ctx) {
		fmt.Println(order, err)
		break // order 42 comes again: it was not handled
	}
	// Output:
	// 1 <nil>
	// order 42 <nil>
}

// A message that fails comes again, and is put aside behind its last attempt.
func ExampleDurable_Deliveries() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	billing := topic.NewReliable[string](c, "orders", topic.WithMaxLength(100_000)).Durable("billing")
	s, err := billing.Listen(ctx)
	if err != nil {
		panic(err)
	}
	defer s.Close()
	for _, order := range []string{"order 42", "order 43"} {
		if _, err := topic.NewReliable[string](c, "orders").Publish(ctx, order); err != nil {
			panic(err)
		}
	}
	for m, err := range s.Deliveries(ctx, topic.WithMaxAttempts(1)) {
		if err != nil {
			panic(err)
		}
		if m.Value == "order 42" {
			fmt.Println(m.Value, m.Nack(ctx, errors.New("no such customer")))
			continue
		}
		fmt.Println(m.Value, m.Ack(ctx))
		break
	}
	for dead, err := range billing.Dead(ctx) {
		fmt.Println(dead.Value, dead.Attempts, dead.Cause, err)
	}
	// Output:
	// order 42 <nil>
	// order 43 <nil>
	// order 42 1 no such customer <nil>
}

// A subscription tells when it stands, is lost and is restored, also while no loop reads.
func ExampleWithStatus() {
	c, stop := exampleClient()
	defer stop()

	s, err := topic.New[string](c, "prices").Listen(context.Background(), topic.WithStatus(func(s topic.Status) {
		fmt.Println(s)
	}))
	if err != nil {
		panic(err)
	}
	defer s.Close()
	// Output:
	// subscribed
}
