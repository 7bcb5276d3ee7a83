package keyspace_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bucket"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/keyspace"
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
	for i := range 12 {
		if err := bucket.New[int](c, fmt.Sprint("session:", i)).Set(ctx, i); err != nil {
			fmt.Println(err)
		}
	}

	keys := keyspace.New(c)
	fmt.Println(keys.CountMatch(ctx, "session:*"))
	fmt.Println(keys.DeleteMatch(ctx, "session:?", keyspace.WithPace(0.5)))
	fmt.Println(keys.Exists(ctx, "session:9", "session:10"))
	_, err := keys.DeleteMatch(ctx, "*")
	fmt.Println(errors.Is(err, keyspace.ErrInvalidArgument), err)
	// Output:
	// 12 <nil>
	// 10 <nil>
	// 1 <nil>
	// true delete keys "*": invalid argument: it matches every name: WithEverything permits that
}

func ExampleKeys_All() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()
	for _, name := range []string{"price:tea", "price:milk", "offer:tea"} {
		if err := bucket.New[int](c, name).Set(ctx, 1); err != nil {
			fmt.Println(err)
		}
	}

	var names []string
	for name, err := range keyspace.New(c).All(ctx, keyspace.WithMatch("price:*"), keyspace.WithType(keyspace.String)) {
		if err != nil {
			fmt.Println(err) // some names are missing
			return
		}
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Println(slices.Compact(names)) // a walk may tell a name twice
	// Output: [price:milk price:tea]
}
