package latch

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// Of the commands of all scripts each object needs those for the types of its keys.
var commands = check.Scripts(lua, "lua/*.lua")

// Check reports what would keep the latch from working: a name that cannot be used, a key of another type, and what the
// server's ACL does not permit to this client's user. It asks for every command of every operation. It counts nothing and
// writes nothing. The answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ErrInvalidArgument]; rueidisson.ErrWrongKind;
// rueidisson.ErrNotPermitted; ctx's error and cause; [ErrClosed]; Redis' and the network's.
func (l *Latch) Check(ctx context.Context) error {
	return check.Run(ctx, check.Object{
		Engine: l.h.e, Kind: "latch", Name: l.name, Bad: l.bad,
		Keys: append(append(check.Keys(check.String, l.of.key, l.of.opened, l.of.armed), check.Keys(check.Hash, l.of.parties)...),
			check.Each(check.String, l.of.lane), check.Each(check.String, keys.CallerRequest(l.of.key, ""))),
		Channels: []pubsub.Channel{l.h.e.Channel(l.of.channel)},
		Commands: []check.Commands{commands},
	})
}

// Check reports what would keep the barrier from working, as [Latch.Check] does. It does not arrive.
//
// Cost and errors: as Latch.Check.
func (b *Barrier) Check(ctx context.Context) error { return b.check(ctx, "barrier") }

// Check reports what would keep the barrier from working, as [Latch.Check] does. It does not arrive.
//
// Cost and errors: as Latch.Check.
func (d *DoubleBarrier) Check(ctx context.Context) error { return d.b.check(ctx, "double barrier") }

func (b *Barrier) check(ctx context.Context, kind string) error {
	return check.Run(ctx, check.Object{
		Engine: b.h.e, Kind: kind, Name: b.name, Bad: b.bad,
		Keys: append(append(check.Keys(check.Hash, b.of.key), check.Keys(check.ZSet, b.of.waiting, b.of.opened)...),
			check.Each(check.String, keys.BarrierArrival(b.of.key, "")), check.Each(check.ZSet, keys.BarrierInside(b.of.key, ""))),
		Channels: []pubsub.Channel{b.h.e.Channel(b.of.channel)},
		Commands: []check.Commands{commands},
	})
}
