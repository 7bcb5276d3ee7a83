package guide

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/semaphore"
)

// render runs a job in one of the three slots of the fleet. A dead process gives its slot back after a lease.
func render(ctx context.Context, c *rueidisson.Client, job func(ctx context.Context) error) error {
	slots := c.PermitSemaphore("render")
	if _, err := slots.TrySetPermits(ctx, 3); err != nil { // the first call counts
		return err
	}
	return slots.Do(ctx, job) // ctx of the job is cancelled before the slot can be given to another process
}

// buy takes a piece from the stock, if there is one.
func buy(ctx context.Context, c *rueidisson.Client, product string) (sold bool, err error) {
	err = c.Semaphore("stock:"+product).TryAcquire(ctx, 1)
	if errors.Is(err, semaphore.ErrNotAcquired) {
		return false, nil // sold out
	}
	return err == nil, err
}

// prepare sets how many shards must report. It runs before any of them does, because a latch that is not set is open.
func prepare(ctx context.Context, c *rueidisson.Client, release string, shards int64) error {
	_, err := c.Latch("ready:"+release).TrySetCount(ctx, shards)
	return err
}

// report says that a shard is ready. A shard that reports twice, because it was restarted, counts once.
func report(ctx context.Context, c *rueidisson.Client, release, shard string) error {
	_, err := c.Latch("ready:"+release).CountDownOnce(ctx, shard)
	return err
}

// route waits until all shards have reported.
func route(ctx context.Context, c *rueidisson.Client, release string) error {
	return c.Latch("ready:" + release).Await(ctx)
}

// iterate runs rounds of a computation with other workers. No worker begins a round before all have ended the one before.
func iterate(ctx context.Context, c *rueidisson.Client, workers, rounds int, step func(ctx context.Context, round int) error) error {
	b := c.Barrier("rounds", workers)
	for round := range rounds {
		if err := step(ctx, round); err != nil {
			return err
		}
		if _, err := b.Await(ctx); err != nil { // latch.ErrBroken: a worker has left this round
			return err
		}
	}
	return nil
}

func Example_synchronizers() {
	c, other, stop := connectTwo()
	defer stop()
	ctx := context.Background()

	fmt.Println(render(ctx, c, func(context.Context) error { return nil }))

	_, err := c.Semaphore("stock:tea").TrySetPermits(ctx, 1)
	check(err)
	fmt.Println(buy(ctx, c, "tea"))
	fmt.Println(buy(ctx, other, "tea"))

	check(prepare(ctx, c, "v2", 2))
	check(report(ctx, c, "v2", "a"))
	check(report(ctx, c, "v2", "a"))
	check(report(ctx, other, "v2", "b"))
	fmt.Println(route(ctx, c, "v2"))

	var workers errgroup.Group
	for _, client := range []*rueidisson.Client{c, other} {
		workers.Go(func() error {
			return iterate(ctx, client, 2, 3, func(context.Context, int) error { return nil })
		})
	}
	fmt.Println(workers.Wait())
	// Output:
	// <nil>
	// true <nil>
	// false <nil>
	// <nil>
	// <nil>
}
