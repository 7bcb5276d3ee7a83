package writethrough_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/writethrough"
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

// The database is written first. While it is down, nothing changes.
func Example() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	errDown, down := errors.New("the database is down"), false
	save := func(_ context.Context, changes []writethrough.Change[string, int]) error {
		if down {
			return errDown
		}
		fmt.Println("saved", changes[0].Key, changes[0].Value)
		return nil
	}
	stock := writethrough.New(rmap.New[string, int](c, "stock"), save)
	fmt.Println(stock.Put(ctx, "tea", 3))

	down = true
	fmt.Println(errors.Is(stock.Put(ctx, "tea", 2), errDown))
	fmt.Println(stock.Get(ctx, "tea"))
	// Output:
	// saved tea 3
	// <nil>
	// true
	// 3 true <nil>
}

// Changes go to the database in batches, of each key the last one.
func ExampleWithBehind() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	database := map[string]int{}
	save := func(_ context.Context, changes []writethrough.Change[string, int]) error {
		for _, c := range changes {
			database[c.Key] = c.Value
		}
		return nil
	}
	stock := writethrough.New(rmap.New[string, int](c, "stock"), save, writethrough.WithBehind(100))
	for n := range 10 {
		if err := stock.Put(ctx, "tea", n); err != nil { // writethrough.ErrBacklog, if the database does not keep up
			panic(err)
		}
	}
	fmt.Println(stock.Close(ctx)) // waits until the database has all of it
	fmt.Println(database)
	// Output:
	// <nil>
	// map[tea:9]
}
