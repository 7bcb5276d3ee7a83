package queue_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/queue"
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

	orders := queue.New[Order](c, "orders")
	if _, err := orders.Offer(ctx, Order{1, "tea"}, Order{2, "milk"}); err != nil {
		panic(err)
	}
	fmt.Println(orders.Poll(ctx))
	fmt.Println(orders.Take(ctx)) // waits, if there is none
	_, err := orders.Poll(ctx)
	fmt.Println(errors.Is(err, queue.ErrEmpty))
	// Output:
	// {1 tea} <nil>
	// {2 milk} <nil>
	// true
}

// A worker takes what comes until it is told to end. Any number of them, of any
// number of queues, share a connection.
func ExampleQueue_Consume() {
	c, stop := exampleClient()
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	jobs := queue.New[string](c, "jobs")
	if _, err := jobs.Offer(ctx, "one", "two", "last"); err != nil {
		panic(err)
	}
	for job, err := range jobs.Consume(ctx) {
		if errors.Is(err, queue.ErrDecode) {
			continue // its bytes are in the error
		}
		if err != nil {
			fmt.Println("ended:", ctx.Err())
			break
		}
		fmt.Println(job)
		if job == "last" {
			cancel()
		}
	}
	// Output:
	// one
	// two
	// last
	// ended: context canceled
}

// What is copied is a queue of its own.
func ExampleQueue_Copy() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	orders, backup := queue.New[string](c, "orders"), queue.New[string](c, "orders-backup")
	if _, err := orders.Offer(ctx, "tea", "milk"); err != nil {
		panic(err)
	}
	fmt.Println(orders.Copy(ctx, backup.Name()))
	fmt.Println(orders.Poll(ctx))
	fmt.Println(orders.Copy(ctx, backup.Name())) // nothing is written over
	fmt.Println(backup.Len(ctx))
	// Output:
	// true <nil>
	// tea <nil>
	// false <nil>
	// 2 <nil>
}

// Urgent jobs go first.
func ExampleTakeAny() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	urgent, later := queue.New[string](c, "urgent"), queue.New[string](c, "later")
	if _, err := later.Offer(ctx, "sweep"); err != nil {
		panic(err)
	}
	if _, err := urgent.Offer(ctx, "fire"); err != nil {
		panic(err)
	}
	for range 2 {
		job, from, err := queue.TakeAny(ctx, urgent, later)
		fmt.Println(job, from.Name(), err)
	}
	// Output:
	// fire urgent <nil>
	// sweep later <nil>
}

// Who offers to a full queue waits, or is told.
func ExampleBounded() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	parts := queue.NewBounded[string](c, "parts")
	if _, err := parts.TrySetCapacity(ctx, 1); err != nil {
		panic(err)
	}
	if _, err := parts.Offer(ctx, "wheel"); err != nil {
		panic(err)
	}
	_, err := parts.TryOffer(ctx, "bell", queue.WithWait(10*time.Millisecond))
	fmt.Println(errors.Is(err, queue.ErrFull))
	fmt.Println(parts.Take(ctx))
	_, err = parts.TryOffer(ctx, "bell")
	fmt.Println(err)
	// Output:
	// true
	// wheel <nil>
	// <nil>
}

// An order that is not paid in time is canceled. Whoever is paid removes it before.
func ExampleDelayed() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	unpaid := queue.NewDelayed[string](c, "unpaid")
	for _, order := range []string{"tea", "milk"} {
		if _, err := unpaid.Offer(ctx, order, time.Second); err != nil {
			panic(err)
		}
	}
	paid, err := unpaid.Remove(ctx, "tea", 1)
	fmt.Println(paid, err)
	fmt.Println(unpaid.Take(ctx)) // waits, and moves what is due meanwhile
	// Output:
	// 1 <nil>
	// milk <nil>
}

// The most urgent comes first, whenever it was offered.
func ExamplePriority() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	jobs := queue.NewPriority[string](c, "jobs")
	for urgency, job := range []string{"page somebody", "send the invoice", "tidy up"} {
		if _, err := jobs.Offer(ctx, job, float64(urgency)); err != nil {
			panic(err)
		}
	}
	fmt.Println(jobs.Take(ctx)) // waits, if there is none
	fmt.Println(jobs.PollLast(ctx))
	// Output:
	// {page somebody 0} <nil>
	// {tidy up 2} <nil>
}
