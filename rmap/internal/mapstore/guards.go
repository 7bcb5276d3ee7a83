package mapstore

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

// ThroughScript changes an entry while its lock is held.
var ThroughScript = scripts.Must(Lua, "lua/through.lua")

// Guarded is a change of one entry by the holder of its lock.
type Guarded struct {
	Lock, Owner string // the key of the lock
	Key         string
	To          Value
	Lives       Lifetime
	Leaves      bool // the times of a cache's entry stay that Lives does not set
}

// Guards is a store that changes an entry for as long as its lock is held.
type Guards interface {
	Guarded(ctx context.Context, g Guarded) (did bool, err error)
}

func (p *Plain) Guarded(ctx context.Context, g Guarded) (bool, error) {
	args := p.tellOne(g.Key, g.Owner, g.Key, SeenText(g.To), g.Lives.text())
	on := append([]string{p.Key, keys.NearLog(p.Key), g.Lock}, p.lease(g.Key))
	return send.Yes(p.Write(ctx, ThroughScript, on, args...))
}

// Guarded says how many shards there are before it writes to one.
func (p *Shard) Guarded(ctx context.Context, g Guarded) (bool, error) {
	if err := p.of.check(ctx, g.To.There); err != nil {
		return false, err
	}
	did, err := p.Plain.Guarded(ctx, g)
	return did, p.named(err)
}

func (c *Cached) Guarded(ctx context.Context, g Guarded) (bool, error) {
	now, packed := c.Hub.Engine.Wall(), ""
	ends, rests := g.Lives.life().Times(now, g.Leaves)
	if g.To.There {
		packed = g.Lives.Pack(g.To.Text)
	}
	args := []string{Decimal(now), c.publish([]string{g.Key}, 1), g.Owner, g.Key, packed, ends, rests}
	m, err := c.written(g.Lives, now)(c.Write(ctx, mapcache.Through, append(c.Names.All(), c.Names.Lease(g.Key), g.Lock), args...))
	if err != nil {
		return false, err
	}
	n, err := m.AsInt64()
	return n > 0, err
}
