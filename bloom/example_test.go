package bloom_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bloom"
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

func Example() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	seen := bloom.New[string](c, "seen")
	fmt.Println(seen.Has(ctx, "ann"))
	if _, err := seen.Init(ctx, 50_000, 0.001); err != nil {
		panic(err)
	}
	fmt.Println(seen.AddNew(ctx, "ann", "bob"))
	fmt.Println(seen.AddNew(ctx, "bob", "cid"))
	fmt.Println(seen.HasEach(ctx, "ann", "bob", "dan"))
	fmt.Println(seen.Count(ctx))
	// Output:
	// false look in bloom filter "seen": there is no filter: Init makes one
	// [true true] <nil>
	// [false true] <nil>
	// [true true false] <nil>
	// 3 <nil>
}

// A filter that was made for other numbers stays as it is.
func ExampleFilter_Init() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	seen := bloom.New[int](c, "seen")
	fmt.Println(seen.Init(ctx, 50_000, 0.001))
	fmt.Println(seen.Init(ctx, 50_000, 0.001))
	_, err := seen.Init(ctx, 100_000, 0.001)
	fmt.Println(errors.Is(err, bloom.ErrOtherShape))
	fmt.Println(err)
	// Output:
	// true <nil>
	// false <nil>
	// true
	// init bloom filter "seen": the filter has another shape: it has n=50000 p=0.001 (m=718879 k=10), and was to have n=100000 p=0.001 (m=1437758 k=10): Delete removes it
}
