package multilock

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/quorum"
)

var groupCommands = check.Scripts(lua, "lua/*.lua")

// Check checks every member, as [lock.Lock.Check] does, all at the same time. Its error joins theirs, and each
// names its member.
//
// Cost: what each member's Check costs. Errors: [ErrInvalidArgument], and those of the members.
func (m *MultiLock) Check(ctx context.Context) error {
	return quorum.Check(ctx, "lock of several", m.all, m.bad, nil)
}

// Check reports what would keep the group from working: a name that cannot be used, a key of another type, a lock of
// another family, and what the server's ACL does not permit to this client's user. It asks for every command of every
// operation. It takes nothing and writes nothing. The answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ErrInvalidArgument]; [lock.ErrWrongKind];
// rueidisson.ErrNotPermitted; ctx's error and cause; [ErrClosed]; Redis' and the network's.
func (g *Group) Check(ctx context.Context) error { return g.check(ctx, g.bad) }

// Check does what [Group.Check] does, and refuses an empty list of values.
//
// Cost and errors: as [Group.Check].
func (v *Values) Check(ctx context.Context) error { return v.g.check(ctx, v.bad) }

func (g *Group) check(ctx context.Context, bad error) error {
	return check.Run(ctx, check.Object{
		Engine: g.e, Kind: "lock group", Name: g.name, Bad: bad,
		Keys:     append(check.Keys(check.Hash, g.mapped), check.Keys(check.ZSet, keys.Tombstones(g.mapped))...),
		Channels: []pubsub.Channel{g.e.Channel(keys.LockChannel(g.mapped)), g.e.Channel(keys.GroupChannel(g.mapped))},
		Commands: []check.Commands{groupCommands},
		Looks:    check.Family(g.mapped, core.GroupKind),
	})
}
