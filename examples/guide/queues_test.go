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

// order puts an order at the tail of the queue, and an urgent one at the head. It returns how many are in the queue then.
func order(ctx context.Context, orders *queue.Queue[string], id string, urgent bool) (waiting int64, err error) {
	if urgent {
		return orders.OfferFirst(ctx, id)
	}
	return orders.Offer(ctx, id)
}

// nextOrder takes the order at the head. It waits for up to d if the queue is empty.
func nextOrder(ctx context.Context, orders *queue.Queue[string], d time.Duration) (id string, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	id, err = orders.Take(ctx)
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, rueidisson.ErrUnreached) {
		return "", false, nil // the server has answered all the time, and no order came
	}
	return id, err == nil, err
}

// searched notes a search of a user, and returns the last three, the oldest first.
func searched(ctx context.Context, c *rueidisson.Client, user, words string) ([]string, error) {
	last := queue.NewRing[string](c, "searches:"+user)
	if _, err := last.TrySetCapacity(ctx, 3); err != nil { // the first call counts
		return nil, err
	}
	if _, err := last.Offer(ctx, words); err != nil { // a full ring drops its oldest element
		return nil, err
	}
	return last.Newest(ctx, 3)
}

// ticket adds a ticket, or moves it if it is there already. The ticket that is due first has the lowest score.
func ticket(ctx context.Context, tickets *queue.Priority[string], id string, due time.Time) error {
	_, err := tickets.Offer(ctx, id, float64(due.Unix()))
	return err
}

// mostUrgent takes the ticket that is due first, and returns when that is.
func mostUrgent(ctx context.Context, tickets *queue.Priority[string]) (id string, due time.Time, err error) {
	next, err := tickets.Take(ctx) // waits while there is none
	return next.Value, time.Unix(int64(next.Score), 0).UTC(), err
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

func Example_plainQueue() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	orders := queue.New[string](c, "orders")
	fmt.Println(order(ctx, orders, "tea", false))
	fmt.Println(order(ctx, orders, "mate", false))
	fmt.Println(order(ctx, orders, "cocoa", true))
	fmt.Println(nextOrder(ctx, orders, time.Second))
	fmt.Println(orders.PollN(ctx, 10)) // what is there now, up to ten
	fmt.Println(nextOrder(ctx, orders, 10*time.Millisecond))
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 3 <nil>
	// cocoa true <nil>
	// [tea mate] <nil>
	//  false <nil>
}

func Example_ring() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	for _, words := range []string{"tea", "mate", "coffee", "cocoa"} {
		fmt.Println(searched(ctx, c, "ann", words))
	}
	// Output:
	// [tea] <nil>
	// [tea mate] <nil>
	// [tea mate coffee] <nil>
	// [mate coffee cocoa] <nil>
}

func Example_priority() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	tickets := queue.NewPriority[string](c, "tickets")
	noon := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	check(ticket(ctx, tickets, "slow page", noon.Add(2*time.Hour)))
	check(ticket(ctx, tickets, "typo", noon.Add(time.Hour)))
	check(ticket(ctx, tickets, "slow page", noon)) // it has become urgent
	fmt.Println(mostUrgent(ctx, tickets))
	fmt.Println(mostUrgent(ctx, tickets))
	// Output:
	// slow page 2030-01-01 12:00:00 +0000 UTC <nil>
	// typo 2030-01-01 13:00:00 +0000 UTC <nil>
}
