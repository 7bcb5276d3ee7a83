package reliable_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/queue/reliable"
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

type Order struct {
	ID   int
	Item string
}

func Example() {
	c, stop := exampleClient() // such as rueidisson.Open("redis://127.0.0.1:6379")
	defer stop()
	ctx := context.Background()

	orders := reliable.New[Order](c, "orders")
	if _, err := orders.Add(ctx, Order{1, "tea"}, reliable.WithUnique("order:1")); err != nil {
		fmt.Println(err)
		return
	}
	_, err := orders.Add(ctx, Order{1, "tea"}, reliable.WithUnique("order:1"))
	fmt.Println(errors.Is(err, reliable.ErrDuplicate))

	pack := func(_ context.Context, o Order, attempt int) error {
		if attempt == 1 {
			return errors.New("no paper")
		}
		fmt.Println("packed", o.Item)
		return nil
	}
	for m, err := range orders.Consume(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := pack(m.Context(ctx), m.Value, m.Attempt); err != nil {
			fmt.Println(m.Nack(ctx, err, reliable.WithDelay(10*time.Millisecond)))
			continue
		}
		fmt.Println(m.Ack(ctx))
		break
	}
	// Output:
	// true
	// <nil>
	// packed tea
	// <nil>
}

func ExampleServeAll() {
	c, stop := exampleClient() // such as rueidisson.Open("redis://127.0.0.1:6379")
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())

	orders := reliable.New[Order](c, "orders")
	mails := reliable.New[string](c, "mails")
	if _, err := mails.Add(ctx, "ann"); err != nil {
		fmt.Println(err)
	}
	if _, err := orders.Add(ctx, Order{1, "tea"}); err != nil {
		fmt.Println(err)
	}
	err := reliable.ServeAll(ctx, 1,
		orders.With(func(_ context.Context, m *reliable.Message[Order]) error {
			fmt.Println("packed", m.Value.Item)
			return nil
		}),
		mails.With(func(_ context.Context, m *reliable.Message[string]) error {
			fmt.Println("mailed", m.Value)
			cancel()
			return nil
		}),
	)
	fmt.Println(err)
	// Output:
	// packed tea
	// mailed ann
	// <nil>
}

// A caller waits until its message is done, and learns what became of it.
func ExampleQueue_Transfer() {
	c, stop := exampleClient()
	defer stop()
	ctx, end := context.WithCancel(context.Background())
	defer end()
	orders := reliable.New[Order](c, "orders")

	// There is no consumer yet.
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	_, err := orders.Transfer(short, Order{1, "tea"})
	cancel()
	fmt.Println(errors.Is(err, reliable.ErrRemoved), errors.Is(err, reliable.ErrTaken), errors.Is(err, context.DeadlineExceeded))

	go orders.Serve(ctx, func(_ context.Context, m *reliable.Message[Order]) error {
		fmt.Println("packed", m.Value.Item)
		if m.Value.Item == "glass" {
			return reliable.Discard(errors.New("it broke"))
		}
		return nil
	})
	_, err = orders.Transfer(ctx, Order{2, "coffee"})
	fmt.Println(err)
	_, err = orders.Transfer(ctx, Order{3, "glass"})
	fmt.Println(errors.Is(err, reliable.ErrBuried))
	// Output:
	// true false true
	// packed coffee
	// <nil>
	// packed glass
	// true
}
