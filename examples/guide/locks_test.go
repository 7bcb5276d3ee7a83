package guide

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/lock"
)

// importFeed imports a feed, unless another process imports it at this time.
func importFeed(ctx context.Context, c *rueidisson.Client, feed string, load func(ctx context.Context) error) (imported bool, err error) {
	hold, err := c.Lock("feed:"+feed).TryLock(ctx, lock.WithWait(time.Second))
	switch {
	case errors.Is(err, lock.ErrNotAcquired):
		return false, nil // busy: another process has the lock
	case err != nil:
		return false, err // a fault: nothing is known about the lock
	}
	defer func() { err = errors.Join(err, hold.Unlock(ctx)) }() // lock.ErrLost: the work may have overlapped
	return true, load(hold.Context(ctx))
}

// transfer holds the locks of both accounts, or none of them.
func transfer(ctx context.Context, c *rueidisson.Client, from, to string, move func(ctx context.Context) error) error {
	return lock.Do(ctx, c.MultiLock(c.Lock("account:"+from), c.Lock("account:"+to)), move)
}

// quote reads prices. Any number of processes do so at the same time.
func quote(ctx context.Context, c *rueidisson.Client, read func(ctx context.Context) error) error {
	return lock.Do(ctx, c.RWLock("prices").Read(), read)
}

// reprice changes prices while no process reads them.
func reprice(ctx context.Context, c *rueidisson.Client, change func(ctx context.Context) error) error {
	return lock.Do(ctx, c.RWLock("prices").Write(), change)
}

// setTotal writes the total of an order. The guard refuses a holder that was paused, if a newer holder has written.
func setTotal(ctx context.Context, c *rueidisson.Client, order, total string) error {
	guard := c.FenceGuard("total:"+order, "order:"+order)
	return lock.Do(ctx, c.FencedLock("order:"+order), func(ctx context.Context) error {
		token, _ := fence.FromContext(ctx)
		return guard.Set(ctx, token, total) // lock.ErrStale: a newer holder has written
	})
}

func Example_locks() {
	c, other, stop := connectTwo()
	defer stop()
	ctx := context.Background()

	fmt.Println(importFeed(ctx, c, "news", func(ctx context.Context) error {
		fmt.Println(importFeed(ctx, other, "news", nil)) // another process
		return nil
	}))
	fmt.Println(transfer(ctx, c, "ann", "bob", func(context.Context) error { return nil }))
	fmt.Println(quote(ctx, c, func(ctx context.Context) error {
		return quote(ctx, other, func(context.Context) error {
			fmt.Println("two readers")
			return nil
		})
	}))
	fmt.Println(reprice(ctx, c, func(context.Context) error { return nil }))
	fmt.Println(setTotal(ctx, c, "42", "10"))
	// Output:
	// false <nil>
	// true <nil>
	// <nil>
	// two readers
	// <nil>
	// <nil>
	// <nil>
}
