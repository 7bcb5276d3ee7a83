package rueidisson_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bucket"
)

// The two operations of each function are two pipelines for all of them. An error of one function ends no other.
func ExampleClient_Batch() {
	url, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	c, err := rueidisson.Open(url)
	if err != nil {
		panic(err)
	}
	defer c.Close(ctx)

	errSold := errors.New("sold out")
	prices := make([]int, 3)
	fns := make([]func(context.Context) error, len(prices))
	for i := range fns {
		price := bucket.New[int](c, fmt.Sprint("price:", i))
		fns[i] = func(ctx context.Context) (err error) {
			if err := price.Set(ctx, 100*i); err != nil {
				return err
			}
			if prices[i], _, err = price.Get(ctx); err == nil && i == 1 {
				return fmt.Errorf("price %d: %w", i, errSold)
			}
			return err
		}
	}
	err = c.Batch(ctx, fns...)
	fmt.Println(prices, err, errors.Is(err, errSold))
	// Output: [0 100 200] price 1: sold out true
}
