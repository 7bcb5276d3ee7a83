package stream_test

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/stream"
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

// A consumer that does not acknowledge an entry gets it again, or another does.
func ExampleGroup_Consume() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	payments := stream.New[string, int](c, "payments")
	billing := payments.Group("billing")
	if _, err := billing.Create(ctx, stream.FromStart); err != nil {
		panic(err)
	}
	if _, err := payments.Add(ctx, map[string]int{"order": 7, "cents": 250}); err != nil {
		panic(err)
	}
	for e, err := range billing.Consume(ctx, "worker-1") {
		if err != nil {
			panic(err)
		}
		fmt.Println(e.Fields["order"], e.Fields["cents"])
		fmt.Println(billing.Ack(ctx, e.ID))
		break
	}
	// Output:
	// 7 250
	// 1 <nil>
}
