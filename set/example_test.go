package set_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/set"
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

func Example() {
	c, stop := exampleClient() // such as rueidisson.Open("redis://127.0.0.1:6379")
	defer stop()
	ctx := context.Background()

	tags := set.New[string](c, "tags:42")
	fmt.Println(tags.Add(ctx, "red", "green", "red"))
	fmt.Println(tags.Has(ctx, "red"))
	fmt.Println(tags.HasEach(ctx, "green", "blue"))
	fmt.Println(tags.Remove(ctx, "red"))
	fmt.Println(tags.Len(ctx))
	// Output:
	// 2 <nil>
	// true <nil>
	// [true false] <nil>
	// 1 <nil>
	// 1 <nil>
}

// Sets are walked, also those of several slots of a cluster.
func ExampleSet_Inter() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	go1, java := set.New[int](c, "readers:go"), set.New[int](c, "readers:java")
	if _, err := go1.Add(ctx, 1, 2, 3); err != nil {
		panic(err)
	}
	if _, err := java.Add(ctx, 2, 3, 4); err != nil {
		panic(err)
	}
	var both []int
	for id, err := range go1.Inter(ctx, "readers:java") {
		if err != nil {
			panic(err)
		}
		both = append(both, id)
	}
	slices.Sort(both)
	fmt.Println(both)
	// Output:
	// [2 3]
}

// A user is online for a minute after each sign of life.
func ExampleCache() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	online := set.NewCache[string](c, "online", set.WithTTL(time.Minute))
	fmt.Println(online.Add(ctx, "ann"))
	fmt.Println(online.Add(ctx, "ann")) // it lives longer now
	fmt.Println(online.Has(ctx, "ann"))
	left, err := online.Remaining(ctx, "ann")
	fmt.Println(left.Round(time.Minute), err)
	fmt.Println(online.Len(ctx))
	// Output:
	// true <nil>
	// false <nil>
	// true <nil>
	// 1m0s <nil>
	// 1 <nil>
}

// Members that expire are told, to one loop.
func ExampleCache_Expired() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	online := set.NewCache[string](c, "online")
	gone := online.Expired(ctx) // it listens from now on
	if _, err := online.Add(ctx, "ann", set.WithTTL(10*time.Millisecond)); err != nil {
		panic(err)
	}
	for user, err := range gone {
		fmt.Println(user, err)
		break
	}
	// Output:
	// ann <nil>
}
