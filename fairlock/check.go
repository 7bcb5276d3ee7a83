package fairlock

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

var (
	lockCommands  = check.Scripts(lua, "lua/*.lua")
	renewCommands = check.Script(lease.LockRenewal.Script)
	lookCommands  = check.Named("hgetall", "pttl") // of what package lock lends: its inspect.lua
)

// Check reports what would keep the lock from working: a name that cannot be used, a key of another type, a lock of another
// family, and what the server's ACL does not permit to this client's user. It asks for every command of every operation.
// It takes nothing, queues nowhere and writes nothing. The answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [lock.ErrInvalidArgument]; [lock.ErrWrongKind];
// rueidisson.ErrNotPermitted; ctx's error and cause; [lock.ErrClosed]; Redis' and the network's.
func (l *Lock) Check(ctx context.Context) error {
	p := l.p
	kind := p.kind
	if kind == kindFair {
		kind = "fair lock"
	}
	o := check.Object{
		Engine: p.e, Kind: kind, Name: l.name, Bad: l.bad,
		Keys: []check.Key{
			{Name: p.name, Type: check.Hash}, {Name: p.on[1], Type: check.List}, {Name: p.on[2], Type: check.ZSet},
			{Name: p.on[3], Type: check.ZSet}, {Name: p.on[4], Type: check.ZSet}, {Name: keys.FairIdle(p.name), Type: check.String},
		},
		Channels: []pubsub.Channel{p.e.Channel(p.own), p.e.Channel(p.Told("0"))},
		Commands: []check.Commands{lockCommands, renewCommands, lookCommands},
		Looks:    check.Family(p.name, "fair"),
	}
	if p.token != "" {
		o.Keys = append(o.Keys, check.Key{Name: p.token, Type: check.String})
	}
	return check.Run(ctx, o)
}
