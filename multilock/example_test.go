package multilock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/multilock"
)

// servers stand for those that a program has.
func servers(n int) (urls []string, stop func()) {
	var all []*embedded.Server
	for range n {
		s, err := embedded.Start()
		if err != nil {
			panic(err)
		}
		all, urls = append(all, s), append(urls, s.URL())
	}
	return urls, func() {
		for _, s := range all {
			s.Close()
		}
	}
}

// Money goes from one account to another while nobody else touches either.
func ExampleMulti() {
	urls, stop := servers(1) // such as "redis://127.0.0.1:6379"
	defer stop()
	ctx := context.Background()
	c, err := rueidisson.Open(urls[0])
	if err != nil {
		panic(err)
	}
	defer c.Close(ctx)

	both := multilock.Multi(c.Lock("account:7"), c.Lock("account:12"))
	err = lock.Do(ctx, both, func(ctx context.Context) error { // ctx ends when either is lost
		_, busy := c.Lock("account:12").TryLock(context.Background())
		fmt.Println("busy:", errors.Is(busy, lock.ErrNotAcquired))
		inner, err := c.Lock("account:12").Lock(ctx) // under the hold it re-enters
		if err != nil {
			return err
		}
		return inner.Unlock(ctx)
	})
	fmt.Println(err)
	// Output:
	// busy: true
	// <nil>
}
