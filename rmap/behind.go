package rmap

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

var (
	behindScript     = scripts.Must(lua, "lua/behind.lua")
	behindDoneScript = scripts.Must(lua, "lua/behind_done.lua")

	xrange    = scripts.NewCommand("XRANGE", scripts.Safe)
	xrevrange = scripts.NewCommand("XREVRANGE", scripts.Safe)
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
	args := append([]string{decimal(int64(most)), q.lives.text(), q.seen, p.h.requests.ID()}, q.pairs...)
	got, err := p.write(ctx, behindScript, []string{p.key, keys.MapWrites(p.key), keys.MapPending(p.key)}, args...)
	if err != nil {
		return queued{}, err
	}
	return queuedAs(&got.RedisMessage)
}

func (c *cached) queue(ctx context.Context, most int, q queuing) (queued, error) {
	now, on := c.h.e.Wall(), append(c.n.All(), keys.MapWrites(c.key), keys.MapPending(c.key))
	ends, rests := q.lives.life().Ends(now), q.lives.life().Rests(now)
	if q.leaves {
		ends, rests = mapcache.Stays(ends), mapcache.Stays(rests)
	}
	args := []string{decimal(now), c.h.e.Publish(), decimal(int64(most)), ends, rests, q.seen, c.h.requests.ID()}
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

// queuedAs is the answer of behind.lua.
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

// backlog is the oldest changes that are queued.
func (s *sender) backlog(ctx context.Context, n int) ([]backlogged, error) {
	all, err := s.entries(ctx, xrange, "-", "+", "COUNT", decimal(int64(n)))
	if err != nil {
		return nil, err
	}
	some := make([]backlogged, len(all))
	for i, e := range all {
		some[i] = backlogged{e.ID, e.FieldValues["by"], e.FieldValues["k"], seenAs(e.FieldValues["v"])}
	}
	return some, nil
}

func (s *sender) entries(ctx context.Context, cmd *scripts.Command, args ...string) ([]rueidis.XRangeEntry, error) {
	got, err := s.h.e.Run(ctx, cmd, []string{keys.MapWrites(s.key)}, args)
	if err != nil {
		return nil, err
	}
	return got.AsXRange()
}

// settled drops changes that were queued, and returns how many others are, -1 where
// the server has not said.
func (s *sender) settled(ctx context.Context, how string, some []backlogged) (int64, error) {
	args := []string{how}
	for _, b := range some {
		args = append(args, b.id, b.by)
	}
	n, err := engine.Number(s.h.e.Run(ctx, behindDoneScript, []string{keys.MapWrites(s.key), keys.MapPending(s.key), keys.MapDead(s.key)}, args))
	if err != nil {
		return -1, err
	}
	return n, nil
}

// queuedMany is how many changes are queued.
func (s *sender) queuedMany(ctx context.Context) (int64, error) {
	return s.h.e.StreamLength(ctx, keys.MapWrites(s.key))
}

func errFull(n int) error {
	return fmt.Errorf("%w: %d changes are queued already", ErrBacklog, n)
}
