package readthrough_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
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

type Product struct {
	Name  string
	Price int
}

// A thousand ask for a product that is not there yet, and the database is asked
// once. While it is down, its error is what they get.
func Example() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	var asked, down atomic.Int64
	errDown := errors.New("the database is down")
	fromDatabase := func(_ context.Context, id int) (Product, bool, error) {
		asked.Add(1)
		if down.Load() > 0 {
			return Product{}, false, errDown
		}
		return Product{"tea", 3}, id == 42, nil
	}
	products := readthrough.New(rmap.NewCache[int, Product](c, "products", rmap.WithTTL(time.Hour)), fromDatabase)

	var all sync.WaitGroup
	for range 1000 {
		all.Go(func() {
			if _, _, err := products.Get(ctx, 42); err != nil {
				panic(err)
			}
		})
	}
	all.Wait()
	fmt.Println(asked.Load())
	fmt.Println(products.Get(ctx, 43))

	down.Store(1)
	fmt.Println(products.Get(ctx, 42)) // which is there
	_, _, err := products.Get(ctx, 43)
	fmt.Println(errors.Is(err, errDown))
	// Output:
	// 1
	// { 0} false <nil>
	// {tea 3} true <nil>
	// true
}
