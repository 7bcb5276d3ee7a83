package rmap

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

var throughScript = scripts.Must(lua, "lua/through.lua")

// guarded is a change of one entry by the holder of its lock.
type guarded struct {
	lock, owner string // the key of the lock
	key         string
	to          value
	lives       lifetime
	leaves      bool // the times of a cache's entry stay that lives does not set
}

// guards is what a store does to change an entry for as long as its lock is held.
type guards interface {
	guarded(ctx context.Context, g guarded) (did bool, err error)
}

func (p *plain) guarded(ctx context.Context, g guarded) (bool, error) {
	args := p.tellOne(g.key, g.owner, g.key, seenText(g.to), g.lives.text())
	on := p.unleasing([]string{p.key, keys.NearLog(p.key), g.lock}, g.lives.text(), []string{g.key}, 1)
	return send.Yes(p.write(ctx, throughScript, on, args...))
}

// guarded says how many shards there are before it writes to one.
func (p *shard) guarded(ctx context.Context, g guarded) (bool, error) {
	if err := p.of.check(ctx, g.to.there); err != nil {
		return false, err
	}
	did, err := p.plain.guarded(ctx, g)
	return did, p.named(err)
}

func (c *cached) guarded(ctx context.Context, g guarded) (bool, error) {
	now, packed := c.h.e.Wall(), ""
	ends, rests := g.lives.life().Times(now, g.leaves)
	if g.to.there {
		packed = g.lives.pack(g.to.text)
	}
	args := []string{decimal(now), c.publish([]string{g.key}, 1), g.owner, g.key, packed, ends, rests}
	m, err := c.written(g.lives, now)(c.write(ctx, mapcache.Through, append(c.n.All(), c.n.Lease(g.key), g.lock), args...))
	if err != nil {
		return false, err
	}
	n, err := m.AsInt64()
	return n > 0, err
}
