package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/queue"
)

// offerOrTake adds a number to a queue, or waits for one.
func offerOrTake(ctx context.Context, w *worker, _ context.Context, name string) {
	q, v := queue.New[int64](w.c, name), w.fresh(w.r.proc)
	if w.rnd.IntN(2) == 0 {
		_ = w.operation(name, "offer", v, func() (int64, error) { _, err := q.Offer(ctx, v); return v, err })
		return
	}
	_ = w.operation(name, "take", 0, func() (int64, error) { return q.Take(ctx) })
}

// delayOf is how long an element, or a message, waits before it may be taken.
func delayOf(v int64) time.Duration { return time.Duration(mixed(v)%300) * time.Millisecond }

// offerLater adds a number that is due later, or takes one that is due.
func offerLater(ctx context.Context, w *worker, _ context.Context, name string) {
	q, v := queue.NewDelayed[int64](w.c, name), w.fresh(w.r.proc)
	switch w.rnd.IntN(4) {
	case 0, 1:
		_ = w.operation(name, "offer", v, func() (int64, error) { _, err := q.Offer(ctx, v, delayOf(v)); return v, err })
	case 2:
		_ = w.operation(name, "poll", 0, func() (int64, error) { return q.Poll(ctx) })
	default:
		_ = w.operation(name, "take", 0, func() (int64, error) { return q.Take(ctx) })
	}
}

// moved checks what polled does, also of elements that wait, and that none was taken before its time.
func moved(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	q := queue.NewDelayed[int64](c, name)
	drain := func(ctx context.Context) (all []int64, err error) {
		for {
			v, err := q.Poll(ctx)
			switch {
			case err == nil:
				all = append(all, v)
				continue
			case !errors.Is(err, queue.ErrEmpty):
				return all, err
			}
			if n, err := q.Len(ctx); err != nil || n == 0 || !sleep(ctx, 20*time.Millisecond) {
				return all, err
			}
		}
	}
	_, found, chances = drained(ctx, drain, name, events)
	soon, n := early(operations(events, name, "offer"), append(operations(events, name, "poll"), operations(events, name, "take")...))
	return append(found, soon...), chances + n
}

// early finds elements that were taken before they were due. A chance is a take at a time when another element was not due yet.
func early(offers, polls []event) (found []string, chances int) {
	due := map[int64]int64{}
	var waits []event // since Began, until At
	for _, o := range offers {
		due[o.Value] = o.Began + int64(delayOf(o.Value))
		if o.Outcome == done {
			waits = append(waits, event{Began: o.At, At: due[o.Value]})
		}
	}
	for _, p := range polls {
		if p.Outcome != done {
			continue
		}
		if at := due[p.Value]; p.At < at-int64(inexact) {
			found = append(found, fmt.Sprintf("element %x was taken %v before it was due", p.Value, time.Duration(at-p.At)))
		}
		if slices.ContainsFunc(waits, func(o event) bool { return o.Began < p.Began && o.At > p.At }) {
			chances++
		}
	}
	return found, chances
}

// scores is how many scores elements of a priority queue have.
const scores = 10

func scoreOf(v int64) int64 { return mixed(v) % scores }

// offerScored adds a number with a score, or polls or waits for that of the lowest score.
func offerScored(ctx context.Context, w *worker, _ context.Context, name string) {
	q, v := queue.NewPriority[int64](w.c, name), w.fresh(w.r.proc)
	take, op := q.Poll, "poll"
	switch w.rnd.IntN(8) {
	case 0, 1, 2, 3:
		_ = w.operation(name, "offer", v, func() (int64, error) { _, err := q.Offer(ctx, v, float64(scoreOf(v))); return v, err })
		return
	case 4:
		take, op = q.Take, "take"
	}
	_ = w.operation(name, op, 0, func() (int64, error) { s, err := take(ctx); return s.Value, err })
}

// lowestFirst checks what polled does, and that no poll passed over elements of lower scores.
func lowestFirst(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	left, found, chances := drained(ctx, func(ctx context.Context) (all []int64, err error) {
		some, err := queue.NewPriority[int64](c, name).Drain(ctx)
		for _, s := range some {
			all = append(all, s.Value)
		}
		return all, err
	}, name, events)
	passed, n := passedOver(operations(events, name, "offer"), operations(events, name, "poll"), operations(events, name, "take"), left, scoreOf)
	return append(found, passed...), chances + n
}

// passedOver finds polls that took an element while others of a lower rank were there for all of the time of the poll. What a caller
// took that gave up is put back, and is not there meanwhile: one for each such caller. A process may keep what it took for a caller
// that gave up for the next one that waits, so takes are not judged. A chance is a poll at a time when an element of a higher rank was
// there.
func passedOver(offers, polls, takes []event, left []int64, rank func(int64) int64) (found []string, chances int) {
	polled, all := map[int64]event{}, slices.Concat(polls, takes)
	for _, p := range polls {
		if p.Outcome == done {
			polled[p.Value] = p
		}
	}
	var there []event // since Began, until At
	for _, o := range offers {
		p, was := polled[o.Value]
		if o.Outcome != done || !was && !slices.Contains(left, o.Value) {
			continue
		}
		e := event{Value: o.Value, Began: o.At, At: math.MaxInt64}
		if was {
			e.At = p.Began
		}
		there = append(there, e)
	}
	for _, p := range polled {
		lower, higher := 0, false
		for _, e := range there {
			if e.Value != p.Value && e.Began < p.Began && e.At > p.At {
				higher = higher || rank(e.Value) > rank(p.Value)
				if rank(e.Value) < rank(p.Value) {
					lower++
				}
			}
		}
		if higher {
			chances++
		}
		if lower > 0 && lower > givenUp(all, p) {
			found = append(found, fmt.Sprintf("%x was taken, and %d of a lower rank were there", p.Value, lower))
		}
	}
	return found, chances
}

// givenUp counts the takes that ended without an element, and that may have had one for a while when another take was made.
func givenUp(polls []event, at event) (n int) {
	for _, p := range polls {
		if p.Began < at.At && p.At > at.Began-int64(loggedWithin) && (p.Outcome == unknown || p.Outcome == not && strings.Contains(p.Error, "context ")) {
			n++
		}
	}
	return n
}

// offerRing adds a number to a ring, takes the oldest, or counts.
func offerRing(ctx context.Context, w *worker, _ context.Context, name string) {
	q, v := queue.NewRing[int64](w.c, name), w.fresh(w.r.proc)
	switch w.rnd.IntN(5) {
	case 0, 1, 2:
		_ = w.operation(name, "offer", v, func() (int64, error) { _, err := q.Offer(ctx, v); return v, err })
	case 3:
		_ = w.operation(name, "poll", 0, func() (int64, error) { return q.Poll(ctx) })
	default:
		_ = w.operation(name, "len", 0, func() (int64, error) { return q.Len(ctx) })
	}
}

func newest(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	left, err := queue.NewRing[int64](c, name).Drain(ctx)
	if err != nil { // elements may have been lost with the answer
		return nil, 0
	}
	return ringHistory(operations(events, name, "offer"), operations(events, name, "poll"), operations(events, name, "len"), left)
}

// ringHistory judges a ring: it never has more elements than its capacity, each is taken once at most, and it gives and drops the
// oldest one. A chance is an element that was dropped, or an outcome that is not known.
func ringHistory(offers, polls, lens []event, left []int64) (found []string, chances int) {
	for _, n := range append(lens, event{Outcome: done, Value: int64(len(left))}) {
		if n.Outcome == done && n.Value > capacity {
			found = append(found, fmt.Sprintf("the ring has %d elements, of %d", n.Value, capacity))
		}
	}
	times, ended := map[int64]int{}, map[int64]event{} // when the take of an element began and ended
	for _, v := range left {
		times[v]++
		ended[v] = event{Began: math.MaxInt64, At: math.MaxInt64}
	}
	for _, p := range polls {
		if p.Outcome == done {
			times[p.Value]++
			ended[p.Value] = p
		}
	}
	sorted := slices.SortedFunc(slices.Values(offers), func(a, b event) int { return cmp.Compare(a.Began, b.Began) })
	first := firstEnds(sorted, ended)
	for _, o := range sorted {
		switch n := times[o.Value]; {
		case n > 1:
			found = append(found, fmt.Sprintf("element %x was taken %d times", o.Value, n))
		case n == 1 && o.Outcome == not:
			found = append(found, fmt.Sprintf("element %x was taken, and its offer says: %s", o.Value, o.Error))
		case n == 0 && o.Outcome == done:
			chances++
		}
		delete(times, o.Value)
		later, _ := slices.BinarySearchFunc(sorted, o.At, func(s event, at int64) int { return cmp.Compare(s.Began, at+1) })
		if e, was := ended[o.Value]; was && o.Outcome == done && later < len(sorted) && first[later].At < e.Began {
			found = append(found, fmt.Sprintf("element %x was taken or dropped before %x, which is older", first[later].Value, o.Value))
		}
	}
	for v := range times {
		found = append(found, fmt.Sprintf("element %x was never offered", v))
	}
	return found, chances + int(count(polls, unknown)+count(offers, unknown))
}

// firstEnds returns for each place in the order of offers which of the elements from there on was the first that is known to be taken or
// dropped. Of a dropped one that is known only in the end.
func firstEnds(sorted []event, ended map[int64]event) []event {
	first := make([]event, len(sorted))
	least := event{At: math.MaxInt64}
	for i, o := range slices.Backward(sorted) {
		e, was := ended[o.Value]
		if !was {
			e.At = math.MaxInt64 - 1
		}
		if o.Outcome == done && e.At < least.At {
			least = event{Value: o.Value, At: e.At}
		}
		first[i] = least
	}
	return first
}

func TestElementsThatComeEarlyAreFound(t *testing.T) {
	t.Parallel()
	v := int64(1)
	for delayOf(v) < 2*inexact {
		v++
	}
	offer := event{Op: "offer", Value: v, Began: 10, At: 20, Outcome: done}
	poll := func(after time.Duration) event {
		at := offer.Began + int64(delayOf(v)+after)
		return event{Op: "poll", Value: v, Began: at - 1, At: at, Outcome: done}
	}
	found, chances := early([]event{offer}, []event{poll(0)})
	require.Empty(t, found)
	require.Zero(t, chances)
	found, _ = early([]event{offer}, []event{poll(-2 * inexact)})
	require.Len(t, found, 1)
	_, chances = early([]event{offer, {Op: "offer", Value: 99, Began: 1, At: 2, Outcome: done}}, []event{{Op: "poll", Value: 99, Began: 30, At: 40, Outcome: done}})
	require.Equal(t, 1, chances)
}

func TestElementsThatArePassedOverAreFound(t *testing.T) {
	t.Parallel()
	offer := func(v int64) event { return event{Value: v, Began: 1, At: 2, Outcome: done} }
	poll := func(v, from, to int64) event { return event{Value: v, Began: from, At: to, Outcome: done} }
	self := func(v int64) int64 { return v }
	for name, c := range map[string]struct {
		offers, polls  []event
		takes          []event
		left           []int64
		found, chances int
	}{
		"the lowest first":                 {[]event{offer(1), offer(2)}, []event{poll(1, 3, 4), poll(2, 5, 6)}, nil, nil, 0, 1},
		"the highest first":                {[]event{offer(1), offer(2)}, []event{poll(2, 3, 4), poll(1, 5, 6)}, nil, nil, 1, 0},
		"at the same time":                 {[]event{offer(1), offer(2)}, []event{poll(2, 3, 6), poll(1, 5, 7)}, nil, nil, 0, 0},
		"the lowest is left":               {[]event{offer(1), offer(2)}, []event{poll(2, 3, 4)}, nil, []int64{1}, 1, 0},
		"the lowest is lost":               {[]event{offer(1), offer(2)}, []event{poll(2, 3, 4)}, nil, nil, 0, 0},
		"offered too late":                 {[]event{{Value: 1, Began: 3, At: 5, Outcome: done}, offer(2)}, []event{poll(2, 3, 4)}, nil, []int64{1}, 0, 0},
		"a caller that gave up had it":     {[]event{offer(1), offer(2)}, []event{{Began: 2, At: 3, Outcome: not, Error: "context canceled"}, poll(2, 3, 4)}, nil, []int64{1}, 0, 0},
		"an empty answer had nothing":      {[]event{offer(1), offer(2)}, []event{{Began: 2, At: 3, Outcome: not, Error: "empty"}, poll(2, 3, 4)}, nil, []int64{1}, 1, 0},
		"a caller that came later did not": {[]event{offer(1), offer(2)}, []event{poll(2, 3, 4), {Began: 8, At: 9, Outcome: not, Error: "context canceled"}}, nil, []int64{1}, 1, 0},
		"the lowest was kept for a waiter": {[]event{offer(1), offer(2)}, []event{poll(2, 3, 4)}, []event{poll(1, 5, 6)}, nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, chances := passedOver(c.offers, c.polls, c.takes, c.left, self)
			require.Len(t, found, c.found, found)
			require.Equal(t, c.chances, chances)
		})
	}
}

func TestWhatARingCannotShowIsFound(t *testing.T) {
	t.Parallel()
	offer := func(v int64, outcome string) event {
		return event{Value: v, Began: 2 * v, At: 2*v + 1, Outcome: outcome}
	}
	poll := func(v, from, to int64) event { return event{Value: v, Began: from, At: to, Outcome: done} }
	for name, c := range map[string]struct {
		offers, polls, lens []event
		left                []int64
		found, chances      int
	}{
		"taken and left":           {[]event{offer(1, done), offer(2, done)}, []event{poll(1, 8, 9)}, nil, []int64{2}, 0, 0},
		"the oldest is dropped":    {[]event{offer(1, done), offer(2, done)}, nil, nil, []int64{2}, 0, 1},
		"the newest is dropped":    {[]event{offer(1, done), offer(2, done)}, nil, nil, []int64{1}, 1, 1},
		"the newest is taken":      {[]event{offer(1, done), offer(2, done)}, []event{poll(2, 8, 9)}, nil, []int64{1}, 1, 0},
		"in order":                 {[]event{offer(1, done), offer(2, done)}, []event{poll(1, 8, 9), poll(2, 9, 10)}, nil, nil, 0, 0},
		"out of order":             {[]event{offer(1, done), offer(2, done)}, []event{poll(2, 8, 9), poll(1, 10, 11)}, nil, nil, 1, 0},
		"at the same time":         {[]event{offer(1, done), offer(2, done)}, []event{poll(2, 8, 9), poll(1, 9, 10)}, nil, nil, 0, 0},
		"the older one comes late": {[]event{offer(1, unknown), offer(2, done)}, nil, nil, []int64{1}, 0, 2},
		"taken twice":              {[]event{offer(1, done)}, []event{poll(1, 8, 9), poll(1, 9, 10)}, nil, nil, 1, 0},
		"taken and left twice":     {[]event{offer(1, done)}, []event{poll(1, 8, 9)}, nil, []int64{1}, 1, 0},
		"never offered":            {nil, nil, nil, []int64{1}, 1, 0},
		"its offer was refused":    {[]event{offer(1, not)}, nil, nil, []int64{1}, 1, 0},
		"too many":                 {nil, nil, []event{{Value: capacity + 1, Outcome: done}}, nil, 1, 0},
		"as many as may be":        {nil, nil, []event{{Value: capacity, Outcome: done}}, nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, chances := ringHistory(c.offers, c.polls, c.lens, c.left)
			require.Len(t, found, c.found, found)
			require.Equal(t, c.chances, chances)
		})
	}
}
