package chaos

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// takeSome acquires one permit, or all of them, and releases them after a moment. A worker of the first process keeps a permit of each
// name, so that nobody ever gets all: a large request keeps small ones of its process waiting until its caller leaves.
func takeSome(ctx context.Context, w *worker, round context.Context, name string) {
	n, kept := int64(1), w.between(0, 20*time.Millisecond)
	switch {
	case w.r.proc == 1 && w.number < len(w.o.Names):
		name, kept, ctx = w.o.Names[w.number], w.o.For, round
	case w.rnd.IntN(3) > 0:
		large, cancel := context.WithTimeout(ctx, w.between(20*time.Millisecond, 200*time.Millisecond))
		defer cancel()
		n, ctx = permits, large
	default:
		ctx = round
	}
	s := w.c.Semaphore(name)
	w.holds++
	if w.operation(name, "acquire", n, func() (int64, error) { return 0, s.Acquire(ctx, n) }) != nil {
		return
	}
	sleep(round, kept)
	freeing, cancel := context.WithTimeout(context.Background(), redistest.Soon)
	defer cancel()
	w.holds++
	_ = w.operation(name, "release", n, func() (int64, error) { return 0, s.Release(freeing, n) })
}

// taken checks that nobody waits for long while enough is free, and that all permits are free when all were released.
func taken(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	faults := false
	for _, e := range events {
		faults = faults || e.Kind == breaks
		if e.Kind == breaks {
			chances++ // it may lose a permit, or give one too many
		}
	}
	acquires, releases := operations(events, name, "acquire"), operations(events, name, "release")
	if !faults {
		waited, left := heldUp(acquires, releases)
		found, chances = waited, left
	}
	least := int64(permits)
	for _, r := range releases {
		if r.Outcome != done {
			least -= r.Value
		}
	}
	for _, a := range acquires {
		if a.Outcome == unknown {
			least -= a.Value
		}
	}
	if count(acquires, done) > int64(len(releases)) { // a process was killed with what it held
		least = 0
	}
	for {
		n, err := c.Semaphore(name).Available(ctx)
		if err == nil && n >= least && n <= permits {
			return found, chances
		}
		if err == nil && n > permits || !sleep(ctx, 10*time.Millisecond) {
			return append(found, fmt.Sprintf("%d permits are free, expected %d to %d (%v)", n, max(least, 0), permits, err)), chances
		}
	}
}

var (
	// mostHeldUp bounds for how long a caller waits for what is free, and which no caller of its process asked for before. A waiter that
	// hears of nothing sleeps for 5 s.
	mostHeldUp = min(redistest.Scaled(1500*time.Millisecond), 4*time.Second)
	// granting is how long before the end of a call its permits were taken, at most.
	granting = redistest.Scaled(250 * time.Millisecond)
)

// heldUp returns the callers that waited for too long while enough was free and no older caller of their process waited; and how many
// left with younger ones after them, which may inherit what they were told.
func heldUp(acquires, releases []event) (found []string, left int) {
	type step struct {
		at int64
		n  int64
	}
	var steps []step // of what is taken, at most
	for _, a := range acquires {
		if a.Outcome == done || a.Outcome == unknown {
			steps = append(steps, step{max(a.Began, a.At-int64(granting)), a.Value})
		}
	}
	for _, r := range releases {
		steps = append(steps, step{r.At, -r.Value})
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	for _, a := range acquires {
		from := a.Began // since when no older caller of the process waits
		for _, o := range acquires {
			if o.Proc == a.Proc && o.Began < a.Began && o.At > a.Began {
				from = max(from, o.At)
				if o.At < a.At && o.Outcome == not {
					left++
				}
			}
		}
		had, since, longest := int64(0), int64(math.MaxInt64), int64(0)
		if had+a.Value <= permits {
			since = from
		}
		for _, s := range append(steps, step{a.At, 0}) {
			at := min(max(s.at, from), a.At)
			if since < at {
				longest = max(longest, at-since)
			}
			if had += s.n; had+a.Value > permits {
				since = math.MaxInt64
			} else if since == math.MaxInt64 {
				since = at
			}
			if s.at >= a.At {
				break
			}
		}
		if longest > int64(mostHeldUp) {
			found = append(found, fmt.Sprintf("process %d, worker %d, hold %d waits for %d for %v while enough is free", a.Proc, a.Worker, a.Hold, a.Value, time.Duration(longest)))
		}
	}
	return found, left
}

func TestCallersThatAreHeldUpAreFound(t *testing.T) {
	t.Parallel()
	second := int64(mostHeldUp)
	call := func(proc int, n, from, to int64, outcome string) event {
		return event{Proc: proc, Value: n, Began: from * second, At: to * second, Outcome: outcome}
	}
	for name, c := range map[string]struct {
		acquires, releases []event
		found, left        int
	}{
		"at once":                               {[]event{call(1, 1, 0, 1, done)}, nil, 0, 0},
		"while enough is free":                  {[]event{call(1, 1, 0, 9, not)}, nil, 1, 0},
		"while too little is free":              {[]event{call(2, 2, 0, 1, done), call(1, 2, 2, 9, not)}, nil, 0, 0},
		"until it is free":                      {[]event{call(2, 2, 0, 1, done), call(1, 2, 2, 9, done)}, []event{call(2, 2, 8, 8, done)}, 0, 0},
		"after it is free":                      {[]event{call(2, 2, 0, 1, done), call(1, 2, 2, 9, done)}, []event{call(2, 2, 3, 4, done)}, 1, 0},
		"after a larger one":                    {[]event{call(2, 1, 0, 0, done), call(1, 3, 1, 8, not), call(1, 1, 2, 9, done)}, nil, 0, 1},
		"after a larger one that left":          {[]event{call(2, 1, 0, 0, done), call(1, 3, 1, 4, not), call(1, 1, 2, 9, done)}, nil, 1, 1},
		"while a larger one of another process": {[]event{call(2, 1, 0, 0, done), call(3, 3, 1, 9, not), call(1, 1, 2, 3, done)}, nil, 0, 0},
	} {
		found, left := heldUp(c.acquires, c.releases)
		require.Len(t, found, c.found, "%s: %q", name, found)
		require.Equal(t, c.left, left, name)
	}
}
