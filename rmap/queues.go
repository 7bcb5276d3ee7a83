package rmap

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
	behindScript     = scripts.Must(lua, "lua/behind.lua")
	behindDoneScript = scripts.Must(lua, "lua/behind_done.lua")
	behindTakeScript = scripts.Must(lua, "lua/behind_take.lua")
	behindEndsScript = scripts.Must(lua, "lua/behind_ends.lua")

	readBacklog = send.Sized(behindTakeScript, send.Sizing{})
)

// whatever is when it does not matter what is there.
const whatever = "*"

// queues is what a store does to change entries and queue the changes, in one
// step.
type queues interface {
	queue(ctx context.Context, most int, q queuing) (queued, error)
}

// queuing is changes of entries. Pairs are keys by turns with = and a value, or
// nothing for what is removed.
type queuing struct {
	pairs  []string
	lives  lifetime
	leaves bool   // the times of a cache's entries stay that lives does not set
	seen   string // what has to be there, of one entry; or whatever
}

// queued is what came of it.
type queued struct {
	count int64 // of entries that were there
	other bool  // something else was there, and nothing was done
	there value // which is this
	full  bool  // nothing was done
}

func (p *plain) queue(ctx context.Context, most int, q queuing) (queued, error) {
	head := []string{decimal(int64(most)), q.lives.text(), q.seen, p.h.requests.ID(), decimal(int64(6 + len(q.pairs)))}
	args := p.tell(append(head, q.pairs...), q.pairs, 2)
	on := []string{p.key, keys.MapWrites(p.key), keys.MapPending(p.key)}
	for i := 0; i < len(q.pairs); i += 2 {
		on = append(on, p.lease(q.pairs[i]))
	}
	if p.announces {
		on = append(on, keys.NearLog(p.key))
	}
	got, err := p.write(ctx, behindScript, on, args...)
	if err != nil {
		return queued{}, err
	}
	return queuedAs(&got.RedisMessage)
}

func (c *cached) queue(ctx context.Context, most int, q queuing) (queued, error) {
	now, on := c.h.e.Wall(), append(c.n.All(), keys.MapWrites(c.key), keys.MapPending(c.key))
	ends, rests := q.lives.life().Times(now, q.leaves)
	args := []string{decimal(now), c.publish(q.pairs, 2), decimal(int64(most)), ends, rests, q.seen, c.h.requests.ID()}
	for i := 0; i < len(q.pairs); i += 2 {
		to := q.pairs[i+1]
		if to != "" {
			to = "=" + q.lives.pack(to[1:])
		}
		on, args = append(on, c.n.Lease(q.pairs[i])), append(args, q.pairs[i], to)
	}
	m, err := c.written(q.lives, now)(c.write(ctx, mapcache.Behind, on, args...))
	if err != nil {
		return queued{}, err
	}
	done, err := queuedAs(&m)
	done.there = opened(done.there)
	return done, err
}

// queuedAs parses the answer of behindScript.
func queuedAs(m *rueidis.RedisMessage) (q queued, err error) {
	switch {
	case m.IsNil():
		q.full = true
	case m.IsInt64():
		q.count, err = m.AsInt64()
	default:
		var there string
		there, err = m.ToString()
		q.other, q.there = true, seenAs(there)
	}
	return q, err
}

// backlogged is one change that is queued.
type backlogged struct {
	id, by, key string // by names the call that has queued it
	to          value
}

// backlog is changes that are queued.
type backlog struct {
	changes []backlogged  // the oldest ones
	age     time.Duration // of the first of them
	full    bool          // no more would be taken at a time
}

// backlog reads the oldest queued changes: up to n, and about as many bytes as one exchange
// takes. The first change may be larger.
func (s *sender) backlog(ctx context.Context, n int) (b backlog, err error) {
	got, err := s.h.e.Run(ctx, readBacklog, []string{keys.MapWrites(s.key)}, []string{decimal(int64(n)), decimal(mostWritten)})
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
	b = backlog{make([]backlogged, len(all)), time.Duration(age) * time.Millisecond, full == 1}
	for i, e := range all {
		b.changes[i] = backlogged{e.ID, e.FieldValues["by"], e.FieldValues["k"], seenAs(e.FieldValues["v"])}
	}
	return b, nil
}

// ends is the oldest and the newest of the changes that are queued.
type ends struct {
	first, last string // their ids; empty: nothing is queued
	many        int64
}

func (s *sender) ends(ctx context.Context) (q ends, err error) {
	got, err := s.h.e.Run(ctx, behindEndsScript, []string{keys.MapWrites(s.key)}, nil)
	if err != nil {
		return q, err
	}
	parts, err := got.ToArray()
	if err != nil || len(parts) == 0 {
		return q, err
	}
	if q.first, err = parts[0].ToString(); err != nil {
		return q, err
	}
	if q.last, err = parts[1].ToString(); err != nil {
		return q, err
	}
	q.many, err = parts[2].AsInt64()
	return q, err
}

// notAfter reports whether the change of id a was queued as early as that of b.
func notAfter(a, b string) bool {
	aMillis, aNumber, _ := strings.Cut(a, "-")
	bMillis, bNumber, _ := strings.Cut(b, "-")
	return cmp.Or(compareDecimals(aMillis, bMillis), compareDecimals(aNumber, bNumber)) <= 0
}

func compareDecimals(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// grave is for changes that the store does not take; its zero value for those that it has
// taken.
type grave struct {
	most int // are kept
	why  string
}

// settled drops changes that were queued, and returns how many others are, -1 where
// the server has not said.
func (s *sender) settled(ctx context.Context, aside grave, some []backlogged) (int64, error) {
	args := []string{"", aside.why}
	if aside.most > 0 {
		args[0] = decimal(int64(aside.most))
	}
	for _, b := range some {
		args = append(args, b.id, b.by)
	}
	on := []string{keys.MapWrites(s.key), keys.MapPending(s.key), keys.MapDead(s.key), keys.MapDeadLast(s.key)}
	n, err := send.Number(s.h.e.Run(ctx, behindDoneScript, on, args))
	if err != nil {
		return -1, err
	}
	return n, nil
}

// queuedMany returns how many changes are queued.
func (s *sender) queuedMany(ctx context.Context) (int64, error) {
	return s.h.e.StreamLength(ctx, keys.MapWrites(s.key))
}
