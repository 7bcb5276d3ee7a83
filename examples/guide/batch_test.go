package guide

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bucket"
)

// writePrices writes many prices. The writes are one pipeline for each node of Redis. The error joins those of the writes that failed.
func writePrices(ctx context.Context, c *rueidisson.Client, prices map[string]int64) error {
	writes := make([]func(context.Context) error, 0, len(prices))
	for product, cents := range prices {
		price := bucket.New[int64](c, "price:"+product)
		writes = append(writes, func(ctx context.Context) error { return price.Set(ctx, cents) })
	}
	return c.Batch(ctx, writes...)
}

func Example_batch() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	check(writePrices(ctx, c, map[string]int64{"lamp": 4900, "desk": 19900}))
	fmt.Println(bucket.New[int64](c, "price:desk").Get(ctx))
	// Output: 19900 true <nil>
}
