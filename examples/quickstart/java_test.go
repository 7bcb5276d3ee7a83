package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/topic"
)

// likeJava has the Go code of the table "Java and Go" in README.md.
func likeJava(ctx context.Context, c *rueidisson.Client, k, v string) (string, error) {
	hold, err := c.Lock("a").Lock(ctx)
	if err != nil {
		return "", err
	}
	err = hold.Unlock(ctx)
	if err != nil {
		return "", err
	}
	hold, err = c.Lock("a").TryLock(ctx, lock.WithWait(2*time.Second))
	if err != nil {
		return "", err
	}
	if err = hold.Unlock(ctx); err != nil {
		return "", err
	}
	if _, err = c.Semaphore("s").TrySetPermits(ctx, 3); err != nil {
		return "", err
	}
	err = c.Semaphore("s").Acquire(ctx, 1)
	if err != nil {
		return "", err
	}
	pages := rmap.NewCache[string, string](c, "m")
	err = pages.Put(ctx, k, v, rmap.WithTTL(time.Hour))
	if err != nil {
		return "", err
	}
	if _, err = queue.New[string](c, "q").Offer(ctx, v); err != nil {
		return "", err
	}
	v, err = queue.New[string](c, "q").Take(ctx)
	if err != nil {
		return "", err
	}
	_, err = topic.New[string](c, "t").Publish(ctx, v)
	return v, err
}

func Example_likeJava() {
	s, err := embedded.Start()
	if err != nil {
		panic(err)
	}
	defer s.Close()
	ctx := context.Background()
	c, err := rueidisson.Open(s.URL())
	if err != nil {
		panic(err)
	}
	defer c.Close(ctx)
	fmt.Println(likeJava(ctx, c, "k", "v"))
	// Output: v <nil>
}
