package redlock_test

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/redlock"
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

// Two of three servers are enough, whichever they are.
func ExampleNew() {
	urls, stop := servers(3) // of their own, on machines of their own
	defer stop()
	ctx := context.Background()
	var locks []lock.Locker
	for _, url := range urls {
		c, err := rueidisson.Open(url)
		if err != nil {
			panic(err)
		}
		defer c.Close(ctx)
		locks = append(locks, c.Lock("job"))
	}
	red := redlock.New(locks...).With(redlock.WithRestartGuard(0)) // what stands for servers here does not tell how long it is up

	busy, err := locks[0].Lock(ctx) // one of them belongs to somebody else
	if err != nil {
		panic(err)
	}
	fmt.Println(lock.Do(ctx, red, func(context.Context) error {
		fmt.Println("the job is ours")
		return nil
	}))
	fmt.Println(busy.Unlock(ctx))
	// Output:
	// the job is ours
	// <nil>
	// <nil>
}
