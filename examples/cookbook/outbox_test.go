package cookbook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

// Row is an event that was written in the same database transaction as the change that it is about.
type Row struct {
	ID    string
	Event string
}

// Outbox is the table of events that are not sent yet.
type Outbox interface {
	Unsent(ctx context.Context, most int) ([]Row, error)
	MarkSent(ctx context.Context, ids []string) error
}

// relay moves events from the outbox to a queue. It runs in every process, from time to time.
func relay(ctx context.Context, c *rueidisson.Client, outbox Outbox) error {
	events := reliable.New[string](c, "events")
	return lock.Do(ctx, c.Lock("outbox"), func(ctx context.Context) error {
		rows, err := outbox.Unsent(ctx, 100)
		if err != nil {
			return err
		}
		var sent []string
		for _, row := range rows {
			// The key finds rows that were added before a crash, and not marked.
			_, err := events.Add(ctx, row.Event, reliable.WithDedup(row.ID, 24*time.Hour))
			if err != nil && !errors.Is(err, reliable.ErrDuplicate) {
				return errors.Join(err, outbox.MarkSent(ctx, sent))
			}
			sent = append(sent, row.ID)
		}
		return outbox.MarkSent(ctx, sent)
	})
}

func Example_outbox() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	rows := table{{ID: "1", Event: "order 42 was placed"}, {ID: "2", Event: "order 43 was placed"}}
	for range 2 { // the first relay dies before it marks what it has sent
		check(relay(ctx, c, rows))
	}
	stats, err := reliable.New[string](c, "events").Stats(ctx)
	fmt.Println(stats.Ready, err)
	// Output: 2 <nil>
}

// table is an Outbox that forgets its marks.
type table []Row

func (t table) Unsent(context.Context, int) ([]Row, error) { return t, nil }

func (t table) MarkSent(context.Context, []string) error { return nil }
