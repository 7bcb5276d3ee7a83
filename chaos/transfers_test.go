package chaos

import (
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

// Outcomes of a Transfer beside those of other operations.
const (
	wasRemoved = "removed"
	wasTaken   = "removed when a consumer had it or had had it"
	wasBuried  = "buried"
	wasExpired = "expired"
	twoEnds    = "contradictory"
)

// endOf returns the outcome that the error of a Transfer tells.
func endOf(err error) (outcome string) {
	of := map[string]bool{
		unknown:    errors.Is(err, reliable.ErrOutcomeUnknown),
		wasTaken:   errors.Is(err, reliable.ErrRemoved) && errors.Is(err, reliable.ErrTaken),
		wasRemoved: errors.Is(err, reliable.ErrRemoved) && !errors.Is(err, reliable.ErrTaken),
		wasBuried:  errors.Is(err, reliable.ErrBuried),
		wasExpired: errors.Is(err, reliable.ErrExpired),
	}
	for one, is := range of {
		switch {
		case is && outcome != "":
			return twoEnds
		case is:
			outcome = one
		}
	}
	switch {
	case outcome != "":
		return outcome
	case err == nil:
		return done
	}
	return not
}

// transferTerms returns the options of a message that is transferred: some have one attempt, some expire, and some have a group.
func transferTerms(v int64) []reliable.AddOption {
	switch kind := mixed(v) % 8; kind {
	case 0, 1:
		return []reliable.AddOption{reliable.WithAttempts(1)}
	case 2:
		return []reliable.AddOption{reliable.WithExpiry(delayOf(v) + time.Millisecond)}
	case 3:
		return []reliable.AddOption{reliable.WithGroup(fmt.Sprint("group ", mixed(v)/8%groupsOfJobs))}
	}
	return nil
}

// transferOrWork transfers a message, or receives one. What was received is acknowledged, has failed, or is given back. Some workers
// handle the dead.
func transferOrWork(ctx context.Context, w *worker, round context.Context, name string) {
	q := reliable.New[int64](w.c, name)
	switch w.rnd.IntN(8) {
	case 0, 1, 2:
		v := w.fresh(w.r.proc)
		w.put(event{Kind: begins, Name: name, Op: "transfer", Value: v})
		id, err := q.Transfer(ctx, v, transferTerms(v)...)
		w.put(event{Kind: ends, Name: name, Op: "transfer", Value: v, Values: []int64{id}, Outcome: endOf(err), Error: text(err)})
	case 3:
		w.settleTransferred(ctx, round, name, q.Dead().Poll, "ack-dead")
	default:
		w.settleTransferred(ctx, round, name, q.Receive, "ack")
	}
}

// settleTransferred takes a message, notes that it has it, and settles it. ack names the acknowledgement in the record.
func (w *worker) settleTransferred(ctx, round context.Context, name string, take func(context.Context) (*reliable.Message[int64], error), ack string) {
	m, err := take(ctx)
	if err != nil {
		if scriptError.MatchString(err.Error()) {
			w.put(event{Kind: fails, Name: name, Error: err.Error()})
		}
		return
	}
	w.holds++
	has := event{Kind: begins, Name: name, Op: "have", Value: m.Value, Values: []int64{m.ID}}
	w.put(has)
	has.Kind, has.Outcome = ends, done
	w.put(has)
	w.keep(round, held{names: []string{message(name, m.ID)}, token: m.Delivery, err: m.Err}, watchdog)
	switch w.rnd.IntN(6) {
	case 0:
		_ = m.Nack(context.Background(), errNothing) // it waits for the backoff
		return
	case 1:
		var opts []reliable.NackOption
		if ack == "ack" { // a handler of the dead would have the message tried again
			opts = append(opts, reliable.WithDelay(w.between(time.Millisecond, 50*time.Millisecond)))
		}
		_ = m.Nack(context.Background(), errNothing, opts...)
		return
	case 2:
		_ = m.Release(context.Background())
		return
	}
	_ = w.operation(name, ack, m.Value, func() (int64, error) {
		err := m.Ack(context.Background())
		if errors.Is(err, reliable.ErrLost) && !errors.Is(err, reliable.ErrCancelled) { // an earlier send of the same Ack may have done it
			err = errors.Join(err, rueidisson.ErrOutcomeUnknown)
		}
		return 0, err
	})
}

// transferred checks that each Transfer told the truth, that no two workers had a message at a time, and that what no Transfer waits for
// any more is not delivered.
func transferred(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	q := reliable.New[int64](c, name)
	var left, dead []int64
	for {
		s, err := q.Stats(ctx)
		if err == nil && s.Ready+s.Delayed+s.Running+s.Behind == 0 {
			break
		}
		m, err := q.Poll(ctx) // see handled
		switch {
		case errors.Is(err, reliable.ErrEmpty) && sleep(ctx, 10*time.Millisecond):
			continue
		case err == nil:
			left = append(left, m.Value)
			err = m.Ack(ctx)
		}
		if err != nil {
			return []string{fmt.Sprintf("%+v: %v", s, err)}, 0
		}
	}
	for info, err := range q.Messages(ctx, reliable.Dead) {
		var v int64
		if err == nil {
			v, err = q.Decode(info)
		}
		if err != nil {
			return []string{err.Error()}, 0
		}
		dead = append(dead, v)
	}
	found, chances = transfersHistory(operations(events, name, "transfer"), operations(events, name, "have"),
		operations(events, name, "ack"), left, dead)
	for _, spans := range spansOf(events) {
		found = append(found, overlaps(spans, 1)...)
		found = append(found, falling(spans)...)
		chances += passings(spans)
	}
	return found, chances
}

// transfersHistory judges what Transfers say. haves are the deliveries to workers, acks the acknowledgements of consumers, which are no
// handlers of the dead. left was in the queue in the end, and dead is. A chance is a Transfer after which a message may be with
// a consumer, or in the queue.
func transfersHistory(transfers, haves, acks []event, left, dead []int64) (found []string, chances int) {
	ids, acked, maybe, first := map[int64][]int64{}, map[int64]int{}, map[int64]bool{}, map[int64]int64{}
	for _, h := range haves {
		ids[h.Value] = append(ids[h.Value], h.Values...)
	}
	for _, a := range acks {
		if a.Outcome != not && (first[a.Value] == 0 || a.Began < first[a.Value]) {
			first[a.Value] = a.Began
		}
		switch a.Outcome {
		case done:
			acked[a.Value]++
		case unknown:
			maybe[a.Value] = true
		}
	}
	for _, t := range transfers {
		v, says := t.Value, func(what string) {
			found = append(found, fmt.Sprintf("message %x %s, and its Transfer says: %s", t.Value, what, t.Outcome+" "+t.Error))
		}
		of := slices.Clone(ids[v])
		for _, id := range t.Values {
			if id != 0 {
				of = append(of, id)
			}
		}
		slices.Sort(of)
		if of = slices.Compact(of); len(of) > 1 {
			found = append(found, fmt.Sprintf("message %x has the ids %d", v, of))
		}
		if acked[v] > 1 {
			found = append(found, fmt.Sprintf("message %x was acknowledged %d times", v, acked[v]))
		}
		switch t.Outcome {
		case twoEnds:
			says("has several ends")
		case done:
			if acked[v] == 0 && !maybe[v] || first[v] > t.At {
				says("was not acknowledged by then")
			}
		case wasRemoved, wasExpired, not:
			if len(ids[v]) > 0 {
				says("was with a consumer")
			}
		case wasTaken, wasBuried:
			if acked[v] > 0 {
				says("was acknowledged")
			}
		}
		if t.Outcome != unknown && slices.Contains(left, v) {
			says("is still delivered")
		}
		if t.Outcome != unknown && t.Outcome != wasBuried && slices.Contains(dead, v) {
			says("is dead")
		}
		if slices.Contains([]string{unknown, wasTaken, wasBuried}, t.Outcome) {
			chances++
		}
	}
	return found, chances
}

func TestUntrueTransfersAreFound(t *testing.T) {
	t.Parallel()
	transfer := func(outcome string, id int64) []event {
		return []event{{Value: 7, Values: []int64{id}, Began: 1, At: 10, Outcome: outcome}}
	}
	have := []event{{Value: 7, Values: []int64{3}, Began: 4, At: 5, Outcome: done}}
	ack := func(outcome string, began int64) []event {
		return []event{{Value: 7, Began: began, At: began + 1, Outcome: outcome}}
	}
	for name, c := range map[string]struct {
		transfers, haves, acks []event
		left, dead             []int64
		found                  string
	}{
		"acknowledged":                      {transfers: transfer(done, 3), haves: have, acks: ack(done, 6)},
		"perhaps acknowledged":              {transfers: transfer(done, 3), haves: have, acks: ack(unknown, 6)},
		"not acknowledged":                  {transfers: transfer(done, 3), haves: have, found: "by then"},
		"by a handler of the dead":          {transfers: transfer(done, 3), haves: have, acks: ack(not, 6), found: "by then"},
		"acknowledged later":                {transfers: transfer(done, 3), haves: have, acks: ack(done, 11), found: "by then"},
		"another was acknowledged":          {transfers: transfer(done, 4), haves: have, acks: ack(done, 6), found: "has the ids [3 4]"},
		"acknowledged twice":                {transfers: transfer(unknown, 3), haves: have, acks: append(ack(done, 6), ack(done, 8)...), found: "2 times"},
		"acknowledged and delivered":        {transfers: transfer(done, 3), haves: have, acks: ack(done, 6), left: []int64{7}, found: "is still delivered"},
		"removed":                           {transfers: transfer(wasRemoved, 3)},
		"removed, and with a consumer":      {transfers: transfer(wasRemoved, 3), haves: have, found: "was with a consumer"},
		"removed and delivered":             {transfers: transfer(wasRemoved, 3), left: []int64{7}, found: "is still delivered"},
		"removed from a consumer":           {transfers: transfer(wasTaken, 3), haves: have, acks: ack(not, 6)},
		"removed, and perhaps acknowledged": {transfers: transfer(wasTaken, 3), haves: have, acks: ack(unknown, 6)},
		"removed, and acknowledged":         {transfers: transfer(wasTaken, 3), haves: have, acks: ack(done, 6), found: "was acknowledged"},
		"removed and dead":                  {transfers: transfer(wasTaken, 3), haves: have, dead: []int64{7}, found: "is dead"},
		"buried":                            {transfers: transfer(wasBuried, 3), haves: have, dead: []int64{7}},
		"buried and acknowledged":           {transfers: transfer(wasBuried, 3), haves: have, acks: ack(done, 6), found: "was acknowledged"},
		"expired":                           {transfers: transfer(wasExpired, 3)},
		"expired with a consumer":           {transfers: transfer(wasExpired, 3), haves: have, found: "was with a consumer"},
		"unknown":                           {transfers: transfer(unknown, 0), haves: have, left: []int64{7}, dead: []int64{7}},
		"not added":                         {transfers: transfer(not, 0)},
		"not added, and with a consumer":    {transfers: transfer(not, 0), haves: have, found: "was with a consumer"},
		"several ends":                      {transfers: transfer(twoEnds, 3), found: "has several ends"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, _ := transfersHistory(c.transfers, c.haves, c.acks, c.left, c.dead)
			if c.found == "" {
				require.Empty(t, found)
			} else {
				require.Len(t, found, 1)
				require.Contains(t, found[0], c.found)
			}
		})
	}
	_, chances := transfersHistory(slices.Concat(transfer(unknown, 0), transfer(wasTaken, 3), transfer(wasBuried, 3), transfer(done, 3)), nil, ack(done, 6)[:0], nil, nil)
	require.Equal(t, 3, chances)
}

func TestErrorsOfTransfersHaveOneMeaning(t *testing.T) {
	t.Parallel()
	for outcome, err := range map[string]error{
		done:       nil,
		unknown:    errors.Join(reliable.ErrOutcomeUnknown, reliable.ErrNotFound),
		wasRemoved: errors.Join(reliable.ErrRemoved, context.Canceled),
		wasTaken:   errors.Join(reliable.ErrRemoved, reliable.ErrTaken),
		wasBuried:  reliable.ErrBuried,
		wasExpired: reliable.ErrExpired,
		twoEnds:    errors.Join(reliable.ErrOutcomeUnknown, reliable.ErrRemoved),
		not:        context.Canceled,
	} {
		require.Equal(t, outcome, endOf(err), "%v", strings.TrimSpace(fmt.Sprint(err)))
	}
}
