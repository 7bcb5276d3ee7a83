package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

// groupsOfJobs is how many groups the messages of a queue belong to.
const groupsOfJobs = 3

// termsOf returns the options of a message: it belongs to a group, has a priority and may be tried a few times only, or is delayed.
func termsOf(v int64) (opts []reliable.AddOption, group string, delay time.Duration) {
	switch kind := mixed(v) % 4; kind {
	case 0, 1:
		group = fmt.Sprint("group ", mixed(v)/4%groupsOfJobs)
		return []reliable.AddOption{reliable.WithGroup(group)}, group, 0
	case 2:
		return []reliable.AddOption{reliable.WithPriority(int(mixed(v) / 4 % 3)), reliable.WithAttempts(1 + int(mixed(v)/16%2))}, "", 0
	}
	return []reliable.AddOption{reliable.WithDelay(delayOf(v))}, "", delayOf(v)
}

// addOrWork adds a message with a group, a priority or a delay, or receives one. What was received is acknowledged, has failed, or is
// given back.
func addOrWork(ctx context.Context, w *worker, round context.Context, name string) {
	q := reliable.New[int64](w.c, name)
	if w.rnd.IntN(3) == 0 {
		v := w.fresh(w.r.proc)
		opts, _, _ := termsOf(v)
		_ = w.operation(name, "add", v, func() (int64, error) { _, err := q.Add(ctx, v, opts...); return v, err })
		return
	}
	m, err := q.Receive(ctx)
	if err != nil {
		return
	}
	w.holds++
	names := []string{entryOf(name, fmt.Sprint(m.Value))}
	if _, group, _ := termsOf(m.Value); group != "" {
		names = append(names, entryOf(name, group))
	}
	w.keep(round, held{names: names, token: m.Delivery, err: m.Err}, watchdog)
	switch w.rnd.IntN(8) {
	case 0:
		_ = m.Nack(context.Background(), errNothing, reliable.WithDelay(w.between(time.Millisecond, 50*time.Millisecond)))
		return
	case 1:
		_ = m.Release(context.Background())
		return
	}
	_ = w.operation(name, "ack", m.Value, func() (int64, error) {
		err := m.Ack(context.Background())
		if errors.Is(err, reliable.ErrLost) { // an earlier send of the same Ack may have done it
			err = errors.Join(err, rueidisson.ErrOutcomeUnknown)
		}
		return 0, err
	})
}

// worked checks what handled does, of messages and of groups, that what was buried can be redriven, that groups keep their order, and that no message came before its time.
func worked(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	found, chances = handledOrBuried(ctx, c, name, events, true)
	all := spansOf(events)
	some, n := jobsHistory(operations(events, name, "add"), operations(events, name, "ack"), func(v int64) []span {
		return all[entryOf(name, fmt.Sprint(v))]
	})
	return append(found, some...), chances + n
}

// jobsHistory judges the order of groups, and delays. A chance is a message whose time, or whose turn, had not come when it was added.
func jobsHistory(adds, acks []event, spans func(v int64) []span) (found []string, chances int) {
	acked := map[int64]int64{} // when the first acknowledgement that may count began
	for _, a := range acks {
		if a.Outcome != not && (acked[a.Value] == 0 || a.Began < acked[a.Value]) {
			acked[a.Value] = a.Began
		}
	}
	before := map[string][]event{}
	for _, a := range slices.SortedFunc(slices.Values(adds), func(a, b event) int { return cmp.Compare(a.Began, b.Began) }) {
		_, group, delay := termsOf(a.Value)
		held := spans(a.Value)
		if len(held) == 0 || a.Outcome != done {
			continue
		}
		if early := a.Began + int64(delay-inexact) - held[0].from; delay > 0 && early > 0 {
			found = append(found, fmt.Sprintf("message %x came %v before its time", a.Value, time.Duration(early)))
		}
		if delay > 0 {
			chances++
		}
		if group == "" {
			continue
		}
		for _, b := range before[group] {
			if b.At < a.Began && (acked[b.Value] == 0 || acked[b.Value] > held[0].from) {
				found = append(found, fmt.Sprintf("message %x of %s came before %x was acknowledged", a.Value, group, b.Value))
				break
			}
		}
		if len(before[group]) > 0 && acked[before[group][len(before[group])-1].Value] > a.At {
			chances++
		}
		before[group] = append(before[group], a)
	}
	return found, chances
}

func TestMessagesThatComeBeforeTheirTurnAreFound(t *testing.T) {
	t.Parallel()
	var delayed int64 // with a delay that is long enough
	of := map[string][]int64{}
	for v := int64(1); len(of["group 0"]) < 2 || len(of["group 1"]) < 2 || delayed == 0; v++ {
		_, group, delay := termsOf(v)
		of[group] = append(of[group], v)
		if delay > 4*inexact {
			delayed = v
		}
	}
	first, second, other := of["group 0"][0], of["group 0"][1], of["group 1"][0]
	add := func(v, at int64) event { return event{Value: v, Began: at, At: at + 1, Outcome: done} }
	ack := func(v, at int64, outcome string) event {
		return event{Value: v, Began: at, At: at + 1, Outcome: outcome}
	}
	held := func(v, from int64) span { return span{hold: v, from: from, to: from + 1} }
	for name, c := range map[string]struct {
		adds, acks     []event
		spans          []span
		found, chances int
	}{
		"in order":                         {[]event{add(first, 1), add(second, 3)}, []event{ack(first, 7, done)}, []span{held(first, 6), held(second, 8)}, 0, 1},
		"before the first is acknowledged": {[]event{add(first, 1), add(second, 3)}, []event{ack(first, 9, done)}, []span{held(first, 6), held(second, 8)}, 1, 1},
		"perhaps acknowledged":             {[]event{add(first, 1), add(second, 3)}, []event{ack(first, 7, unknown), ack(first, 12, done)}, []span{held(first, 6), held(second, 8)}, 0, 1},
		"never acknowledged":               {[]event{add(first, 1), add(second, 3)}, nil, []span{held(first, 6), held(second, 8)}, 1, 0},
		"added at the same time":           {[]event{add(first, 1), add(second, 2)}, []event{ack(first, 9, done)}, []span{held(first, 6), held(second, 8)}, 0, 1},
		"another group":                    {[]event{add(first, 1), add(other, 3)}, []event{ack(first, 9, done)}, []span{held(first, 6), held(other, 8)}, 0, 0},
		"in time":                          {[]event{add(delayed, 1)}, nil, []span{held(delayed, 1+int64(delayOf(delayed)))}, 0, 1},
		"early":                            {[]event{add(delayed, 1)}, nil, []span{held(delayed, 1+int64(delayOf(delayed)/2))}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, chances := jobsHistory(c.adds, c.acks, func(v int64) []span {
				return slices.DeleteFunc(slices.Clone(c.spans), func(s span) bool { return s.hold != v })
			})
			require.Len(t, found, c.found, strings.Join(found, "\n"))
			require.Equal(t, c.chances, chances)
		})
	}
}
