package guide

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/rueidisson/rueidisson"
)

// schedule runs work in one process of the fleet. It returns when ctx ends.
func schedule(ctx context.Context, c *rueidisson.Client, address string, work func(ctx context.Context) error) error {
	for ctx.Err() == nil {
		err := lead(ctx, c, address, work)
		if errors.Is(err, rueidisson.ErrClosed) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			log.Print(err)
			time.Sleep(time.Second) // the server is away, or the work has failed
		}
	}
	return ctx.Err()
}

// lead waits until this process is elected, and works until its term ends.
func lead(ctx context.Context, c *rueidisson.Client, address string, work func(ctx context.Context) error) error {
	term, err := c.Election("scheduler").Campaign(ctx, address)
	if err != nil {
		return err
	}
	return errors.Join(work(term.Context(ctx)), term.Resign(ctx)) // the context ends before a successor is elected
}

// followLeader sends requests to the present leader.
func followLeader(ctx context.Context, c *rueidisson.Client, use func(address string)) error {
	for leader, err := range c.Election("scheduler").Observe(ctx) {
		switch {
		case errors.Is(err, rueidisson.ErrNotice): // the server is away, or back
			log.Print(err)
		case err != nil:
			return err
		case leader.None(): // between two terms
		default:
			use(leader.Value)
		}
	}
	return nil
}

func Example_election() {
	c, other, stop := connectTwo()
	defer stop()
	ctx, end := context.WithCancel(context.Background())
	defer end()

	ended := make(chan error, 1)
	go func() {
		ended <- schedule(ctx, c, "10.0.0.7:8080", func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		})
	}()
	seeing, stopSeeing := context.WithCancel(ctx)
	err := followLeader(seeing, other, func(address string) {
		fmt.Println("leader:", address)
		stopSeeing()
	})
	fmt.Println(errors.Is(err, context.Canceled))
	end()
	fmt.Println(errors.Is(<-ended, context.Canceled))
	// Output:
	// leader: 10.0.0.7:8080
	// true
	// true
}
