package lock

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

var (
	lockCommands  = check.Scripts(lua, "lua/*.lua", "!lua/guard_*.lua")
	guardCommands = check.Scripts(lua, "lua/guard_*.lua", "lua/bury.lua")
	renewCommands = check.Script(lease.LockRenewal.Script)
	dropCommands  = check.Named("del") // see send.Sender.Drop
)

// Check reports what would keep the lock from working: a name that cannot be used, a key of another type, a lock of another
// family, and what the server's ACL does not permit to this client's user. It asks for every command of every operation.
// It takes nothing and writes nothing. The answer is of this moment: an ACL, and what has the name, may change.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ErrInvalidArgument]; [ErrWrongKind];
// rueidisson.ErrNotPermitted; ctx's error and cause; [ErrClosed]; Redis' and the network's.
func (l *Lock) Check(ctx context.Context) error {
	return check.Run(ctx, l.p.object("lock", l.name, l.bad))
}

// Check does what [Lock.Check] does, and looks at the counter of the tokens.
//
// Cost and errors: as [Lock.Check].
func (f *Fenced) Check(ctx context.Context) error {
	o := f.l.p.object("fenced lock", f.l.name, f.l.bad)
	o.Keys = append(o.Keys, check.Keys(check.String, keys.LockToken(f.l.p.name))...)
	return check.Run(ctx, o)
}

func (p *protocol) object(kind, name string, bad error) check.Object {
	return check.Object{
		Engine: p.e, Kind: kind, Name: name, Bad: bad,
		Keys: append(
			append(check.Keys(check.Hash, p.name), check.Keys(check.ZSet, p.tombstones())...),
			check.Key{Name: p.fairQueue(), Type: check.List},
			check.Each(check.String, keys.UnlockLatch(p.name, "")), check.Each(check.String, keys.JoinLatch(p.name, "")),
		),
		Channels: []pubsub.Channel{p.e.Channel(p.Channel())},
		Commands: []check.Commands{lockCommands, renewCommands, dropCommands},
		Looks:    check.Family(p.name, "lock"),
	}
}

// Check reports what would keep the guard from working, as [Lock.Check] does. The guarded key may be a string or a hash.
//
// Cost and errors: as Lock.Check.
func (g *Guard) Check(ctx context.Context) error {
	return check.Run(ctx, check.Object{
		Engine: g.e, Kind: "fence guard", Name: g.key, Bad: g.bad,
		Keys:     []check.Key{{Name: g.key}, {Name: g.highest, Type: check.Hash}, {Name: g.gone, Type: check.ZSet}},
		Commands: []check.Commands{guardCommands},
	})
}
