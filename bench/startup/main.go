// Command startup is a program that only locks. The benchmarks start it to see what comes before main.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
)

func main() {
	if len(os.Args) < 2 {
		return
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr string) error {
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{addr}})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(ctx) }()
	hold, err := c.Lock("startup").Lock(ctx)
	if err != nil {
		return err
	}
	return hold.Unlock(ctx)
}
