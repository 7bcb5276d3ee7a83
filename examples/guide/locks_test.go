package guide

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/redlock"
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

// printPages prints a document. Documents of all processes are printed in the order in which they came.
func printPages(ctx context.Context, c *rueidisson.Client, printer string, job func(ctx context.Context) error) error {
	return lock.Do(ctx, c.FairLock("printer:"+printer), job)
}

// book books the seats of a flight, all of them or none. Bookings of other seats do not wait.
func book(ctx context.Context, c *rueidisson.Client, flight string, seats []string, pay func(ctx context.Context) error) (booked bool, err error) {
	hold, err := c.LockGroup("seats:"+flight).TryLock(ctx, seats...)
	switch {
	case errors.Is(err, lock.ErrNotAcquired):
		return false, nil // another booking has one of these seats
	case err != nil:
		return false, err
	}
	defer func() { err = errors.Join(err, hold.Unlock(ctx)) }()
	return true, pay(hold.Context(ctx))
}

// leaderless runs work under a lock of several servers. It works while more than half of them do.
func leaderless(ctx context.Context, clients []*rueidisson.Client, work func(ctx context.Context) error) error {
	var members []lock.Locker
	for _, c := range clients { // one client for each server
		members = append(members, c.Lock("ledger"))
	}
	red := redlock.New(members...).With(redlock.WithRestartGuard(0)) // 0 is for demos: these servers have just been started
	return lock.Do(ctx, red, work)
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

func Example_fairLock() {
	c, other, stop := connectTwo()
	defer stop()
	ctx := context.Background()

	busy, err := c.FairLock("printer:1").Lock(ctx)
	check(err)
	printed := make(chan string)
	for i, process := range []*rueidisson.Client{c, other} {
		document := fmt.Sprint("document ", i+1)
		go func() {
			check(printPages(ctx, process, "1", func(context.Context) error {
				printed <- document
				return nil
			}))
		}()
		until(func() bool { // it is queued
			waiting, err := c.FairLock("printer:1").Queue(ctx)
			check(err)
			return len(waiting) == i+1
		})
	}
	check(busy.Unlock(ctx))
	fmt.Println(<-printed)
	fmt.Println(<-printed)
	// Output:
	// document 1
	// document 2
}

func Example_lockGroup() {
	c, other, stop := connectTwo()
	defer stop()
	ctx := context.Background()

	fmt.Println(book(ctx, c, "LH1", []string{"12A", "12B"}, func(ctx context.Context) error {
		pay := func(context.Context) error { return nil }
		fmt.Println(book(ctx, other, "LH1", []string{"12B", "12C"}, pay)) // 12B is taken
		fmt.Println(book(ctx, other, "LH1", []string{"14A"}, pay))
		return nil
	}))
	// Output:
	// false <nil>
	// true <nil>
	// true <nil>
}

func Example_redLock() {
	one, _, stopOne := connectTwo()
	defer stopOne()
	two, _, stopTwo := connectTwo()
	defer stopTwo()
	three, _, stopThree := connectTwo()
	defer stopThree()
	ctx := context.Background()

	servers := []*rueidisson.Client{one, two, three}
	busy, err := one.Lock("ledger").Lock(ctx) // the lock of one server belongs to another holder
	check(err)
	fmt.Println(leaderless(ctx, servers, func(context.Context) error {
		fmt.Println("two of three are enough")
		return nil
	}))
	check(busy.Unlock(ctx))
	// Output:
	// two of three are enough
	// <nil>
}
