package semaphore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/semaphore"
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

// No more than three reports are made at the same time in a whole fleet.
func Example() {
	c, stop := exampleClient() // such as rueidisson.Open("redis://127.0.0.1:6379")
	defer stop()
	ctx := context.Background()

	reports := c.Semaphore("reports")
	if _, err := reports.TrySetPermits(ctx, 3); err != nil { // whoever comes first
		panic(err)
	}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if err := reports.Acquire(ctx, 1); err != nil {
				panic(err)
			}
			defer reports.Release(ctx, 1)
			time.Sleep(time.Millisecond)
		})
	}
	all.Wait()
	fmt.Println(reports.Available(ctx))
	// Output:
	// 3 <nil>
}

// A stock of two pieces, and three who want one.
func ExampleSemaphore_TryAcquire() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	stock := c.Semaphore("stock:42")
	if err := stock.SetPermits(ctx, 2); err != nil {
		panic(err)
	}
	for range 3 {
		switch err := stock.TryAcquire(ctx, 1); {
		case errors.Is(err, semaphore.ErrNotAcquired):
			fmt.Println("sold out")
		case err != nil:
			panic(err)
		default:
			fmt.Println("sold")
		}
	}
	// Output:
	// sold
	// sold
	// sold out
}

// A semaphore for a day: it goes by itself.
func ExampleSemaphore_TrySetPermits() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	tickets := c.Semaphore("tickets:monday")
	fmt.Println(tickets.TrySetPermits(ctx, 100, semaphore.WithTTL(24*time.Hour)))
	fmt.Println(tickets.TrySetPermits(ctx, 500))
	fmt.Println(tickets.Available(ctx))
	// Output:
	// true <nil>
	// false <nil>
	// 100 <nil>
}

// A process that dies gives its permits back: what it held is free again after its
// lease, here of 30 s.
func ExamplePermitSemaphore_Acquire() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	reports := c.PermitSemaphore("reports")
	if _, err := reports.TrySetPermits(ctx, 3); err != nil { // whoever comes first
		panic(err)
	}
	report := func() (err error) {
		permit, err := reports.Acquire(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, permit.Release(ctx)) }() // ErrLost: the work may have overlapped
		work := permit.Context(ctx)                                    // ends before another gets the permit
		return work.Err()
	}
	fmt.Println(report())
	fmt.Println(reports.Available(ctx))
	// Output:
	// <nil>
	// 3 <nil>
}

// Who holds permits, and one that is given back by somebody else.
func ExamplePermitSemaphore_Permits() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	reports := c.PermitSemaphore("reports")
	if err := reports.SetPermits(ctx, 1); err != nil {
		panic(err)
	}
	held, err := reports.TryAcquire(ctx, semaphore.WithLease(time.Hour))
	if err != nil {
		panic(err)
	}
	for permit, err := range reports.Permits(ctx) {
		if err != nil {
			panic(err)
		}
		fmt.Println(permit.ID == held.ID(), permit.Own, permit.Remaining > 59*time.Minute)
		fmt.Println(reports.ReleaseID(ctx, permit.ID))
	}
	fmt.Println(errors.Is(held.Release(ctx), semaphore.ErrLost))
	// Output:
	// true true true
	// <nil>
	// true
}

// A large request of one process is served before small ones that came later from others.
func ExampleWithFleetOrder() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()
	s := c.Semaphore("gpus", semaphore.WithFleetOrder())
	if err := s.SetPermits(ctx, 4); err != nil {
		panic(err)
	}
	fmt.Println(s.Acquire(ctx, 4))
	fmt.Println(errors.Is(s.TryAcquire(ctx, 1), semaphore.ErrNotAcquired))
	// Output:
	// <nil>
	// true
}
