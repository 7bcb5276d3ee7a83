package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/topic"
)

// What a subscriber notes in addition to messages.
const (
	heard  = "heard"  // a message
	listen = "listen" // the subscription stands
	notice = "notice" // an error that is no end, with its kind as the outcome
)

// Kinds of notices.
const (
	disconnected = "disconnected"
	restored     = "restored"  // messages may have been missed
	connected    = "connected" // none was missed
	lagged       = "lagged"
	otherNotice  = "other"
)

// subscriber is the number of the worker of each process that subscribes to a name; the others publish.
func subscriber(w *worker) (name string, is bool) {
	if w.number < len(w.o.Names) {
		return w.o.Names[w.number], true
	}
	return "", false
}

// publish sends a number.
func (w *worker) publish(ctx context.Context, name string, v int64, do func(context.Context, int64) (int64, error)) {
	w.exchange(name, "publish", v, func() ([]int64, error) { _, err := do(ctx, v); return nil, err })
}

// noted returns the event of what a loop over messages yields, unless that is its end.
func noted(name string, v int64, err error) (e event, is bool) {
	var late *topic.LaggedError
	e = event{Kind: ends, Name: name, Op: notice, Error: text(err)}
	switch {
	case err == nil:
		e = event{Kind: ends, Name: name, Op: heard, Value: v, Outcome: done}
	case errors.As(err, &late):
		e.Outcome, e.Value = lagged, late.Missed
	case errors.Is(err, topic.ErrDisconnected):
		e.Outcome = disconnected
	case errors.Is(err, topic.ErrInterrupted):
		e.Outcome = restored
	case errors.Is(err, topic.ErrReconnected):
		e.Outcome = connected
	case errors.Is(err, rueidisson.ErrNotice):
		e.Outcome = otherNotice
	default:
		return event{}, false
	}
	return e, true
}

func (w *worker) note(name string, v int64, err error) {
	if e, is := noted(name, v, err); is {
		w.holds++
		w.put(e)
	}
}

// listenOrPublish hears a topic, a sharded one or a pattern for the rest of the round, or publishes.
func listenOrPublish(ctx context.Context, w *worker, round context.Context, name string) {
	heardName, listens := subscriber(w)
	if !listens {
		v := w.fresh(w.r.proc)
		if strings.HasSuffix(name, "0") {
			w.publish(ctx, name, v, topic.NewSharded[int64](w.c, name).Publish)
			return
		}
		w.publish(ctx, name, v, topic.New[int64](w.c, name).Publish)
		return
	}
	switch name = heardName; name[len(name)-1] {
	case '0':
		hear(w, round, name, topic.NewSharded[int64](w.c, name).Listen, func(v int64) int64 { return v })
	case '1':
		hear(w, round, name, topic.NewPattern[int64](w.c, name+"*").Listen, func(m topic.Message[int64]) int64 { return m.Value })
	default:
		hear(w, round, name, topic.New[int64](w.c, name).Listen, func(v int64) int64 { return v })
	}
}

func hear[M any](w *worker, round context.Context, name string, to func(context.Context, ...topic.SubscribeOption) (*topic.Subscription[M], error), value func(M) int64) {
	s, err := to(round)
	if err != nil {
		return
	}
	defer s.Close()
	w.holds++
	w.put(event{Kind: ends, Name: name, Op: listen, Outcome: done})
	for m, err := range s.Messages(round) {
		v := int64(0)
		if err == nil {
			v = value(m)
		}
		w.note(name, v, err)
	}
}

// heardAll checks what each subscriber has heard.
func heardAll(_ context.Context, _ *rueidisson.Client, name string, events []event) (found []string, chances int) {
	return subscriptions(operations(events, name, "publish"), events, false)
}

// listenKept hears a reliable topic for the rest of the round, or publishes.
func listenKept(ctx context.Context, w *worker, round context.Context, name string) {
	heardName, listens := subscriber(w)
	if !listens {
		w.publish(ctx, name, w.fresh(w.r.proc), topic.NewReliable[int64](w.c, name).Publish)
		return
	}
	s, err := topic.NewReliable[int64](w.c, heardName).Listen(round)
	if err != nil {
		return
	}
	defer s.Close()
	w.holds++
	w.put(event{Kind: ends, Name: heardName, Op: listen, Outcome: done})
	w.noteAll(heardName, s.Messages(round))
}

func (w *worker) noteAll(name string, messages iter.Seq2[int64, error]) {
	for v, err := range messages {
		w.note(name, v, err)
	}
}

// keptAll checks that each subscriber has heard everything, but what an interruption tells.
func keptAll(_ context.Context, _ *rueidisson.Client, name string, events []event) (found []string, chances int) {
	return subscriptions(operations(events, name, "publish"), events, true)
}

// subscriptions judges what each subscriber has heard from each publisher, in the order in which it was heard. What was published
// between two messages that were heard has to be heard, too, or a notice says that it may have been missed. A subscription that has
// ended is not judged from its last message on. Kept messages may come twice, and are not missed in an outage. A chance is a notice, or
// a publication of unknown outcome.
func subscriptions(published, events []event, kept bool) (found []string, chances int) {
	type place struct{ proc, worker int }
	known, by := map[int64]event{}, map[int64][]event{} // by publisher, in their order
	for _, p := range published {
		known[p.Value] = p
		if p.Outcome == done {
			by[p.Value>>32] = append(by[p.Value>>32], p)
		}
	}
	for _, some := range by {
		slices.SortFunc(some, func(a, b event) int { return cmp.Compare(a.Began, b.Began) })
	}
	of := map[place][]event{}
	for _, e := range events {
		if e.Op == heard || e.Op == listen || e.Op == notice {
			of[place{e.Proc, e.Worker}] = append(of[place{e.Proc, e.Worker}], e)
		}
	}
	for _, sequence := range of {
		for _, one := range cutAt(sequence, listen) {
			some, n := subscription(known, by, one, kept)
			found = append(found, some...)
			chances += n
		}
	}
	return found, chances + int(count(published, unknown))
}

// cutAt returns the parts of a sequence that begin with an operation.
func cutAt(sequence []event, op string) (parts [][]event) {
	for _, e := range sequence {
		if e.Op == op {
			parts = append(parts, nil)
		}
		if len(parts) > 0 {
			parts[len(parts)-1] = append(parts[len(parts)-1], e)
		}
	}
	return parts
}

func subscription(known map[int64]event, by map[int64][]event, sequence []event, kept bool) (found []string, chances int) {
	began := sequence[0].At
	times := map[int64]int{}
	for _, e := range sequence {
		switch p, is := known[e.Value]; {
		case e.Op == notice:
			chances++
		case e.Op != heard:
		case !is:
			found = append(found, fmt.Sprintf("process %d hears %x, which was never published", e.Proc, e.Value))
		case p.Outcome == not:
			found = append(found, fmt.Sprintf("process %d hears %x, whose Publish says: %s", e.Proc, e.Value, p.Error))
		case times[e.Value] > 0 && !kept:
			found = append(found, fmt.Sprintf("process %d hears %x twice", e.Proc, e.Value))
		}
		if e.Op == heard {
			times[e.Value]++
		}
	}
	for _, all := range by {
		found = append(found, gaps(all, sequence, began, times, kept)...)
	}
	return found, chances
}

// gaps judges the messages of one publisher.
func gaps(all, sequence []event, began int64, times map[int64]int, kept bool) (found []string) {
	at := map[int64]int{} // where each is in what was published
	for i, p := range all {
		at[p.Value] = i
	}
	next, excused, down := 0, false, false
	for next < len(all) && all[next].Began < began {
		next++
	}
	for _, e := range sequence {
		switch {
		case e.Op == notice:
			excused = excused || !kept && e.Outcome != connected || e.Outcome == restored || e.Outcome == lagged
			down = e.Outcome == disconnected || down && e.Outcome != restored && e.Outcome != connected
		case e.Op == heard:
			i, is := at[e.Value]
			if !is || i < next {
				if is && !kept && times[e.Value] == 1 && all[i].Began >= began {
					found = append(found, fmt.Sprintf("process %d hears %x after one that was published later", e.Proc, e.Value))
				}
				continue
			}
			for _, missed := range all[next:i] {
				if !excused && (kept || !down) && times[missed.Value] == 0 {
					found = append(found, fmt.Sprintf("process %d has missed %x, and no notice says so", e.Proc, missed.Value))
				}
			}
			next, excused = i+1, false
		}
	}
	return found
}

const (
	durableName = "all" // which the subscribers of all processes share
	// shortTopic is the length of topics that drop messages, and longTopic of those that never do.
	shortTopic = 30
	longTopic  = 1_000_000
)

// durable returns the topic of a name, which drops messages unless the name is the first of its round, and its subscriber.
func durable(c *rueidisson.Client, name string) (*topic.Reliable[int64], *topic.Durable[int64]) {
	length := int64(shortTopic)
	if strings.HasSuffix(name, "0") {
		length = longTopic
	}
	t := topic.NewReliable[int64](c, name, topic.WithMaxLength(length))
	return t, t.Durable(durableName)
}

// subscribed has the group of a durable subscriber made.
func subscribed(ctx context.Context, c *rueidisson.Client, name string) error {
	_, d := durable(c, name)
	s, err := d.Listen(ctx)
	if err == nil {
		s.Close()
	}
	return err
}

// listenDurable hears a topic together with the other processes for the rest of the round, or publishes.
func listenDurable(ctx context.Context, w *worker, round context.Context, name string) {
	heardName, listens := subscriber(w)
	if !listens {
		t, _ := durable(w.c, name)
		w.publish(ctx, name, w.fresh(w.r.proc), t.Publish)
		return
	}
	_, d := durable(w.c, heardName)
	w.noteAll(heardName, d.Subscribe(round))
}

// heardOnce has the subscriber hear what is left, and checks that all was heard, or that a notice has counted it.
func heardOnce(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	events = slices.Clone(events)
	_, d := durable(c, name)
	s, err := d.Listen(ctx)
	if err != nil {
		return []string{err.Error()}, 0
	}
	defer s.Close()
	for {
		one, stop := context.WithTimeout(ctx, idle/2)
		for v, err := range s.Messages(one) {
			if e, is := noted(name, v, err); is {
				events = append(events, e)
			}
		}
		stop()
		left, err := d.Lag(ctx)
		found, chances = durableHistory(events, name)
		if err == nil && left == 0 && len(found) == 0 || ctx.Err() != nil {
			return found, chances
		}
	}
}

// durableHistory judges what the processes of a durable subscriber have heard together: all that was published, except for as many as
// notices have counted. A process that is killed may know of a notice that nobody else is told of. A chance is a message that was heard
// twice, a notice, or an outcome that is not known.
func durableHistory(events []event, name string) (found []string, chances int) {
	published := operations(events, name, "publish")
	times, missed, killed := map[int64]int{}, int64(0), false
	for _, e := range events {
		switch {
		case e.Kind == breaks && e.Value > 0:
			killed = true
		case e.Op == notice:
			chances++
			if e.Outcome == lagged {
				missed += e.Value
			}
		case e.Op == heard:
			if times[e.Value]++; times[e.Value] > 1 {
				chances++
			}
		}
	}
	unheard := int64(0)
	for _, p := range published {
		switch n := times[p.Value]; {
		case n > 0 && p.Outcome == not:
			found = append(found, fmt.Sprintf("%x was heard, and its Publish says: %s", p.Value, p.Error))
		case n == 0 && p.Outcome == done:
			unheard++
		}
		delete(times, p.Value)
	}
	for v := range times {
		found = append(found, fmt.Sprintf("%x was heard, and never published", v))
	}
	if unheard > missed && (!killed || missed == 0 && strings.HasSuffix(name, "0")) {
		found = append(found, fmt.Sprintf("%d messages were not heard, and notices say so of %d", unheard, missed))
	}
	return found, chances + int(count(published, unknown))
}

func TestMessagesThatAreMissedAreFound(t *testing.T) {
	t.Parallel()
	const first = 1 << 32 // of a publisher
	published := func(n int64, outcome string) event {
		return event{Kind: ends, Op: "publish", Value: first + n, Began: 10 * n, At: 10*n + 1, Outcome: outcome}
	}
	got := func(n int64) event { return event{Op: heard, Value: first + n, At: 10*n + 2, Outcome: done} }
	tells := func(what string) event { return event{Op: notice, Outcome: what} }
	start := event{Op: listen, At: 5}
	one, two, three := published(1, done), published(2, done), published(3, done)
	for name, c := range map[string]struct {
		published, heard []event
		found, kept      int // of a topic, and of one that keeps messages
	}{
		"all":                               {[]event{one, two, three}, []event{start, got(1), got(2), got(3)}, 0, 0},
		"one is missing":                    {[]event{one, two, three}, []event{start, got(1), got(3)}, 1, 1},
		"the first is missing":              {[]event{one, two, three}, []event{start, got(2), got(3)}, 1, 1},
		"the last is missing":               {[]event{one, two, three}, []event{start, got(1), got(2)}, 0, 0},
		"published before":                  {[]event{one, two, three}, []event{{Op: listen, At: 15}, got(2), got(3)}, 0, 0},
		"one is perhaps published":          {[]event{one, published(2, unknown), three}, []event{start, got(1), got(3)}, 0, 0},
		"a notice says so":                  {[]event{one, two, three}, []event{start, got(1), tells(restored), got(3)}, 0, 0},
		"the connection was lost":           {[]event{one, two, three}, []event{start, got(1), tells(disconnected), got(3)}, 0, 1},
		"it was lost before":                {[]event{one, two, three}, []event{start, tells(disconnected), got(1), got(3)}, 0, 1},
		"a notice came before":              {[]event{one, two, three}, []event{start, tells(restored), got(1), got(3)}, 1, 1},
		"a notice comes after":              {[]event{one, two, three}, []event{start, got(1), got(3), tells(restored)}, 1, 1},
		"it came too fast":                  {[]event{one, two, three}, []event{start, got(1), tells(lagged), got(3)}, 0, 0},
		"out of order":                      {[]event{one, two}, []event{start, got(2), got(1)}, 1, 0},
		"twice":                             {[]event{one, two}, []event{start, got(1), got(2), got(1)}, 1, 0},
		"never published":                   {nil, []event{start, got(1)}, 1, 1},
		"its Publish was refused":           {[]event{published(1, not)}, []event{start, got(1)}, 1, 1},
		"between two subscriptions":         {[]event{one, two, three}, []event{start, got(1), {Op: listen, At: 25}, got(3)}, 0, 0},
		"in the order of other subscribers": {[]event{one, two}, []event{start, got(1), {Op: listen, At: 5, Worker: 1}, {Op: heard, Worker: 1, Value: first + 2}, got(2)}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, _ := subscriptions(c.published, c.heard, false)
			require.Len(t, found, c.found, strings.Join(found, "\n"))
			found, _ = subscriptions(c.published, c.heard, true)
			require.Len(t, found, c.kept, strings.Join(found, "\n"))
		})
	}
}

func TestMessagesThatADurableSubscriberMissesAreFound(t *testing.T) {
	t.Parallel()
	published := func(v int64, outcome string) []event {
		return []event{{Kind: begins, Name: "a0", Op: "publish", Value: v, Hold: v}, {Kind: ends, Name: "a0", Op: "publish", Value: v, Hold: v, Outcome: outcome}}
	}
	got := func(v int64) []event { return []event{{Kind: ends, Name: "a0", Op: heard, Value: v, Proc: 1, Hold: v}} }
	tells := func(n int64) []event { return []event{{Kind: ends, Name: "a0", Op: notice, Outcome: lagged, Value: n}} }
	killed := []event{{Kind: breaks, Value: 2}}
	for name, c := range map[string]struct {
		events         []event
		found, chances int
	}{
		"all":                     {slices.Concat(published(7, done), got(7)), 0, 0},
		"one is missing":          {published(7, done), 1, 0},
		"one is perhaps":          {published(7, unknown), 0, 1},
		"a notice counts it":      {slices.Concat(published(7, done), tells(1)), 0, 1},
		"a notice counts too few": {slices.Concat(published(7, done), published(8, done), tells(1)), 1, 1},
		"twice":                   {slices.Concat(published(7, done), got(7), got(7)), 0, 1},
		"never published":         {got(7), 1, 0},
		"its Publish was refused": {slices.Concat(published(7, not), got(7)), 1, 0},
		"a notice died":           {slices.Concat(published(7, done), published(8, done), tells(1), killed), 0, 1},
		"none can have died":      {slices.Concat(published(7, done), killed), 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, chances := durableHistory(c.events, "a0")
			require.Len(t, found, c.found, strings.Join(found, "\n"))
			require.Equal(t, c.chances, chances)
		})
	}
}
