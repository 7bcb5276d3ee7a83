package chaos

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/stream"
)

const (
	consumers = "workers" // the group of consumers of a stream
	element   = "v"       // the field of an entry
	// idle is how long a consumer may have an entry without an acknowledgement.
	idle = 300 * time.Millisecond
)

func groupOf(c *rueidisson.Client, name string) *stream.Group[string, int64] {
	return stream.New[string, int64](c, name).Group(consumers)
}

// addOrConsume adds an entry to a stream, or handles some as a consumer of the group. Each message is acknowledged, has failed, or is
// left without an outcome.
func addOrConsume(ctx context.Context, w *worker, _ context.Context, name string) {
	if w.rnd.IntN(2) == 0 {
		v := w.fresh(w.r.proc)
		w.exchange(name, "add", v, func() ([]int64, error) {
			_, err := stream.New[string, int64](w.c, name).Add(ctx, map[string]int64{element: v})
			return nil, err
		})
		return
	}
	began, most := now(), 1+w.rnd.IntN(4)
	consumer := fmt.Sprintf("%d-%d", w.r.proc, w.number)
	for m, err := range groupOf(w.c, name).Messages(ctx, consumer, stream.WithIdle(idle), stream.WithBackoff(func(int64) time.Duration { return idle / 10 })) {
		if err != nil {
			continue
		}
		v := m.Fields[element]
		w.exchange(name, "deliver", 0, func() ([]int64, error) { return []int64{v, began}, nil })
		switch w.rnd.IntN(8) {
		case 0:
			_ = m.Nack(ctx, errNothing)
		case 1:
			sleep(ctx, w.between(0, idle*3/2))
		default:
			w.exchange(name, "ack", v, func() ([]int64, error) { return nil, m.Ack(ctx) })
		}
		if most--; most == 0 {
			return
		}
	}
}

// consumed has the entries that are left handled, and checks the history of the group.
func consumed(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	g := groupOf(c, name)
	acks := operations(events, name, "ack")
	for n, err := g.Lag(ctx); n > 0 || err != nil; n, err = g.Lag(ctx) {
		if err != nil && !sleep(ctx, 10*time.Millisecond) {
			return []string{fmt.Sprintf("what is left: %v", err)}, 0
		}
		one, stop := context.WithTimeout(ctx, idle)
		for m, err := range g.Messages(one, "judge", stream.WithIdle(idle)) {
			if err == nil && m.Ack(ctx) == nil {
				acks = append(acks, event{Op: "ack", Value: m.Fields[element], Outcome: done, At: now()})
			}
		}
		stop()
		if ctx.Err() != nil {
			return []string{fmt.Sprintf("%d entries are not acknowledged in time", n)}, 0
		}
	}
	return groupHistory(operations(events, name, "add"), acks, operations(events, name, "deliver"))
}

// groupHistory judges the entries of a group of consumers: each is acknowledged, once, and is not delivered to a loop that began after
// that. A delivery has the value, and when its loop began. A chance is a delivery that was not the first one, or an outcome that is not
// known.
func groupHistory(adds, acks, deliveries []event) (found []string, chances int) {
	added, acked, perhaps, times := map[int64]event{}, map[int64]event{}, map[int64]bool{}, map[int64]int{}
	for _, a := range adds {
		added[a.Value] = a
	}
	for _, a := range acks {
		perhaps[a.Value] = perhaps[a.Value] || a.Outcome == unknown
		if a.Outcome != done {
			continue
		}
		if before, twice := acked[a.Value]; twice {
			found = append(found, fmt.Sprintf("entry %x was acknowledged twice, by process %d and process %d", a.Value, before.Proc, a.Proc))
		}
		acked[a.Value] = a
	}
	for _, d := range deliveries {
		if len(d.Values) == 0 { // the process was killed
			continue
		}
		v, began := d.Values[0], d.Values[1]
		if times[v]++; times[v] > 1 {
			chances++
		}
		switch a, known := added[v]; {
		case !known:
			found = append(found, fmt.Sprintf("entry %x was delivered and never added", v))
		case a.Outcome == not:
			found = append(found, fmt.Sprintf("entry %x was delivered, and its Add says: %s", v, a.Error))
		case acked[v].At != 0 && acked[v].At < began:
			found = append(found, fmt.Sprintf("entry %x was delivered %v after it was acknowledged", v, time.Duration(began-acked[v].At)))
		}
	}
	for _, a := range adds {
		if _, was := acked[a.Value]; !was && a.Outcome == done && !perhaps[a.Value] {
			found = append(found, fmt.Sprintf("entry %x was added and never acknowledged", a.Value))
		}
	}
	return found, chances + int(count(adds, unknown)+count(acks, unknown))
}

// grouped makes the group of consumers.
func grouped(ctx context.Context, c *rueidisson.Client, name string) error {
	_, err := groupOf(c, name).Create(ctx, stream.FromStart)
	return err
}

func TestWhatAGroupOfConsumersCannotShowIsFound(t *testing.T) {
	t.Parallel()
	add := func(v int64, outcome string) event { return event{Value: v, Began: 1, At: 2, Outcome: outcome} }
	ack := func(v, at int64, outcome string) event {
		return event{Value: v, Began: at - 1, At: at, Outcome: outcome}
	}
	got := func(v, began int64) event {
		return event{Values: []int64{v, began}, Outcome: done, Began: began + 1, At: began + 1}
	}
	for name, c := range map[string]struct {
		adds, acks, deliveries []event
		found, chances         int
	}{
		"handled":                        {[]event{add(7, done)}, []event{ack(7, 9, done)}, []event{got(7, 5)}, 0, 0},
		"never handled":                  {[]event{add(7, done)}, nil, nil, 1, 0},
		"perhaps handled":                {[]event{add(7, done)}, []event{ack(7, 9, unknown)}, nil, 0, 1},
		"perhaps added":                  {[]event{add(7, unknown)}, nil, nil, 0, 1},
		"delivered twice":                {[]event{add(7, done)}, []event{ack(7, 9, done)}, []event{got(7, 5), got(7, 6)}, 0, 1},
		"acknowledged twice":             {[]event{add(7, done)}, []event{ack(7, 9, done), ack(7, 10, done)}, nil, 1, 0},
		"refused the second time":        {[]event{add(7, done)}, []event{ack(7, 9, done), ack(7, 10, not)}, nil, 0, 0},
		"delivered after it was handled": {[]event{add(7, done)}, []event{ack(7, 9, done)}, []event{got(7, 10)}, 1, 0},
		"never added":                    {nil, nil, []event{got(7, 10)}, 1, 0},
		"its Add was refused":            {[]event{add(7, not)}, nil, []event{got(7, 10)}, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, chances := groupHistory(c.adds, c.acks, c.deliveries)
			require.Len(t, found, c.found, strings.Join(found, "\n"))
			require.Equal(t, c.chances, chances)
		})
	}
}
