package multilock

import (
	"context"
	"errors"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

var (
	groupCommands = check.Scripts(lua, "lua/*.lua", "!lua/uptime.lua")
	redCommands   = check.Sent(aliveCommand)
	guardCommands = check.Named("info") // of uptime.lua
)

// Check checks every member, as [lock.Lock.Check] does, all at the same time. Its error joins theirs, and each
// names its member.
//
// Cost: what each member's Check costs. Errors: [ErrInvalidArgument], and those of the members.
func (m *MultiLock) Check(ctx context.Context) error {
	return checkAll(ctx, "lock of several", m.all, m.bad, nil)
}

// Check checks every member, as [lock.Lock.Check] does, all at the same time, and whether the servers may be asked
// since when they run, unless [WithRestartGuard] is 0. Its error joins those of the members, and each names its
// member: a red lock works while more than half are fine, and Check also reports fewer.
//
// Cost: two script calls for each member. Errors: [ErrInvalidArgument], and those of the members.
func (r *RedLock) Check(ctx context.Context) error {
	commands := []check.Commands{redCommands}
	if r.guard != 0 {
		commands = append(commands, guardCommands)
	}
	return checkAll(ctx, "red lock", r.all, r.bad, commands)
}

func checkAll(ctx context.Context, kind string, all []member, bad error, more []check.Commands) error {
	if err := object.Checked(ctx, bad); err != nil {
		return object.Failed("check", kind, names(all), err)
	}
	return check.Parallel(len(all), func(i int) error {
		m := all[i]
		var err error
		if one, is := m.Locker.(interface {
			Check(ctx context.Context) error
		}); is {
			err = one.Check(ctx)
		}
		if len(more) == 0 {
			return err
		}
		return errors.Join(err, check.Run(ctx, check.Object{
			Engine: m.e, Kind: kind, Name: m.Name(), Keys: []check.Key{{Name: m.key.Name}}, Commands: more,
		}))
	})
}

// Check reports what would keep the group from working: a name that cannot be used, a key of another type, a lock of
// another family, and what the server's ACL does not permit to this client's user. It asks for every command of every
// operation. It takes nothing and writes nothing. The answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ErrInvalidArgument]; [lock.ErrWrongKind];
// rueidisson.ErrNotPermitted; ctx's error and cause; [ErrClosed]; Redis' and the network's.
func (g *Group) Check(ctx context.Context) error { return g.check(ctx, g.bad) }

// Check is [Group.Check], and refuses no values.
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
