package rmap_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/rmap"
)

// The database is written first. While it is down, nothing changes.
func ExampleNewWriting() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	errDown, down := errors.New("the database is down"), false
	save := func(_ context.Context, changes []rmap.Change[string, int]) error {
		if down {
			return errDown
		}
		fmt.Println("saved", changes[0].Key, changes[0].Value)
		return nil
	}
	stock := rmap.NewWriting(rmap.New[string, int](c, "stock"), save)
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
	save := func(_ context.Context, changes []rmap.Change[string, int]) error {
		for _, c := range changes {
			database[c.Key] = c.Value
		}
		return nil
	}
	stock := rmap.NewWriting(rmap.New[string, int](c, "stock"), save, rmap.WithBehind(100))
	for n := range 10 {
		if err := stock.Put(ctx, "tea", n); err != nil { // rmap.ErrBacklog, if the database does not keep up
			panic(err)
		}
	}
	fmt.Println(stock.Close(ctx)) // waits until the database has all of it
	fmt.Println(database)
	// Output:
	// <nil>
	// map[tea:9]
}
