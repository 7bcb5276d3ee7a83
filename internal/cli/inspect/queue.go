package inspect

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

// queueFound describes a queue whose elements are a list or a sorted set.
type queueFound struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"` // queue, bounded queue, ring buffer, priority queue, delayed queue
	Held        bool   `json:"held"` // never
	Entries     int64  `json:"entries"`
	Capacity    int64  `json:"capacity,omitempty"` // of bounded queue and ring buffer
	Delayed     int64  `json:"delayed,omitempty"`  // of delayed queue: so many are not due, or were not moved yet
	DueMS       int64  `json:"due_ms,omitempty"`   // when the first of them is due
	RemainingMS int64  `json:"remaining_ms"`
}

func (q *queueFound) kind() string { return q.Kind }

func (q *queueFound) print(w io.Writer) {
	fmt.Fprintf(w, "name\t%s\nkind\t%s\nentries\t%d\n", q.Name, q.Kind, q.Entries)
	if q.Capacity > 0 {
		fmt.Fprintf(w, "capacity\t%d\n", q.Capacity)
	}
	if q.Delayed > 0 {
		fmt.Fprintf(w, "delayed\t%d\nnext due\t%s\n", q.Delayed, time.UnixMilli(q.DueMS).UTC().Format(time.RFC3339))
	}
	fmt.Fprint(w, ended(q.RemainingMS))
}

// trace is a key in addition to the name. It tells the kind of an object, also while the name has no key.
type trace struct {
	prefix string // of the key
	read   func(l *Look, ctx context.Context) (finding, error)
}

// queueTraces are tried in this order.
var queueTraces = []trace{
	{"redisson_bqs", (*Look).bounded},
	{"redisson_rb", (*Look).ring},
	{"rueidisson_delay_dues", (*Look).delayed},
	{"redisson_delay_queue", (*Look).delayed},
	{"rueidisson_queue_meta", (*Look).reliable},
}

// traced reads the object that the first trace of a name tells of. It returns nil if the name has no trace.
func (l *Look) traced(ctx context.Context) (finding, error) {
	var each rueidis.Commands
	for _, t := range queueTraces {
		each = append(each, l.Redis.B().Exists().Key(Prefixed(t.prefix, l.Name)).Build())
	}
	for i, answer := range l.Redis.DoMulti(ctx, each...) {
		there, err := answer.AsInt64()
		switch {
		case err != nil:
			return nil, err
		case there > 0:
			return queueTraces[i].read(l, ctx)
		}
	}
	return nil, nil
}

// list finds out the kind of the object of a list is. A list without a trace is a queue.
func (l *Look) list(ctx context.Context) (finding, error) {
	f, err := l.traced(ctx)
	if _, other := f.(*reliableFound); f != nil && !other || err != nil {
		return f, err
	}
	return l.queue(ctx, "queue", l.Redis.B().Llen().Key(l.Name).Build())
}

func (l *Look) sorted(ctx context.Context) (finding, error) {
	return l.queue(ctx, KindPriority, l.Redis.B().Zcard().Key(l.Name).Build())
}

// queue reads a queue. The command count returns the number of its elements.
func (l *Look) queue(ctx context.Context, kind string, count rueidis.Completed) (*queueFound, error) {
	n, err := l.numbers(ctx, count, l.Redis.B().Pttl().Key(l.Name).Build())
	if err != nil {
		return nil, err
	}
	return &queueFound{Name: l.Name, Kind: kind, Entries: n[0], RemainingMS: max(n[1], -1)}, nil
}

// bounded reads a bounded queue: its list, and the number of free places, which is a key of its own.
func (l *Look) bounded(ctx context.Context) (finding, error) {
	q, free, err := l.withNumber(ctx, KindBounded, "redisson_bqs")
	if err != nil {
		return nil, err
	}
	q.Capacity = q.Entries + max(free, 0)
	return q, nil
}

func (l *Look) ring(ctx context.Context) (finding, error) {
	q, capacity, err := l.withNumber(ctx, KindRing, "redisson_rb")
	if err != nil {
		return nil, err
	}
	q.Capacity = capacity
	return q, nil
}

// withNumber reads a list, and the number under a prefix.
func (l *Look) withNumber(ctx context.Context, kind, prefix string) (q *queueFound, n int64, err error) {
	if q, err = l.queue(ctx, kind, l.Redis.B().Llen().Key(l.Name).Build()); err != nil {
		return nil, 0, err
	}
	n, err = l.Redis.Do(ctx, l.Redis.B().Get().Key(Prefixed(prefix, l.Name)).Build()).AsInt64()
	if rueidis.IsRedisNil(err) {
		err = nil // it has gone meanwhile
	}
	return q, n, err
}

// delayed counts what is not due in both formats: of one queue there is one.
func (l *Look) delayed(ctx context.Context) (finding, error) {
	q, err := l.queue(ctx, KindDelayed, l.Redis.B().Llen().Key(l.Name).Build())
	if err != nil {
		return nil, err
	}
	for _, prefix := range []string{"rueidisson_delay_dues", "redisson_delay_queue_timeout"} {
		key := Prefixed(prefix, l.Name)
		n, err := l.numbers(ctx, l.Redis.B().Zcard().Key(key).Build())
		if err != nil {
			return nil, err
		}
		first, err := l.Redis.Do(ctx, l.Redis.B().Zrange().Key(key).Min("0").Max("0").Withscores().Build()).AsZScores()
		if err != nil {
			return nil, err
		}
		q.Delayed += n[0]
		if len(first) > 0 && (q.DueMS == 0 || int64(first[0].Score) < q.DueMS) {
			q.DueMS = int64(first[0].Score)
		}
	}
	return q, nil
}

// reliableFound describes a reliable queue.
type reliableFound struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	Held        bool   `json:"held"` // never
	Ready       int64  `json:"ready"`
	Due         int64  `json:"due"`
	Behind      int64  `json:"behind"`
	Leased      int64  `json:"leased"`
	Dead        int64  `json:"dead"`
	Paused      bool   `json:"paused,omitempty"`
	RemainingMS int64  `json:"remaining_ms"`
}

func (l *Look) reliable(ctx context.Context) (finding, error) {
	f := &reliableFound{Name: l.Name, Kind: "reliable queue", RemainingMS: -1}
	err := l.WithClient(func(c *rueidisson.Client) error {
		s, err := reliable.New[string](c, l.Name).Stats(ctx)
		f.Ready, f.Due, f.Behind, f.Leased, f.Dead, f.Paused = s.Ready, s.Delayed, s.Behind, s.Running, s.Dead, s.Paused
		return err
	})
	return f, err
}

func (r *reliableFound) kind() string { return r.Kind }

func (r *reliableFound) print(w io.Writer) {
	fmt.Fprintf(w, "name\t%s\nkind\t%s\nready\t%d\ndue\t%d\nbehind\t%d\nleased\t%d\ndead\t%d\n", r.Name, r.Kind, r.Ready, r.Due, r.Behind, r.Leased, r.Dead)
	if r.Paused {
		fmt.Fprintf(w, "paused\tyes\n")
	}
	fmt.Fprintf(w, "see\trueidisson job stats %s\n", r.Name)
}

// streamFound describes a stream.
type streamFound struct {
	Name        string       `json:"name"`
	Kind        string       `json:"kind"` // stream or reliable topic
	Held        bool         `json:"held"` // never
	Entries     int64        `json:"entries"`
	Groups      []groupFound `json:"groups,omitempty"`
	RemainingMS int64        `json:"remaining_ms"`
}

// groupFound is a group of a stream.
type groupFound struct {
	Group     string `json:"group"`
	Consumers int64  `json:"consumers"`
	Pending   int64  `json:"pending"`
	Lag       *int64 `json:"lag,omitempty"` // nil: the server does not know
	Dead      int64  `json:"dead"`
}

// stream reads a stream. It is a reliable topic if the name also has the keys for the times of a topic's groups.
func (l *Look) stream(ctx context.Context) (finding, error) {
	b := l.Redis.B()
	n, err := l.numbers(ctx, b.Xlen().Key(l.Name).Build(), b.Pttl().Key(l.Name).Build(),
		b.Exists().Key(Companion(l.Name, "timeout")).Build(), b.Exists().Key(Prefixed("rueidisson_topic_holders", l.Name)).Build())
	if err != nil {
		return nil, err
	}
	f := &streamFound{Name: l.Name, Kind: "stream", Entries: n[0], RemainingMS: max(n[1], -1)}
	if n[2]+n[3] > 0 {
		f.Kind = "reliable topic"
	}
	if l.Brief {
		return f, nil
	}
	groups, err := l.Redis.Do(ctx, b.XinfoGroups().Key(l.Name).Build()).ToArray()
	if err != nil {
		return nil, err
	}
	for _, row := range groups {
		about, err := row.AsMap()
		if err != nil {
			return nil, err
		}
		name, consumers, pending, lag := about["name"], about["consumers"], about["pending"], about["lag"]
		g := groupFound{}
		g.Group, _ = name.ToString()
		g.Consumers, _ = consumers.AsInt64()
		g.Pending, _ = pending.AsInt64()
		if n, err := lag.AsInt64(); err == nil {
			g.Lag = &n
		}
		dead, err := l.numbers(ctx, b.Xlen().Key(Prefixed("rueidisson_stream_dead", l.Name)+":"+g.Group).Build())
		if err != nil {
			return nil, err
		}
		g.Dead = dead[0]
		f.Groups = append(f.Groups, g)
	}
	return f, nil
}

func (s *streamFound) kind() string { return s.Kind }

func (s *streamFound) print(w io.Writer) {
	fmt.Fprintf(w, "name\t%s\nkind\t%s\nentries\t%d\n", s.Name, s.Kind, s.Entries)
	for _, g := range s.Groups {
		lag := "unknown"
		if g.Lag != nil {
			lag = strconv.FormatInt(*g.Lag, 10)
		}
		fmt.Fprintf(w, "group\t%s: consumers %d, pending %d, lag %s, dead %d\n", values.Printable(g.Group), g.Consumers, g.Pending, lag, g.Dead)
	}
	fmt.Fprint(w, ended(s.RemainingMS))
}
