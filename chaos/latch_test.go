package chaos

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson"
)

const (
	latches = 40 // of a name: the workers go from one to the next
	parties = processes * workers * 2 / 3
)

func latchName(name string, i int64) string { return fmt.Sprintf("%s:%d", name, i) }

func latchNames(name string) (all []string) {
	for i := range int64(latches) {
		all = append(all, latchName(name, i))
	}
	return all
}

func armed(ctx context.Context, c *rueidisson.Client, name string) error {
	for i := range int64(latches) {
		if _, err := c.Latch(latchName(name, i)).TrySetCount(ctx, parties); err != nil {
			return err
		}
	}
	return nil
}

// countAndWait counts the next latch down, once for each worker, and waits for it.
func countAndWait(ctx context.Context, w *worker, _ context.Context, name string) {
	if w.at == nil {
		w.at = map[string]int64{}
	}
	i := w.at[name]
	if i == latches {
		return
	}
	w.at[name]++
	l := w.c.Latch(latchName(name, i))
	w.holds++
	_ = w.operation(name, "count", i+1, func() (int64, error) { _, err := l.CountDown(ctx); return 0, err })
	w.holds++
	_ = w.operation(name, "await", i+1, func() (int64, error) { return 0, l.Await(ctx) })
}

// counted checks that each count down counted once, and that nobody passed a latch before as many had begun as it takes.
func counted(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	downs, waits := operations(events, name, "count"), operations(events, name, "await")
	for i := range int64(latches) {
		least, most := 0, 0
		for _, d := range downs {
			if d.Value == i+1 && d.Outcome == done {
				least++
			}
			if d.Value == i+1 && d.Outcome != not {
				most++
			}
		}
		chances += most - least
		left, err := c.Latch(latchName(name, i)).Count(ctx)
		if low, high := max(parties-most, 0), max(parties-least, 0); err != nil || left < int64(low) || left > int64(high) {
			found = append(found, fmt.Sprintf("latch %d has %d left, expected %d to %d (%v)", i, left, low, high, err))
		}
		for _, w := range waits {
			if w.Value != i+1 || w.Outcome != done {
				continue
			}
			began, begun := 0, 0 // count downs before the wait began, and before it passed
			for _, d := range downs {
				if d.Value != i+1 || d.Outcome == not {
					continue
				}
				if d.Began < w.Began {
					began++
				}
				if d.Began < w.At {
					begun++
				}
			}
			if began < parties {
				chances++ // it had to wait
			}
			if begun < parties {
				found = append(found, fmt.Sprintf("a wait passed latch %d after %d count downs had begun, of %d", i, begun, parties))
			}
		}
	}
	return found, chances
}
