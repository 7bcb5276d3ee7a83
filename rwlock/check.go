package rwlock

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

var (
	lockCommands = check.Scripts(lua, "lua/*.lua")
	sentCommands = check.Sent(deleteCommand)
)

// Check reports what would keep the lock from working: a name or an option that cannot be used, a key of another type, a
// lock of another family, and what the server's ACL does not permit to this client's user. It asks for every command of
// every operation of both sides. It takes nothing and writes nothing. The answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [lock.ErrInvalidArgument]; [lock.ErrWrongKind];
// rueidisson.ErrNotPermitted; ctx's error and cause; [lock.ErrClosed]; Redis' and the network's.
func (l *Lock) Check(ctx context.Context) error {
	s := &l.on
	return check.Run(ctx, check.Object{
		Engine: s.e, Kind: "read-write lock", Name: l.label, Bad: l.bad,
		Keys: append(
			append(check.Keys(check.Hash, s.name), check.Keys(check.ZSet, s.gone, s.claims, s.waiting, s.turn)...),
			check.Each(check.String, keys.Suffix(s.name, "")),
		),
		Channels: []pubsub.Channel{s.e.Channel(s.channel)},
		Commands: []check.Commands{lockCommands, sentCommands},
		Looks:    check.Family(s.name, family),
	})
}

// Check does what [Lock.Check] does: both sides are one object.
//
// Cost and errors: as [Lock.Check].
func (s *Side) Check(ctx context.Context) error { return s.l.Check(ctx) }
