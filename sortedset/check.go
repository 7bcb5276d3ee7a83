package sortedset

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/whole"
)

var (
	setCommands = check.Sent(zmscore, zrank, zrevrank, zcount, zadd, zincrby, zrem, zpopmin, zpopmax,
		zunionstore, zinterstore, zdiffstore, zrangestore)
	setScripts    = check.Scripts(lua, "lua/page.lua", "lua/pop.lua", "lua/remove_range.lua", "lua/add_score.lua")
	lexCommands   = check.Sent(zlexcount, zrank, zadd, zrem, zpopmin)
	lexScripts    = check.Scripts(lua, "lua/page.lua", "lua/pop.lua", "lua/remove_range.lua")
	geoCommands   = check.Sent(zmscore, zadd, zrem)
	geoScripts    = check.Scripts(lua, "lua/page.lua", "lua/near.lua", "lua/near_into.lua")
	commonCommand = check.Sent(zcard)
)

// check checks a sorted set.
func (b *base) check(ctx context.Context, commands ...check.Commands) error {
	return check.Run(ctx, check.Object{
		Engine: b.Engine, Kind: b.Kind, Name: b.Name, Bad: b.Bad,
		Keys:     check.Keys(check.ZSet, b.Key),
		Commands: append(commands, whole.ScriptCommands, whole.SizeCommands, whole.KeyCommands, commonCommand),
	})
}

// Check reports what would keep the set from working: a name or an option that cannot be used, a
// key of another type, and what the server's ACL does not permit to this client's user. It asks for
// every command of every operation. It writes nothing. It does not look at the members, nor at the codec that wrote them. The
// answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ErrInvalidArgument]; rueidisson.ErrWrongKind;
// rueidisson.ErrNotPermitted; ctx's error and cause; [ErrClosed]; Redis' and the network's.
func (s *Set[T]) Check(ctx context.Context) error { return s.b.check(ctx, setCommands, setScripts) }
