// Command quickstart is the program of README.md: a lock, a rate limiter and a job.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/queue/reliable"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

func main() {
	if err := run(context.Background(), "redis://127.0.0.1:6379"); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string) error {
	c, err := rueidisson.Open(url) // one client for each process
	if err != nil {
		return err
	}
	defer c.Close(ctx)

	// A limiter: ann may send five orders a second, to all processes together.
	ann := c.RateLimiter("orders").For("ann", ratelimiter.WithRule(ratelimiter.PerSecond(5)))
	if allowed, err := ann.Allow(ctx); err != nil || !allowed {
		return err
	}

	// A lock: one process at a time bills order 42. Then it adds a job.
	mails := reliable.New[string](c, "mails")
	err = lock.Do(ctx, c.Lock("order:42"), func(ctx context.Context) error {
		fmt.Println("bill order 42") // ctx is cancelled before another process can acquire the lock
		_, err := mails.Add(ctx, "ann")
		return err
	})
	if err != nil {
		return err
	}

	// A worker: each job is handled at least once. After an error it is redelivered.
	ctx, stop := context.WithCancel(ctx)
	return mails.Serve(ctx, func(ctx context.Context, m *reliable.Message[string]) error {
		fmt.Println("mail to", m.Value)
		stop() // a real worker does not stop
		return nil
	})
}
