package nearcache_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/nearcache"
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

// What is read again is answered from here, until a writer says that it has changed.
func Example() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	prices := rmap.New[string, int](c, "prices", rmap.WithAnnounce())
	near := nearcache.New(prices, nearcache.WithAnnounced(), nearcache.WithMaxEntries(1000))
	defer near.Close()
	if err := prices.Put(ctx, "tea", 3); err != nil {
		panic(err)
	}
	for range 3 {
		fmt.Println(near.Get(ctx, "tea"))
	}
	fmt.Println("hits:", near.Stats().Hits)

	if err := near.Put(ctx, "tea", 4); err != nil { // no Get of near is older from here on
		panic(err)
	}
	fmt.Println(near.Get(ctx, "tea"))

	_, _, err := nearcache.New(rmap.New[string, int](c, "prices"), nearcache.WithAnnounced()).Get(ctx, "tea")
	fmt.Println(errors.Is(err, nearcache.ErrInvalidArgument)) // the map has to be one that announces
	// Output:
	// 3 true <nil>
	// 3 true <nil>
	// 3 true <nil>
	// hits: 2
	// 4 true <nil>
	// true
}

// Where the server cannot tell what has changed, a near cache keeps nothing, and
// says why.
func ExampleCache_Stats() {
	c, stop := exampleClient() // speaks no CLIENT TRACKING
	defer stop()
	ctx := context.Background()

	near := nearcache.New(rmap.New[string, int](c, "prices"))
	defer near.Close()
	if err := near.Put(ctx, "tea", 3); err != nil {
		panic(err)
	}
	for range 2 {
		fmt.Println(near.Get(ctx, "tea"))
	}
	did := near.Stats()
	fmt.Println(did.Hits, did.Misses, errors.Is(did.Err, errors.ErrUnsupported))
	// Output:
	// 3 true <nil>
	// 3 true <nil>
	// 0 2 true
}
