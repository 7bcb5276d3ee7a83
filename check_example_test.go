package rueidisson_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/rmap"
)

// start checks what the program uses, and goes on in spite of the settings of the server.
func start(ctx context.Context, c *rueidisson.Client, objects ...rueidisson.Checker) error {
	err := c.Check(ctx, objects...)
	var found *rueidisson.CheckError
	if errors.As(err, &found) && found.Objects == nil {
		fmt.Println("warning:", found.Settings)
		return nil
	}
	return err
}

func ExampleClient_Check() {
	url, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	c, err := rueidisson.Open(url)
	if err != nil {
		panic(err)
	}
	defer c.Close(ctx)

	orders := queue.New[string](c, "orders")
	fmt.Println(start(ctx, c, orders, c.Lock("order:42"), rmap.New[string, int](c, "stock")))

	if _, err := orders.Offer(ctx, "42"); err != nil {
		panic(err)
	}
	err = start(ctx, c, c.Lock("orders")) // which is the name of the queue
	fmt.Println(errors.Is(err, rueidisson.ErrWrongKind))
	fmt.Println(err)
	// Output:
	// <nil>
	// true
	// check lock "orders": the name is that of an object of another kind: key "orders" is of type list, and not hash
}
