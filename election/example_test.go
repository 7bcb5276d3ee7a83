package election_test

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
)

// server stands for the Redis or Valkey that a program has.
func server() (c *rueidisson.Client, stop func()) {
	s, err := embedded.Start()
	if err != nil {
		panic(err)
	}
	c, err = rueidisson.Open(s.URL()) // such as "redis://127.0.0.1:6379"
	if err != nil {
		panic(err)
	}
	return c, func() {
		_ = c.Close(context.Background())
		s.Close()
	}
}

// Whoever is elected first leads, and all can see where.
func Example() {
	c, stop := server()
	defer stop()
	ctx := context.Background()
	scheduler := c.Election("scheduler")

	term, err := scheduler.Campaign(ctx, "10.0.0.7:8080")
	if err != nil {
		panic(err)
	}
	for leader, err := range scheduler.Observe(ctx) {
		if err != nil {
			panic(err)
		}
		if leader.None() {
			fmt.Println("nobody leads")
			break
		}
		fmt.Println("it leads at", leader.Value, "with the term's token:", leader.Fence == term.Fence())
		fmt.Println("resigned:", term.Resign(ctx))
	}
	// Output:
	// it leads at 10.0.0.7:8080 with the term's token: true
	// resigned: <nil>
	// nobody leads
}
