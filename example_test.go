package rueidisson_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/queue/reliable"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// exampleServer stands for the Redis or Valkey that a program has.
func exampleServer() (url string, stop func()) {
	s, err := embedded.Start()
	if err != nil {
		panic(err)
	}
	return s.URL(), s.Close
}

// bill is the work that needs the lock.
func bill(ctx context.Context, order string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx) // the lock was lost
	}
	fmt.Println("billed", order)
	return nil
}

// charge bills an order, and nobody else bills it at the same time.
func charge(ctx context.Context, c *rueidisson.Client, order string) error {
	return lock.Do(ctx, c.Lock("order:"+order), func(ctx context.Context) error {
		return bill(ctx, order) // ctx is cancelled before another process can acquire the lock
	})
}

func Example() {
	url, stop := exampleServer() // such as "redis://127.0.0.1:6379"
	defer stop()
	ctx := context.Background()

	c, err := rueidisson.Open(url)
	if err != nil {
		panic(err)
	}
	defer c.Close(ctx)

	fmt.Println(charge(ctx, c, "42"))
	// Output:
	// billed 42
	// <nil>
}

// chargeByHand is charge with the steps of lock.Do, for when that does not fit.
func chargeByHand(ctx context.Context, c *rueidisson.Client, order string) (err error) {
	hold, err := c.Lock("order:" + order).Lock(ctx) // ctx bounds the wait, not the hold
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hold.Unlock(ctx)) }() // lock.ErrLost: the work may have overlapped
	return bill(hold.Context(ctx), order)
}

func ExampleClient_Lock() {
	url, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	c, err := rueidisson.Open(url)
	if err != nil {
		panic(err)
	}
	defer c.Close(ctx)

	fmt.Println(chargeByHand(ctx, c, "42"))
	// Output:
	// billed 42
	// <nil>
}

// allow is five requests a second for each user, in a whole fleet.
func allow(ctx context.Context, c *rueidisson.Client, user string) (bool, error) {
	return c.RateLimiter("api").For(user).Allow(ctx) // the rate is stored: SetRate(ctx, ratelimiter.PerSecond(5))
}

func ExampleClient_RateLimiter() {
	url, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	c, err := rueidisson.Open(url)
	if err != nil {
		panic(err)
	}
	defer c.Close(ctx)

	_, err = allow(ctx, c, "ann")
	fmt.Println("without a rate:", errors.Is(err, ratelimiter.ErrNoRate))
	fmt.Println(c.RateLimiter("api").SetRate(ctx, ratelimiter.PerSecond(5)))
	fmt.Println(allow(ctx, c, "ann"))
	// Output:
	// without a rate: true
	// <nil>
	// true <nil>
}

// send is the work that a message is for.
func send(ctx context.Context, to string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx) // the message may be another's
	}
	fmt.Println("sent to", to)
	return nil
}

// mail sends what anybody adds to the queue, until ctx ends.
func mail(ctx context.Context, c *rueidisson.Client) error {
	mails := reliable.New[string](c, "mails") // mails.Add(ctx, "ann", reliable.WithDelay(time.Hour)) anywhere
	return mails.Serve(ctx, func(ctx context.Context, m *reliable.Message[string]) error {
		return send(ctx, m.Value) // ctx ends before another gets the message; an error has it come again later
	})
}

func Example_reliableQueue() {
	url, stop := exampleServer() // such as "redis://127.0.0.1:6379"
	defer stop()
	ctx := context.Background()

	c, err := rueidisson.Open(url)
	if err != nil {
		panic(err)
	}
	defer c.Close(ctx)

	working, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mail(working, c) }()

	mails := reliable.New[string](c, "mails")
	if _, err := mails.Add(ctx, "ann"); err != nil {
		panic(err)
	}
	for s, err := mails.Stats(ctx); err == nil && s.Acked == 0; s, err = mails.Stats(ctx) {
		time.Sleep(time.Millisecond)
	}
	end()
	fmt.Println(<-ended)
	// Output:
	// sent to ann
	// <nil>
}

// Another process is faster. That is an answer, not a fault.
func ExampleClient_Lock_busy() {
	url, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	ours, err := rueidisson.Open(url)
	if err != nil {
		panic(err)
	}
	defer ours.Close(ctx)
	theirs, err := rueidisson.Open(url)
	if err != nil {
		panic(err)
	}
	defer theirs.Close(ctx)

	hold, err := theirs.Lock("order:42").Lock(ctx)
	if err != nil {
		panic(err)
	}
	_, err = ours.Lock("order:42").TryLock(ctx, lock.WithWait(time.Second))
	fmt.Println("busy:", errors.Is(err, lock.ErrNotAcquired))
	fmt.Println(hold.Unlock(ctx))
	// Output:
	// busy: true
	// <nil>
}

func ExampleClient_FencedLock() {
	url, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	c, err := rueidisson.Open(url)
	if err != nil {
		panic(err)
	}
	defer c.Close(ctx)

	total := c.FenceGuard("total:42", "order:42") // a key that only holders of the lock write
	var late fence.Token
	write := func(ctx context.Context) error {
		late, _ = fence.FromContext(ctx)
		return total.Set(ctx, late, "10")
	}
	fmt.Println(lock.Do(ctx, c.FencedLock("order:42"), write))
	first := late
	fmt.Println(lock.Do(ctx, c.FencedLock("order:42"), write))
	fmt.Println(errors.Is(total.Set(ctx, first, "11"), lock.ErrStale)) // the first holder, as it wakes from a pause
	// Output:
	// <nil>
	// <nil>
	// true
}
