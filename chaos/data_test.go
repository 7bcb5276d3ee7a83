package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/queue/reliable"
	"github.com/rueidisson/rueidisson/rmap"
)

// Outcomes of an operation that is no hold: it was done, it was not, or it may have been.
const (
	done    = "done"
	not     = "not done"
	unknown = "unknown"
)

func outcomeOf(err error) string {
	switch {
	case err == nil:
		return done
	case errors.Is(err, rueidisson.ErrOutcomeUnknown), errors.Is(err, rueidisson.ErrDeferred):
		return unknown
	}
	return not
}

// operation does something with a name and a value, and notes what came of it.
func (w *worker) operation(name, op string, value int64, do func() (int64, error)) error {
	w.put(event{Kind: begins, Name: name, Op: op, Value: value})
	got, err := do()
	w.put(event{Kind: ends, Name: name, Op: op, Value: cmp.Or(value, got), Outcome: outcomeOf(err), Error: text(err), Busy: busy(err)})
	return err
}

// exchange does something that writes a value, 0 for none, and notes what it saw or took.
func (w *worker) exchange(name, op string, value int64, do func() (values []int64, err error)) {
	w.holds++
	w.put(event{Kind: begins, Name: name, Op: op, Value: value})
	values, err := do()
	w.put(event{Kind: ends, Name: name, Op: op, Value: value, Values: values, Outcome: outcomeOf(err), Error: text(err)})
}

// errNothing is the outcome of a call that was answered, and did nothing.
var errNothing = errors.New("nothing was done")

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// fresh returns a number that no other operation of the round has.
func (w *worker) fresh(proc int) int64 {
	w.holds++
	return int64(proc*workers+w.number)<<32 | w.holds
}

// operations of a name that ended, and those that did not, since their process was killed: they may have been done. Without op
// they are all of the name.
func operations(events []event, name, op string) (all []event) {
	type key struct {
		proc, worker int
		hold         int64
	}
	open := map[key]event{}
	for _, e := range events {
		if e.Name != name || op != "" && e.Op != op {
			continue
		}
		switch k := (key{e.Proc, e.Worker, e.Hold}); e.Kind {
		case begins:
			e.Outcome = unknown
			open[k] = e
		case ends:
			e.Began = open[k].At
			delete(open, k)
			all = append(all, e)
		}
	}
	for _, e := range open {
		e.Began = e.At
		all = append(all, e)
	}
	return all
}

func count(ops []event, outcome string) (n int64) {
	for _, o := range ops {
		if o.Outcome == outcome {
			n++
		}
	}
	return n
}

// compute counts in an entry of a map.
func counts(c *rueidisson.Client, name string) *rmap.Map[string, int64] {
	return rmap.New[string, int64](c, name)
}

func compute(ctx context.Context, w *worker, _ context.Context, name string) {
	w.holds++
	_ = w.operation(name, "compute", 0, func() (int64, error) {
		v, _, err := counts(w.c, name).Compute(ctx, "n", func(old int64, _ bool) (int64, rmap.Verdict, error) { return old + 1, rmap.Store, nil })
		return v, err
	})
}

// computed checks that each Compute that was done counted once, that none counted that was not done, and that no two saw the same
// value.
func computed(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	n, _, err := counts(c, name).Get(ctx, "n")
	if err != nil {
		return []string{fmt.Sprintf("the entry: %v", err)}, 0
	}
	return countedOnce(operations(events, name, "compute"), n)
}

// countedOnce judges what counts in a number: each that was done counted once, no other did, and no two saw the same value.
func countedOnce(ops []event, n int64) (found []string, chances int) {
	least, most := count(ops, done), count(ops, done)+count(ops, unknown)
	if n < least || n > most {
		found = append(found, fmt.Sprintf("the number is %d, expected %d to %d", n, least, most))
	}
	seen := map[int64]bool{}
	for _, o := range ops {
		if o.Outcome == done && seen[o.Value] {
			found = append(found, fmt.Sprintf("two functions made it %d", o.Value))
		}
		seen[o.Value] = seen[o.Value] || o.Outcome == done
	}
	return found, int(count(ops, unknown))
}

// offerOrPoll adds a number to a queue, or takes one.
func offerOrPoll(ctx context.Context, w *worker, _ context.Context, name string) {
	q, v := queue.New[int64](w.c, name), w.fresh(w.r.proc)
	if w.rnd.IntN(2) == 0 {
		_ = w.operation(name, "offer", v, func() (int64, error) { _, err := q.Offer(ctx, v); return v, err })
		return
	}
	_ = w.operation(name, "poll", 0, func() (int64, error) { return q.Poll(ctx) })
}

// polled checks that each element has one taker at most, that nobody took what was not offered, and that no more elements are
// missing than takes that may have been done. What a caller took that has left comes back a little later.
func polled(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	_, found, chances = drained(ctx, queue.New[int64](c, name).Drain, name, events)
	return found, chances
}

func drained(ctx context.Context, drain func(context.Context) ([]int64, error), name string, events []event) (left []int64, found []string, chances int) {
	offers, takes := operations(events, name, "offer"), operations(events, name, "take")
	polls := append(operations(events, name, "poll"), takes...)
	doubtful(polls, events)
	lost := int64(0)
	if len(takes) > 0 {
		lost = toldLost(events)
	}
	more, err := drain(ctx)
	was, _ := leftovers.Load(name)
	left, _ = was.([]int64)
	left = append(left, more...)
	leftovers.Store(name, left)
	found, chances = takers(left, offers, polls, lost)
	if err != nil { // elements may have been lost with the answer
		return left, nil, chances
	}
	return left, found, chances
}

// leftovers are the elements that were left in each queue: it is drained again when elements may have come back.
var leftovers sync.Map

// loggedWithin is how long a client waits for the answer to a take that its caller has left.
const loggedWithin = 5 * time.Second

// doubtful has the outcome of takes be unknown whose callers left, if the client has logged that elements may be lost: nobody
// else could be told.
func doubtful(polls, events []event) {
	for i, p := range polls {
		if p.Outcome == not && strings.Contains(p.Error, "context ") && slices.ContainsFunc(events, func(e event) bool {
			told := e.Kind == warns && e.Proc == p.Proc || e.Kind == breaks && e.Value == int64(p.Proc) // killed, with what it would put back
			return told && e.At >= p.Began && e.At <= p.At+int64(loggedWithin)
		}) {
			polls[i].Outcome = unknown
		}
	}
}

// toldLost returns how many elements may be lost at most of what clients have logged: a take waits on, and the others of its process,
// when a connection breaks with an answer.
func toldLost(events []event) (n int64) {
	for _, e := range events {
		if e.Kind == warns {
			n += workers
		}
	}
	return n
}

// takers judges who took what. As many elements as lost may be missing in addition to those of takes of unknown outcome.
func takers(left []int64, offers, polls []event, lost int64) (found []string, chances int) {
	taken := map[int64]int{}
	for _, v := range left {
		taken[v]++
	}
	for _, p := range polls {
		if p.Outcome == done {
			taken[p.Value]++
		}
	}
	missing := int64(0)
	for _, o := range offers {
		switch n := taken[o.Value]; {
		case n > 1:
			found = append(found, fmt.Sprintf("element %x was taken %d times", o.Value, n))
		case n == 1 && o.Outcome == not:
			found = append(found, fmt.Sprintf("element %x was taken, and its offer says: %s", o.Value, o.Error))
		case n == 0 && o.Outcome == done:
			missing++
		}
		delete(taken, o.Value)
	}
	for v := range taken {
		found = append(found, fmt.Sprintf("element %x was never offered", v))
	}
	if most := count(polls, unknown) + lost; missing > most {
		found = append(found, fmt.Sprintf("%d elements are missing, and %d takes may have been done", missing, most))
	}
	return found, int(count(polls, unknown) + count(offers, unknown))
}

// capacity is that of the bounded queue.
const capacity = 8

func offerOrPollBounded(ctx context.Context, w *worker, _ context.Context, name string) {
	q, v := queue.NewBounded[int64](w.c, name), w.fresh(w.r.proc)
	if w.rnd.IntN(2) == 0 {
		_ = w.operation(name, "offer", v, func() (int64, error) { _, err := q.TryOffer(ctx, v); return v, err })
		return
	}
	_ = w.operation(name, "poll", 0, func() (int64, error) { return q.Poll(ctx) })
}

// bounded checks what polled does, and that no slot is lost or gained: elements and free slots are the capacity.
func bounded(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	q := queue.NewBounded[int64](c, name)
	for gained := 0; ; {
		n, err := q.Len(ctx)
		free, bad := q.Free(ctx)
		if err = errors.Join(err, bad); err == nil && n+free == capacity {
			break
		}
		if err == nil && n+free > capacity { // what comes back takes a slot: it cannot explain several such looks
			gained++
		}
		if gained == 5 || !sleep(ctx, 50*time.Millisecond) {
			return []string{fmt.Sprintf("%d elements and %d free slots, of %d (%v)", n, free, capacity, err)}, 0
		}
	}
	_, more, chances := drained(ctx, q.Drain, name, events)
	return append(found, more...), chances
}

// message is the name under which a message is held.
func message(name string, id int64) string { return name + " #" + strconv.FormatInt(id, 10) }

// addOrReceive adds a message to a reliable queue, or receives one and keeps it for a while before it is acknowledged.
func addOrReceive(ctx context.Context, w *worker, round context.Context, name string) {
	q := reliable.New[int64](w.c, name)
	if w.rnd.IntN(3) == 0 {
		v := w.fresh(w.r.proc)
		_ = w.operation(name, "add", v, func() (int64, error) { _, err := q.Add(ctx, v); return v, err })
		return
	}
	m, err := q.Receive(ctx)
	if err != nil {
		if scriptError.MatchString(err.Error()) {
			w.put(event{Kind: fails, Name: name, Error: err.Error()})
		}
		return
	}
	w.holds++
	h := held{names: []string{message(name, m.ID)}, token: m.Delivery, err: m.Err}
	w.keep(round, h, watchdog)
	_ = w.operation(name, "ack", m.Value, func() (int64, error) {
		err := m.Ack(context.Background())
		if errors.Is(err, reliable.ErrLost) { // an earlier send of the same Ack may have done it
			err = errors.Join(err, rueidisson.ErrOutcomeUnknown)
		}
		return 0, err
	})
}

// handled checks that every message that was added is acknowledged, here or by a process, and never twice.
func handled(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	return handledOrBuried(ctx, c, name, events, false)
}

// handledOrBuried is handled for messages that may have been buried: they are redriven, so that a dead letter that is lost is a message
// that was never acknowledged. A dead letter is a chance.
func handledOrBuried(ctx context.Context, c *rueidisson.Client, name string, events []event, buries bool) (found []string, chances int) {
	adds, acks := operations(events, name, "add"), operations(events, name, "ack")
	acked := map[int64]int{}
	maybe := map[int64]bool{}
	for _, a := range acks {
		switch a.Outcome {
		case done:
			acked[a.Value]++
		case unknown:
			maybe[a.Value] = true
		}
	}
	q := reliable.New[int64](c, name)
	for {
		s, err := q.Stats(ctx)
		if err == nil && s.Ready+s.Delayed+s.Running+s.Behind == 0 {
			if s.Dead > 0 && buries {
				if n, err := q.RedriveAll(ctx); err != nil || n == 0 {
					return append(found, fmt.Sprintf("%d of %d dead messages were redriven: %v", n, s.Dead, err)), 0
				}
				chances += int(s.Dead)
				continue
			}
			if s.Dead > 0 {
				found = append(found, fmt.Sprintf("%d messages were buried", s.Dead))
			}
			break
		}
		m, err := q.Poll(ctx) // and no Receive: a process may acknowledge the last one now, after an Ack that it took for lost
		switch {
		case errors.Is(err, reliable.ErrEmpty) && sleep(ctx, 10*time.Millisecond):
			continue
		case err == nil:
			err = m.Ack(ctx)
		}
		if err != nil {
			return append(found, fmt.Sprintf("%+v: %v", s, err)), 0
		}
		acked[m.Value]++
	}
	for _, a := range adds {
		switch n := acked[a.Value]; {
		case n > 1:
			found = append(found, fmt.Sprintf("message %x was acknowledged %d times", a.Value, n))
		case n == 0 && a.Outcome == done && !maybe[a.Value]:
			found = append(found, fmt.Sprintf("message %x was added and never acknowledged", a.Value))
		case n == 1 && a.Outcome == not:
			found = append(found, fmt.Sprintf("message %x was acknowledged, and its Add says: %s", a.Value, a.Error))
		}
	}
	for _, spans := range spansOf(events) {
		found = append(found, overlaps(spans, 1)...)
		found = append(found, falling(spans)...)
		chances += passings(spans)
	}
	return found, chances + int(count(adds, unknown)+count(acks, unknown))
}

// rate is that of the limiter: per second, and the burst.
const (
	rate  = 200
	burst = 20
)

func limit(ctx context.Context, w *worker, _ context.Context, name string) {
	w.holds++
	w.put(event{Kind: begins, Name: name, Op: "allow"})
	d, err := w.c.RateLimiter(name).Take(ctx, 1)
	outcome := outcomeOf(err)
	if err == nil && !d.Allowed {
		outcome = not
	}
	w.put(event{Kind: ends, Name: name, Op: "allow", Outcome: outcome, Error: text(err)})
}

// limited checks that no window grants more than the burst and the rate for its time.
func limited(_ context.Context, _ *rueidisson.Client, name string, events []event) (found []string, chances int) {
	var grants []event
	for _, o := range operations(events, name, "allow") {
		if o.Outcome == done {
			grants = append(grants, o)
		}
	}
	slices.SortFunc(grants, func(a, b event) int { return cmp.Compare(a.At, b.At) })
	for _, first := range grants {
		n, near := 0, false
		for _, g := range grants {
			if g.Began < first.Began {
				continue
			}
			n++
			window := time.Duration(g.At - first.Began)
			if most := burst + int(rate*window.Seconds()) + 1; n > most {
				return []string{fmt.Sprintf("%d grants in %v, at most %d may be", n, window, most)}, len(grants)
			} else if n >= most*9/10 {
				near = true
			}
		}
		if near {
			chances++
		}
	}
	return nil, chances
}

// limitRedisson asks a limiter on the keys of Redisson.
func limitRedisson(ctx context.Context, w *worker, _ context.Context, name string) {
	w.holds++
	_ = w.operation(name, "allow", 0, func() (int64, error) {
		d, err := w.c.RedissonRateLimiter(name).Take(ctx, 1)
		return 0, happened(d.Allowed, err)
	})
}

// of returns what concerns a name, its entries, or no name.
func of(events []event, name string) []event {
	return slices.DeleteFunc(slices.Clone(events), func(e event) bool {
		return e.Name != "" && e.Name != name && !strings.HasPrefix(e.Name, name+" #")
	})
}

// datum is an object whose operations are no holds.
func datum(name string, do func(ctx context.Context, w *worker, round context.Context, name string),
	judge func(context.Context, *rueidisson.Client, string, []event) ([]string, int),
) object {
	return object{name: name, do: do, judge: func(ctx context.Context, c *rueidisson.Client, name string, events []event) ([]string, int) {
		return judge(ctx, c, name, of(events, name))
	}}
}

// overStore is an object whose oracle looks at a store, too.
func overStore(name string, do func(ctx context.Context, w *worker, round context.Context, name string),
	judge func(ctx context.Context, c, store *rueidisson.Client, name string, events []event) ([]string, int),
) object {
	return object{name: name, do: do, judgeStored: judge}
}
