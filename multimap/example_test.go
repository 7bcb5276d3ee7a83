package multimap_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/multimap"
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

// A key ends with all its values.
func ExampleSet() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	online := multimap.NewSet[string, string](c, "online") // who is in which room
	for _, who := range []string{"ann", "bob", "ann"} {
		added, err := online.Put(ctx, "lobby", who)
		fmt.Println(who, added, err)
	}
	fmt.Println(online.Count(ctx, "lobby"))
	fmt.Println(online.Expire(ctx, "lobby", time.Minute))
	fmt.Println(online.Remove(ctx, "lobby", "bob"))
	fmt.Println(online.Get(ctx, "lobby"))
	// Output:
	// ann true <nil>
	// bob true <nil>
	// ann false <nil>
	// 2 <nil>
	// true <nil>
	// true <nil>
	// [ann] <nil>
}

func ExampleList() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	visits := multimap.NewList[string, string](c, "visits")
	if err := visits.PutAll(ctx, "ann", "home", "tea", "home"); err != nil {
		panic(err)
	}
	fmt.Println(visits.Get(ctx, "ann"))
	fmt.Println(visits.Replace(ctx, "ann", "cart"))
	fmt.Println(visits.RemoveAll(ctx, "ann"))
	fmt.Println(visits.Has(ctx, "ann"))
	// Output:
	// [home tea home] <nil>
	// [home tea home] <nil>
	// [cart] <nil>
	// false <nil>
}
