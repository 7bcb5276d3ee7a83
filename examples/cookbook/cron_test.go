package cookbook

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/election"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

// cron runs in every process. The leader adds a report job for each interval, and any process handles it.
func cron(ctx context.Context, c *rueidisson.Client, self string, every time.Duration) error {
	jobs := reliable.New[time.Time](c, "reports")
	for {
		err := lead(ctx, c.Election("cron"), self, jobs, every)
		if ctx.Err() != nil || errors.Is(err, rueidisson.ErrClosed) {
			return err
		}
		if err == nil {
			continue // the term has ended: campaign again
		}
		log.Println("cron tries again in a second:", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// lead waits until this process is elected, and adds jobs until its term ends.
func lead(ctx context.Context, el *election.Election, self string, jobs *reliable.Queue[time.Time], every time.Duration) error {
	term, err := el.Campaign(ctx, self)
	if err != nil {
		return err
	}
	return errors.Join(schedule(term.Context(ctx), jobs, every), term.Resign(ctx))
}

// schedule adds jobs until ctx ends, because the program stops or another process leads.
func schedule(ctx context.Context, jobs *reliable.Queue[time.Time], every time.Duration) error {
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticks.C:
			due := now.Truncate(every)
			// The key keeps a new leader from adding the job of the old one again.
			_, err := jobs.Add(ctx, due, reliable.WithDedup(due.Format(time.RFC3339Nano), 10*every))
			if err != nil && !errors.Is(err, reliable.ErrDuplicate) {
				return err
			}
		}
	}
}

func Example_leaderElectedCron() {
	c, stop := connect()
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	for _, self := range []string{"a", "b"} {
		go func() { ended <- cron(ctx, c, self, 20*time.Millisecond) }()
	}

	m, err := reliable.New[time.Time](c, "reports").Receive(ctx)
	check(err)
	fmt.Println("a report is due:", m.Value.Equal(m.Value.Truncate(20*time.Millisecond)))
	check(m.Ack(ctx))
	cancel()
	<-ended
	<-ended
	// Output: a report is due: true
}
