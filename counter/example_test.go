package counter_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/counter"
	"github.com/rueidisson/rueidisson/internal/embedded"
)

// connect replaces rueidisson.Open with the URL of a Redis or Valkey.
func connect() (*rueidisson.Client, func()) {
	s, err := embedded.Start()
	if err != nil {
		log.Fatal(err)
	}
	c, err := rueidisson.Open(s.URL())
	if err != nil {
		log.Fatal(err)
	}
	return c, func() {
		if err := c.Close(context.Background()); err != nil {
			log.Fatal(err)
		}
		s.Close()
	}
}

func Example() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	hits := counter.New(c, "hits")
	n, err := hits.Add(ctx, 1)
	fmt.Println(n, err)

	orders := counter.NewIDs(c, "orders")
	id, err := orders.Next(ctx)
	fmt.Println(id, err)
	// Output:
	// 1 <nil>
	// 1 <nil>
}

// A sum that would leave 64 bits is refused, and changes nothing.
func ExampleCounter_Add() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	total := counter.New(c, "total", counter.WithRequestIDs()) // exact, also if replies are lost
	fmt.Println(total.Add(ctx, 40))
	fmt.Println(total.Add(ctx, 2))
	switch _, err := total.Add(ctx, math.MaxInt64); {
	case errors.Is(err, counter.ErrInvalidArgument):
		fmt.Println(err)
	case errors.Is(err, counter.ErrOutcomeUnknown):
		fmt.Println("it counts once: do not call again")
	}
	// Output:
	// 40 <nil>
	// 42 <nil>
	// add to counter "total": invalid argument: the sum would leave the range of int64
}

// The highest number of users at the same time.
func ExampleCounter_Raise() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	peak := counter.New(c, "peak")
	for _, users := range []int64{7, 12, 9} {
		record, err := peak.Raise(ctx, users)
		fmt.Println(users, record, err)
	}
	fmt.Println(peak.Get(ctx))
	// Output:
	// 7 true <nil>
	// 12 true <nil>
	// 9 false <nil>
	// 12 <nil>
}

// Only the process that knows the present number changes it.
func ExampleCounter_CompareAndSwap() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	version := counter.New(c, "version")
	fmt.Println(version.CompareAndSwap(ctx, 0, 1))
	fmt.Println(version.CompareAndSwap(ctx, 0, 1))
	// Output:
	// true <nil>
	// false <nil>
}

// The counter of a minute is gone when the minute is over.
func ExampleWithTTL() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	calls := counter.New(c, "calls:ann:12:01", counter.WithTTL(time.Minute))
	fmt.Println(calls.Add(ctx, 1))
	fmt.Println(calls.Add(ctx, 1))
	left, err := calls.Remaining(ctx)
	fmt.Println(left > 59*time.Second, err)
	// Output:
	// 1 <nil>
	// 2 <nil>
	// true <nil>
}

func ExampleFloat() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	weight := counter.NewFloat(c, "weight")
	fmt.Println(weight.Add(ctx, 1.5))
	fmt.Println(weight.Add(ctx, -0.25))
	fmt.Println(weight.Set(ctx, math.NaN()))
	// Output:
	// 1.5 <nil>
	// 1.25 <nil>
	// set float "weight": invalid argument: NaN, or an infinite number
}

// Ids of a generator that is near its end.
func ExampleIDs() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	ids := counter.NewIDs(c, "invoices")
	fmt.Println(ids.Init(ctx, math.MaxInt64-6, 3))
	fmt.Println(ids.Next(ctx))
	fmt.Println(ids.Range(ctx, 2))
	for {
		_, err := ids.Next(ctx)
		if errors.Is(err, counter.ErrExhausted) {
			fmt.Println(err)
			break
		}
	}
	// Output:
	// true <nil>
	// 9223372036854775801 <nil>
	// 9223372036854775802 9223372036854775804 <nil>
	// take an id of id generator "invoices": the ids are exhausted
}

func ExampleDistinct() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	visitors := counter.NewDistinct[string](c, "visitors")
	if err := visitors.Add(ctx, "ann", "bob", "ann"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(visitors.Count(ctx))

	attributes := counter.NewDistinct[map[string]int](c, "attributes")
	fmt.Println(attributes.Add(ctx, map[string]int{"a": 1}))
	// Output:
	// 2 <nil>
	// add to distinct count "attributes": invalid argument: map[string]int contains map[string]int: equal values may have different bytes
}

// An adder costs no round trip for each add.
func ExampleAdder() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	bytes := counter.NewAdder(c, "bytes")
	for range 1000 {
		if err := bytes.Add(ctx, 64); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(bytes.Sum(ctx))
	// Output:
	// 64000 <nil>
}
