package latch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/latch"
)

// exampleClient is a client of the Redis or Valkey that a program has.
func exampleClient() (c *rueidisson.Client, stop func()) {
	s, err := embedded.Start()
	if err != nil {
		panic(err)
	}
	if c, err = rueidisson.New(s.ClientOption()); err != nil {
		panic(err)
	}
	return c, func() {
		c.Close(context.Background())
		s.Close()
	}
}

// A coordinator goes on when all shards are ready.
func Example() {
	c, stop := exampleClient() // such as rueidisson.Open("redis://127.0.0.1:6379")
	defer stop()
	ctx := context.Background()

	ready := c.Latch("ready")
	if _, err := ready.TrySetCount(ctx, 3); err != nil { // before the shards are started
		panic(err)
	}
	var shards sync.WaitGroup
	for i := range 3 {
		shards.Go(func() {
			if _, err := c.Latch("ready").CountDownOnce(ctx, fmt.Sprint("shard ", i)); err != nil {
				panic(err)
			}
		})
	}
	if err := ready.Await(ctx); err != nil {
		panic(err)
	}
	left, err := ready.Count(ctx)
	fmt.Println(left, err)
	shards.Wait()
	// Output: 0 <nil>
}

// A latch is armed once, by whoever comes first, and again when it has opened.
func ExampleLatch_TrySetCount() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	ready := c.Latch("ready")
	armed, _ := ready.TrySetCount(ctx, 1)
	again, _ := ready.TrySetCount(ctx, 5)
	fmt.Println(armed, again)
	ready.CountDown(ctx)
	armed, _ = ready.TrySetCount(ctx, 5)
	fmt.Println(armed)

	_, err := ready.TrySetCount(ctx, 0)
	fmt.Println(errors.Is(err, latch.ErrInvalidArgument))
	// Output:
	// true false
	// true
	// true
}

// Several count downs of nobody in particular.
func ExampleLatch_CountDown() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	files := c.Latch("files")
	files.TrySetCount(ctx, 2)
	for range 3 {
		left, err := files.CountDown(ctx)
		fmt.Println(left, err)
	}
	// Output:
	// 1 <nil>
	// 0 <nil>
	// 0 <nil>
}

// A shard that is started again, and reports again, does not count for another.
func ExampleLatch_CountDownOnce() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	ready := c.Latch("ready")
	ready.TrySetCount(ctx, 3)
	for _, shard := range []string{"a", "b", "b", "c"} {
		left, _ := ready.CountDownOnce(ctx, shard)
		fmt.Println(shard, left)
	}
	// Output:
	// a 2
	// b 1
	// b 1
	// c 0
}

// The context bounds the wait: a party that died counts nothing down.
func ExampleLatch_Await() {
	c, stop := exampleClient()
	defer stop()

	ready := c.Latch("ready")
	ready.TrySetCount(context.Background(), 12)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	err := ready.Await(ctx)
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output: true
}

func ExampleLatch_Count() {
	c, stop := exampleClient()
	defer stop()

	ready := c.Latch("ready")
	left, err := ready.Count(context.Background())
	fmt.Println(left, err) // it was never armed, so it is open
	// Output: 0 <nil>
}

// Deleting a latch lets those pass who wait for it.
func ExampleLatch_Delete() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	ready := c.Latch("ready")
	ready.TrySetCount(ctx, 12)
	passed := make(chan error)
	go func() { passed <- ready.Await(ctx) }()
	there, _ := ready.Delete(ctx)
	fmt.Println(there, <-passed)
	// Output: true <nil>
}

// Three workers begin each phase together.
func ExampleBarrier() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	var done [2]sync.WaitGroup
	done[0].Add(3)
	done[1].Add(3)
	for range 3 {
		go func() {
			for phase := range 2 {
				if _, err := c.Barrier("phase", 3).Await(ctx); err != nil {
					panic(err)
				}
				done[phase].Done()
			}
		}()
	}
	done[0].Wait()
	fmt.Println("the first")
	done[1].Wait()
	fmt.Println("the second")
	// Output:
	// the first
	// the second
}

// If one of them gives up, nobody passes.
func ExampleBarrier_Await() {
	c, stop := exampleClient()
	defer stop()

	other := make(chan error)
	go func() {
		_, err := c.Barrier("phase", 3).Await(context.Background())
		other <- err
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err := c.Barrier("phase", 3).Await(ctx)
	fmt.Println(errors.Is(err, latch.ErrBroken), errors.Is(err, context.DeadlineExceeded))
	fmt.Println(errors.Is(<-other, latch.ErrBroken))
	// Output:
	// true true
	// true
}

// The last worker of each phase merges what all have done, before any of them goes on.
func ExampleWithAction() {
	c, stop := exampleClient()
	defer stop()
	merge := latch.WithAction(func(context.Context) error {
		fmt.Println("merged")
		return nil
	})
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if _, err := c.Barrier("phase", 3, merge).Await(context.Background()); err != nil {
				panic(err)
			}
		})
	}
	all.Wait()
	fmt.Println("on")
	// Output:
	// merged
	// on
}

// Three workers begin together, and nobody goes home before all have done their work.
func ExampleDoubleBarrier() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()
	var done atomic.Int32
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			m, err := c.DoubleBarrier("shift", 3).Enter(ctx)
			if err != nil {
				panic(err)
			}
			done.Add(1)
			if err := m.Leave(ctx); err != nil {
				panic(err)
			}
			if done.Load() != 3 {
				fmt.Println("too early")
			}
		})
	}
	all.Wait()
	fmt.Println(done.Load())
	// Output: 3
}
