package guide

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/queue"
)

// thumbnails is a queue of at most 1,000 pictures. A full queue slows producers down.
func thumbnails(ctx context.Context, c *rueidisson.Client) (*queue.Bounded[string], error) {
	pictures := queue.NewBounded[string](c, "pictures")
	_, err := pictures.TrySetCapacity(ctx, 1000) // the first call counts
	return pictures, err
}

// upload adds a picture. It gives up after a second if the queue stays full.
func upload(ctx context.Context, pictures *queue.Bounded[string], file string) (accepted bool, err error) {
	_, err = pictures.TryOffer(ctx, file, queue.WithWait(time.Second))
	if errors.Is(err, queue.ErrFull) {
		return false, nil
	}
	return err == nil, err
}

// shrink handles pictures until ctx ends.
func shrink(ctx context.Context, pictures *queue.Bounded[string], handle func(file string)) error {
	for file, err := range pictures.Consume(ctx) {
		switch {
		case errors.Is(err, rueidisson.ErrNotice): // an element that does not decode
			log.Print(err)
		case err != nil:
			return err // the sequence has ended
		default:
			handle(file)
		}
	}
	return nil
}

// remind adds a reminder that enters the queue when the delay has passed.
func remind(ctx context.Context, c *rueidisson.Client, user string, after time.Duration) error {
	_, err := queue.NewDelayed[string](c, "reminders").Offer(ctx, user, after)
	return err
}

func Example_queues() {
	c, stop := connect()
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	pictures, err := thumbnails(ctx, c)
	check(err)
	fmt.Println(upload(ctx, pictures, "cat.png"))
	err = shrink(ctx, pictures, func(file string) {
		fmt.Println("shrinks", file)
		cancel()
	})
	fmt.Println(errors.Is(err, context.Canceled))

	ctx = context.Background()
	check(remind(ctx, c, "ann", 20*time.Millisecond))
	fmt.Println(queue.NewDelayed[string](c, "reminders").Take(ctx))
	// Output:
	// true <nil>
	// shrinks cat.png
	// true
	// ann <nil>
}
