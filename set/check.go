package set

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/whole"
)

var (
	setCommands   = check.Sent(smismember, srandmember, scard, sadd, srem, smove, spop, sunionstore, sinterstore, sdiffstore)
	setScripts    = check.Scripts(lua, "lua/scan_set.lua", "lua/add_all.lua")
	cacheCommands = check.Sent(zmscore, zcount, zadd, zrem)
	cacheScripts  = check.Scripts(lua, "lua/*cache*.lua", "lua/sweep.lua")
	transactions  = check.Named("multi", "exec")
)

// check checks a set by its keys.
func (b *base) check(ctx context.Context, all []check.Key, channels []pubsub.Channel, commands ...check.Commands) error {
	return check.Run(ctx, check.Object{
		Engine: b.Engine, Kind: b.Kind, Name: b.Object.Name, Bad: b.Bad, Keys: all, Channels: channels,
		Commands: append(commands, whole.ScriptCommands, whole.SizeCommands, whole.KeyCommands),
	})
}

// Check reports what would keep the set from working: a name or an option that cannot be used, a
// key of another type, and what the server's ACL does not permit to this client's user. It asks for
// every command of every operation. It writes nothing. It does not look at the members, nor at the codec that wrote them. The
// answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ErrInvalidArgument]; rueidisson.ErrWrongKind;
// rueidisson.ErrNotPermitted; ctx's error and cause; [ErrClosed]; Redis' and the network's.
func (s *Set[T]) Check(ctx context.Context) error {
	return s.b.check(ctx, check.Keys(check.Set, s.b.Key), nil, setCommands, setScripts)
}

// Check does what [Set.Check] does.
//
// Cost and errors: as [Set.Check].
func (c *Cache[T]) Check(ctx context.Context) error {
	e := c.b.Engine
	all := append(check.Keys(check.ZSet, c.b.Key), check.Keys(check.String, keys.SweepLatch(c.b.Key))...)
	return c.b.check(ctx, all, []pubsub.Channel{e.Channel(keys.SetExpired(c.b.Key))}, cacheCommands, cacheScripts, transactions)
}
