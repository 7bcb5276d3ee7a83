package inspect

import (
	"cmp"
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/internal/cli/values"
)

const inspectLong = `inspect shows who holds the lock NAME at this moment: the owner as it stands in
Redis, "<client id>:<number>"; how many levels it holds; how much of its lease is
left, which the holder renews; and how many processes wait, or did a moment ago.

What kind of lock it is shows in Redis: "lock", "fenced" if it has ever given a
fencing token, "fair" while somebody waits for it, "rwlock" while it is held,
"election" for a day after its last leader: the leader's value, the fencing token of
its term, and the candidates in their order. A fair lock that nobody waits for looks
like a plain one. "lock group" is a LockGroup with held values.

Every other object is known by its keys, too:

  semaphore, latch   a number that this library has set, or armed
  semaphore or latch a number; nothing in Redis tells which of the two it is
  permit semaphore   a number whose permits are held; while none is held, it is
                     shown like the numbers above
  barrier            its parties, and how many wait; "double barrier" while members
                     are inside
  rate limiter       its rate; "redisson rate limiter" that of an RRateLimiter
  map                a hash that is nothing else's; "ttl map" one whose entries have
                     times to live, "cache" one with the keys of an RMapCache, and the
                     size and bytes that it is bounded to; how many changes are still
                     to be written to a store, or were refused by it; of announced
                     near caches see "rueidisson map info --help"
  sharded map        its shards, their entries; it remains as long as the shard that
                     stays longest
  list multimap,     their keys and values, with those that have ended and were not
  set multimap       swept yet, and how many keys have an end that clients keep; all
                     keys are read to count the values
  queue              a list that is nothing else's; "bounded queue" and "ring buffer"
                     have their capacity, "priority queue" is a sorted set, "delayed
                     queue" has what is not due yet
  reliable queue     its jobs by their states
  stream             its groups; "reliable topic" is a stream with its subscribers

A key that is none of these is "unknown": its type, its size and its time to live.
"guard" names a fenced lock whose tokens guard the key. Of a name without any key
inspect says "none": a lock is free, a queue or map is empty, a latch is open.

With --json: {"name", "kind", "mode" (of rwlock: read, write), "held", "owner",
"count", "remaining_ms" (-1: without an end), "holders": [{"owner", "count",
"remaining_ms"}], "queue": [{"owner", "client" (go, java), "own"}], "fence" (the
last token that was given), "leader" (of election: {"value", "fence"}, with
"base64":true if the value is no UTF-8), "waiting"}; what there is nothing to say of
is left out, as is "kind" without any key. Of what is no lock: {"name", "kind", "held",
"remaining_ms"} and what it has of "entries", "max_size", "max_bytes", "bytes",
"unwritten", "refused", "announced_caches", "announced_changes", "shards", "keys", "values", "ending", "count", "available",
"permits" (how many are held), "owners", "parties", "waiting", "inside", "generation",
"rate", "paused", "interval_ms", "per_client", "capacity", "delayed", "due_ms",
"ready", "due", "behind", "leased", "dead", "groups": [{"group", "consumers",
"pending", "lag", "dead"}], "type", "size", "unit", "guards" (lock: token). The exit
code is 0 whether or not the lock is held.`

// Commands returns the command that shows what a name is of.
func Commands(t *tool.Tool) []*cobra.Command {
	return []*cobra.Command{inspectCommand(t)}
}

func inspectCommand(t *tool.Tool) *cobra.Command {
	return &cobra.Command{
		Use:   "inspect NAME",
		Short: "Show who holds a lock, and how many wait for it, or what else has that name",
		Long:  inspectLong,
		Example: `  rueidisson inspect orders
  rueidisson --redis redis://10.0.0.5:6379 inspect orders --json`,
		Args: usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error { return inspect(cmd.Context(), t, args[0]) },
	}
}

// found describes a lock. Owner, Count and RemainingMS are those of the
// first holder.
type found struct {
	Name        string        `json:"name"`
	Kind        string        `json:"kind,omitempty"` // "": Redis knows no lock of that name
	Mode        string        `json:"mode,omitempty"`
	Held        bool          `json:"held"`
	Owner       string        `json:"owner,omitempty"`
	Count       int           `json:"count"`
	RemainingMS int64         `json:"remaining_ms"`
	Holders     []holderFound `json:"holders,omitempty"`
	Queue       []waiterFound `json:"queue,omitempty"`
	Fence       int64         `json:"fence,omitempty"`
	Leader      *leaderFound  `json:"leader,omitempty"`
	Waiting     int           `json:"waiting"`
}

func inspect(ctx context.Context, t *tool.Tool, name string) error {
	for again := false; ; again = true {
		of, err := inspectObject(ctx, t, name)
		if err != nil {
			return err
		}
		if of != nil && of != nobody {
			return tell(t, of)
		}
		f, err := inspectLock(ctx, t, name)
		if of == nobody && !again && (err != nil || f.Held) {
			continue // it came between the two looks, and need be no lock's
		}
		if err != nil {
			return err
		}
		return f.say(t)
	}
}

func inspectLock(ctx context.Context, t *tool.Tool, name string) (f found, err error) {
	err = WithLock(ctx, t, name, func(c *rueidisson.Client, s *LockState) (err error) {
		f, err = find(ctx, c, s)
		return err
	})
	return f, err
}

func (f found) say(t *tool.Tool) error {
	if t.JSON {
		t.SayJSON(t.Stdout, f)
		return nil
	}
	return f.print(t)
}

// inspectObject returns the map, the semaphore, the latch and what else is no lock of
// that name, nobody if there is no such key, nil if it is a lock's.
func inspectObject(ctx context.Context, t *tool.Tool, name string) (finding, error) {
	redis, err := t.Dial()
	if err != nil {
		return nil, exit.Failed(err)
	}
	defer redis.Close()
	of, err := (&Look{Tool: t, Redis: redis, Name: name}).object(ctx)
	if err != nil {
		return nil, exit.Failed(fmt.Errorf("inspect %q: %w", name, err))
	}
	return of, nil
}

func tell(t *tool.Tool, of finding) error {
	if t.JSON {
		t.SayJSON(t.Stdout, of)
		return nil
	}
	w := tabwriter.NewWriter(t.Stdout, 0, 0, 2, ' ', 0)
	of.print(w)
	return w.Flush()
}

func find(ctx context.Context, c *rueidisson.Client, s *LockState) (found, error) {
	kind := s.Kind()
	f := found{
		Name: s.Name, Mode: s.Mode(), Holders: s.holders(), Queue: s.waiters(c), Fence: s.fence,
		Leader: s.leader(), Waiting: len(s.queue),
	}
	if !s.Nothing() {
		f.Kind = kind.Name
	}
	if f.Held = len(f.Holders) > 0; f.Held {
		f.Owner, f.Count, f.RemainingMS = f.Holders[0].Owner, f.Holders[0].Count, f.Holders[0].RemainingMS
	}
	if kind.waiting == nil {
		return f, nil
	}
	waiting, err := kind.waiting(ctx, c, s.Name)
	if err != nil {
		return found{}, exit.Failed(err)
	}
	f.Waiting = waiting
	return f, nil
}

func (f found) print(t *tool.Tool) error {
	w := tabwriter.NewWriter(t.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "name\t%s\n", f.Name)
	fmt.Fprintf(w, "kind\t%s\n", cmp.Or(f.Kind, "none"))
	if f.Mode != "" {
		fmt.Fprintf(w, "mode\t%s\n", f.Mode)
	}
	if f.Leader != nil {
		fmt.Fprintf(w, "leader\t%s\nterm\t%d\n", values.Printable(f.Leader.Value), f.Leader.Fence)
	}
	for _, h := range f.Holders {
		fmt.Fprintf(w, "owner\t%s\ncount\t%d\nremaining\t%s\n", values.Printable(h.Owner), h.Count, h.remaining())
	}
	if !f.Held && f.Kind != "" {
		fmt.Fprintf(w, "owner\tnobody\n")
	}
	if f.Fence > 0 {
		fmt.Fprintf(w, "fence\t%d\n", f.Fence)
	}
	for _, q := range f.Queue {
		fmt.Fprintf(w, "queued\t%s (%s)\n", values.Printable(q.Owner), q.Client)
	}
	fmt.Fprintf(w, "waiting\t%d\n", f.Waiting)
	return w.Flush()
}
