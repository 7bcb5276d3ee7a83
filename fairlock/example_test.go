package fairlock_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/lock"
)

// Whoever was queued first has the lock first.
func ExampleLock_Lock() {
	server, err := embedded.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	c, err := rueidisson.New(server.ClientOption())
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	defer c.Close(ctx)

	l := c.FairLock("deploy")
	hold, err := l.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	served := make(chan string)
	for i, who := range []string{"first", "second"} {
		go func() {
			_ = lock.Do(ctx, l, func(context.Context) error { served <- who; return nil })
		}()
		for queue, err := l.Queue(ctx); len(queue) <= i && err == nil; queue, err = l.Queue(ctx) {
			time.Sleep(time.Millisecond) // until it has its place
		}
	}
	if err := hold.Unlock(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-served)
	fmt.Println(<-served)
	// Output:
	// first
	// second
}
