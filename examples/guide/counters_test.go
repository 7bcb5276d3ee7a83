package guide

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/counter"
)

// visits counts the visits of a page in each minute. The counter of a minute is gone an hour later.
func visits(c *rueidisson.Client, page string, minute int64) *counter.Counter {
	return counter.New(c, fmt.Sprint("visits:", page, ":", minute), counter.WithTTL(time.Hour))
}

// credit adds to what a customer has, which is exact also if replies are lost.
func credit(ctx context.Context, c *rueidisson.Client, customer string, cents int64) (int64, error) {
	return counter.New(c, "credit:"+customer, counter.WithRequestIDs()).Add(ctx, cents)
}

// number returns the number of a new order.
func number(ctx context.Context, orders *counter.IDs) (string, error) {
	id, err := orders.Next(ctx)
	return fmt.Sprintf("A-%07d", id), err
}

// peak notes how many were there at the same time, if that is more than before.
func peak(ctx context.Context, c *rueidisson.Client, users int64) (record bool, err error) {
	return counter.New(c, "peak").Raise(ctx, users)
}

// seen counts a visitor, and returns about how many different ones there were today or yesterday.
func seen(ctx context.Context, c *rueidisson.Client, visitor string) (int64, error) {
	today := counter.NewDistinct[string](c, "visitors:{today}")
	if err := today.Add(ctx, visitor); err != nil {
		return 0, err
	}
	return today.CountWith(ctx, "yesterday:{today}")
}

// served counts a request and its bytes. It costs no round trip.
func served(ctx context.Context, requests, bytes *counter.Adder, n int64) error {
	return errors.Join(requests.Add(ctx, 1), bytes.Add(ctx, n))
}

func Example_counters() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	_, err := visits(c, "home", 7).Add(ctx, 1)
	check(err)
	fmt.Println(visits(c, "home", 7).Add(ctx, 1))
	fmt.Println(credit(ctx, c, "ann", 500))
	orders := counter.NewIDs(c, "orders")
	_, err = orders.Init(ctx, 1_000_000, 100)
	check(err)
	fmt.Println(number(ctx, orders))
	fmt.Println(number(ctx, orders))
	fmt.Println(peak(ctx, c, 40))
	fmt.Println(peak(ctx, c, 30))
	_, err = seen(ctx, c, "ann")
	check(err)
	fmt.Println(seen(ctx, c, "bob"))

	requests, bytes := counter.NewAdder(c, "requests"), counter.NewAdder(c, "bytes")
	check(served(ctx, requests, bytes, 1500))

	check(counter.NewFloat(c, "credit:ann").Set(ctx, 5.5))
	_, err = credit(ctx, c, "ann", 1)
	fmt.Println(err)
	// Output:
	// 2 <nil>
	// 500 <nil>
	// A-1000000 <nil>
	// A-1000001 <nil>
	// true <nil>
	// false <nil>
	// 2 <nil>
	// add to counter "credit:ann": the key holds no integer (3 bytes): Set replaces it, Delete removes it
}
