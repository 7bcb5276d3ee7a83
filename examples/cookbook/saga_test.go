package cookbook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

// reserve starts a saga: it must be paid within the time, or its timeout is handled.
func reserve(ctx context.Context, c *rueidisson.Client, order string, within time.Duration) (timeout int64, err error) {
	return reliable.New[string](c, "timeouts").Add(ctx, order, reliable.WithDelay(within))
}

// paid reports whether the payment came in time. If not, the reservation is gone: give the money back.
func paid(ctx context.Context, c *rueidisson.Client, timeout int64) (inTime bool, err error) {
	err = reliable.New[string](c, "timeouts").Remove(ctx, timeout) // nil: no consumer had the timeout, and none will
	if errors.Is(err, reliable.ErrTaken) || errors.Is(err, reliable.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// serveTimeouts undoes what was not paid.
func serveTimeouts(ctx context.Context, c *rueidisson.Client, undo func(ctx context.Context, order string) error) error {
	return reliable.New[string](c, "timeouts").Serve(ctx, func(ctx context.Context, m *reliable.Message[string]) error {
		return undo(ctx, m.Value)
	})
}

func Example_sagaTimeout() {
	c, stop := connect()
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	quick, err := reserve(ctx, c, "order:42", time.Hour)
	check(err)
	late, err := reserve(ctx, c, "order:43", time.Millisecond)
	check(err)
	fmt.Println(paid(ctx, c, quick))

	timeouts := reliable.New[string](c, "timeouts")
	check(serveUntil(ctx, cancel, timeouts, func(ctx context.Context) error {
		return serveTimeouts(ctx, c, func(_ context.Context, order string) error {
			fmt.Println("undone", order)
			return nil
		})
	}))
	fmt.Println(paid(context.Background(), c, late))
	// Output:
	// true <nil>
	// undone order:43
	// false <nil>
}

// serveUntil serves until a message was acknowledged.
func serveUntil[T any](ctx context.Context, cancel func(), q *reliable.Queue[T], serve func(context.Context) error) error {
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx) }()
	for s, err := q.Stats(ctx); err == nil && s.Acked == 0; s, err = q.Stats(ctx) {
		time.Sleep(time.Millisecond)
	}
	cancel()
	return <-ended
}
