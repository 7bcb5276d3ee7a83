package mapstore

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

var (
	BehindScript     = scripts.Must(Lua, "lua/behind.lua")
	BehindDoneScript = scripts.Must(Lua, "lua/behind_done.lua")
	behindTakeScript = scripts.Must(Lua, "lua/behind_take.lua")
	behindEndsScript = scripts.Must(Lua, "lua/behind_ends.lua")

	readBacklog = send.Sized(behindTakeScript, send.Sizing{})
)

// Whatever is when it does not matter what is there.
const Whatever = "*"

// Queues is a store that changes entries and queues the changes, in one
// step.
type Queues interface {
	Queue(ctx context.Context, most int, q Queuing) (Queued, error)
}

// Queuing is changes of entries. Pairs are keys by turns with = and a value, or
// nothing for what is removed.
type Queuing struct {
	Pairs  []string
	Lives  Lifetime
	Leaves bool   // the times of a cache's entries stay that Lives does not set
	Seen   string // what has to be there, of one entry; or [Whatever]
}

// Queued tells the outcome of a Queuing.
type Queued struct {
	Count int64 // of entries that were there
	Other bool  // something else was there, and nothing was done
	There Value // which is this
	Full  bool  // nothing was done
}

func (p *Plain) Queue(ctx context.Context, most int, q Queuing) (Queued, error) {
	head := []string{Decimal(int64(most)), q.Lives.text(), q.Seen, p.Hub.Requests.ID(), Decimal(int64(6 + len(q.Pairs)))}
	args := p.tell(append(head, q.Pairs...), q.Pairs, 2)
	on := []string{p.Key, keys.MapWrites(p.Key), keys.MapPending(p.Key)}
	for i := 0; i < len(q.Pairs); i += 2 {
		on = append(on, p.lease(q.Pairs[i]))
	}
	if p.announces {
		on = append(on, keys.NearLog(p.Key))
	}
	got, err := p.Write(ctx, BehindScript, on, args...)
	if err != nil {
		return Queued{}, err
	}
	return queuedAs(&got.RedisMessage)
}

func (c *Cached) Queue(ctx context.Context, most int, q Queuing) (Queued, error) {
	now, on := c.Hub.Engine.Wall(), append(c.Names.All(), keys.MapWrites(c.Key), keys.MapPending(c.Key))
	ends, rests := q.Lives.life().Times(now, q.Leaves)
	args := []string{Decimal(now), c.publish(q.Pairs, 2), Decimal(int64(most)), ends, rests, q.Seen, c.Hub.Requests.ID()}
	for i := 0; i < len(q.Pairs); i += 2 {
		to := q.Pairs[i+1]
		if to != "" {
			to = "=" + q.Lives.Pack(to[1:])
		}
		on, args = append(on, c.Names.Lease(q.Pairs[i])), append(args, q.Pairs[i], to)
	}
	m, err := c.written(q.Lives, now)(c.Write(ctx, mapcache.Behind, on, args...))
	if err != nil {
		return Queued{}, err
	}
	done, err := queuedAs(&m)
	done.There = opened(done.There)
	return done, err
}

// queuedAs parses the answer of BehindScript.
func queuedAs(m *rueidis.RedisMessage) (q Queued, err error) {
	switch {
	case m.IsNil():
		q.Full = true
	case m.IsInt64():
		q.Count, err = m.AsInt64()
	default:
		var there string
		there, err = m.ToString()
		q.Other, q.There = true, seenAs(there)
	}
	return q, err
}

// Backlogged is one change that is queued.
type Backlogged struct {
	ID, By, Key string // by names the call that has queued it
	To          Value
}

// Backlog is changes that are queued.
type Backlog struct {
	Changes []Backlogged  // the oldest ones
	Age     time.Duration // of the first of them
	Full    bool          // no more would be taken at a time
}

// Backlog reads the oldest queued changes: up to n, and about as many bytes as one exchange
// takes. The first change may be larger.
func (s *Sender) Backlog(ctx context.Context, n int) (b Backlog, err error) {
	got, err := s.Hub.Engine.Run(ctx, readBacklog, []string{keys.MapWrites(s.Key)}, []string{Decimal(int64(n)), Decimal(MostWritten)})
	if err != nil {
		return b, err
	}
	parts, err := got.ToArray()
	if err != nil {
		return b, err
	}
	age, err := parts[0].AsInt64()
	if err != nil {
		return b, err
	}
	full, err := parts[1].AsInt64()
	if err != nil {
		return b, err
	}
	all, err := parts[2].AsXRange()
	if err != nil {
		return b, err
	}
	b = Backlog{make([]Backlogged, len(all)), time.Duration(age) * time.Millisecond, full == 1}
	for i, e := range all {
		b.Changes[i] = Backlogged{e.ID, e.FieldValues["by"], e.FieldValues["k"], seenAs(e.FieldValues["v"])}
	}
	return b, nil
}

// Ends is the oldest and the newest of the changes that are queued.
type Ends struct {
	First, Last string // their ids; empty: nothing is queued
	Many        int64
}

// Ends returns the oldest and the newest of the queued changes.
func (s *Sender) Ends(ctx context.Context) (q Ends, err error) {
	got, err := s.Hub.Engine.Run(ctx, behindEndsScript, []string{keys.MapWrites(s.Key)}, nil)
	if err != nil {
		return q, err
	}
	parts, err := got.ToArray()
	if err != nil || len(parts) == 0 {
		return q, err
	}
	if q.First, err = parts[0].ToString(); err != nil {
		return q, err
	}
	if q.Last, err = parts[1].ToString(); err != nil {
		return q, err
	}
	q.Many, err = parts[2].AsInt64()
	return q, err
}

// NotAfter reports whether the change of id a was queued as early as that of b.
func NotAfter(a, b string) bool {
	aMillis, aNumber, _ := strings.Cut(a, "-")
	bMillis, bNumber, _ := strings.Cut(b, "-")
	return cmp.Or(compareDecimals(aMillis, bMillis), compareDecimals(aNumber, bNumber)) <= 0
}

func compareDecimals(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// Grave is for changes that the store does not take; its zero value for those that it has
// taken.
type Grave struct {
	Most int // are kept
	Why  string
}

// Settled drops changes that were queued, and returns how many others are, -1 where
// the server has not said.
func (s *Sender) Settled(ctx context.Context, aside Grave, some []Backlogged) (int64, error) {
	args := []string{"", aside.Why}
	if aside.Most > 0 {
		args[0] = Decimal(int64(aside.Most))
	}
	for _, b := range some {
		args = append(args, b.ID, b.By)
	}
	on := []string{keys.MapWrites(s.Key), keys.MapPending(s.Key), keys.MapDead(s.Key), keys.MapDeadLast(s.Key)}
	n, err := send.Number(s.Hub.Engine.Run(ctx, BehindDoneScript, on, args))
	if err != nil {
		return -1, err
	}
	return n, nil
}

// QueuedMany returns how many changes are queued.
func (s *Sender) QueuedMany(ctx context.Context) (int64, error) {
	return s.Hub.Engine.StreamLength(ctx, keys.MapWrites(s.Key))
}
