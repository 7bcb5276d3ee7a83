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

	xrange = scripts.NewCommand("XRANGE", scripts.Safe)
	xlen   = scripts.NewCommand("XLEN", scripts.Safe)
)

// whatever is when it does not matter what is there.
const whatever = "*"

// queuing is what a store does to change entries and queue the changes, in one
// step. Pairs are keys by turns with = and a value, or nothing for what is removed.
type queuing interface {
	queue(ctx context.Context, most int, seen string, pairs []string, l lifetime) (queued, error)
}

// queued is what came of it.
type queued struct {
	count int64 // of entries that were there
	other bool  // something else was there, and nothing was done
	there value // which is this
	full  bool  // nothing was done
}

func (p *plain) queue(ctx context.Context, most int, seen string, pairs []string, l lifetime) (queued, error) {
	args := append([]string{decimal(int64(most)), l.text(), seen}, pairs...)
	got, err := p.write(ctx, behindScript, []string{p.key, keys.MapWrites(p.key)}, args...)
	if err != nil {
		return queued{}, err
	}
	return queuedAs(&got.RedisMessage)
}

func (c *cached) queue(ctx context.Context, most int, seen string, pairs []string, l lifetime) (queued, error) {
	now, on := c.h.e.Wall(), append(c.n.All(), keys.MapWrites(c.key))
	args := []string{decimal(now), c.h.e.Publish(), decimal(int64(most)), l.life().Ends(now), l.life().Rests(now), seen}
	for i := 0; i < len(pairs); i += 2 {
		on, args = append(on, c.n.Lease(pairs[i])), append(args, pairs[i])
		if to := pairs[i+1]; to != "" {
			to = "=" + l.pack(to[1:])
			args = append(args, to)
		} else {
			args = append(args, "")
		}
	}
	m, err := c.written(l, now)(c.write(ctx, mapcache.Behind, on, args...))
	if err != nil {
		return queued{}, err
	}
	q, err := queuedAs(&m)
	q.there = opened(q.there)
	return q, err
}

// queuedAs is the answer of behind.lua.
func queuedAs(m *rueidis.RedisMessage) (q queued, err error) {
	switch {
	case m.IsNil():
		q.full = true
	case m.IsInt64():
		q.count, err = m.AsInt64()
	default:
		var there []rueidis.RedisMessage
		q.other = true
		if there, err = m.ToArray(); err == nil && len(there) > 0 {
			q.there, err = element(&there[0])
		}
	}
	return q, err
}

// backlogged is one change that is queued.
type backlogged struct {
	id, key string
	to      value
}

// backlog is the oldest changes that are queued.
func (s *sender) backlog(ctx context.Context, n int) ([]backlogged, error) {
	got, err := s.h.e.Run(ctx, xrange, []string{keys.MapWrites(s.key)}, []string{"-", "+", "COUNT", decimal(int64(n))})
	if err != nil {
		return nil, err
	}
	all, err := got.AsXRange()
	if err != nil {
		return nil, err
	}
	some := make([]backlogged, len(all))
	for i, e := range all {
		some[i] = backlogged{id: e.ID, key: e.FieldValues["k"]}
		if v := e.FieldValues["v"]; v != "" {
			some[i].to = value{text: v[1:], there: true}
		}
	}
	return some, nil
}

// settled drops changes that were queued.
func (s *sender) settled(ctx context.Context, how string, some []backlogged) error {
	args := []string{how}
	for _, b := range some {
		args = append(args, b.id)
	}
	_, err := s.h.e.Run(ctx, behindDoneScript, []string{keys.MapWrites(s.key), keys.MapDead(s.key)}, args)
	return err
}

// queuedMany is how many changes are queued.
func (s *sender) queuedMany(ctx context.Context) (int64, error) {
	return engine.Number(s.h.e.Run(ctx, xlen, []string{keys.MapWrites(s.key)}, nil))
}

func errFull(n int) error {
	return fmt.Errorf("%w: %d changes are queued already", ErrBacklog, n)
}
