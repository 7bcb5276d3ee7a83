package bitset_test

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bitset"
	"github.com/rueidisson/rueidisson/internal/embedded"
)

// exampleClient returns a client of the Redis or Valkey that a program has.
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

// Who visited on both days?
func Example() {
	c, stop := exampleClient() // such as rueidisson.Open("redis://127.0.0.1:6379")
	defer stop()
	ctx := context.Background()

	monday, tuesday := bitset.New(c, "{visitors}:mon"), bitset.New(c, "{visitors}:tue")
	fmt.Println(monday.Set(ctx, 5, 17))
	fmt.Println(tuesday.Set(ctx, 17, 90))
	if err := monday.And(ctx, tuesday.Name()); err != nil {
		panic(err)
	}
	fmt.Println(monday.Count(ctx))
	fmt.Println(monday.Get(ctx, 5, 17, 90))
	// Output:
	// [false false] <nil>
	// [false false] <nil>
	// 1 <nil>
	// [false true false] <nil>
}

// Ten million seats, a quarter of which are sold at once.
func ExampleSet_SetRange() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	seats := bitset.New(c, "seats")
	if err := seats.SetRange(ctx, 0, 2_500_000); err != nil {
		panic(err)
	}
	fmt.Println(seats.Count(ctx))
	fmt.Println(seats.Len(ctx))
	// Output:
	// 2500000 <nil>
	// 2500000 <nil>
}

// The level of each player has four bits.
func ExampleField_Add() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	levels := bitset.New(c, "levels")
	level := func(player int64) bitset.Field { return levels.Uint(4, 4*player) }
	fmt.Println(level(7).Set(ctx, 3))
	fmt.Println(level(7).Add(ctx, 1))
	fmt.Println(level(8).Get(ctx))
	_, err := level(8).Set(ctx, 16)
	fmt.Println(err)
	// Output:
	// 0 <nil>
	// 4 <nil>
	// 0 <nil>
	// set a number of bitset "levels": invalid argument: a number u4 has no room for it
}
