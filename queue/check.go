package queue

import (
	"context"
	"strings"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// The commands of the scripts. An object needs those for the types of its keys.
var (
	backCommands    = check.Scripts(lua, "lua/back.lua")
	boundedCommands = check.Scripts(lua, "lua/bounded_*.lua")
	ringCommands    = check.Scripts(lua, "lua/ring_*.lua")
	delayedCommands = check.Scripts(lua, "lua/delayed_*.lua")

	keyCommands  = check.Sent(getCommand)
	listCommands = check.Sent(lindex, lrange, llen, rpush, lpush, rpushx, lpop, rpop, lmove, lrem, lpos)
	zsetCommands = check.Sent(zcard, zrange, zscore, zadd, zrem, zpopmin, zpopmax)
	waitCommands = check.Named("lmpop", "blpop", "brpop", "blmove", "bzpopmin", "bzpopmax",
		"client id", "client unblock")
)

// polled returns the commands by which those who wait are served.
func polled(kinds ...*poller.Kind) check.Commands {
	var names []string
	for _, k := range kinds {
		for _, name := range []string{k.Block, k.Pop, k.Look} {
			if name != "" {
				names = append(names, strings.ToLower(name))
			}
		}
	}
	return check.Named(names...)
}

// check checks a queue whose keys are of these types, in their order.
func (q *base) check(ctx context.Context, types []string, channels []pubsub.Channel, commands ...check.Commands) error {
	o := check.Object{
		Engine: q.h.e, Kind: q.Kind, Name: q.Name, Bad: q.Bad, Channels: channels,
		Commands: append(commands, backCommands, whole.ScriptCommands, whole.SizeCommands, whole.KeyCommands, keyCommands, waitCommands, polled(poller.Head, poller.Tail, poller.Lowest, poller.Highest)),
	}
	for i, key := range q.Keys {
		o.Keys = append(o.Keys, check.Key{Name: key, Type: types[i]})
	}
	o.Keys = append(o.Keys, check.Each(check.String, keys.QueueDone(q.Key, "")))
	if len(types) > 1 {
		o.Keys = append(o.Keys, check.Each(check.String, keys.Lane(q.Key, q.h.e.ClientID)))
	}
	return check.Run(ctx, o)
}

// Check reports what would keep the queue from working: a name or an option that cannot be used, a
// key of another type, and what the server's ACL does not permit to this client's user. It asks for
// every command of every operation. It takes nothing and writes nothing. It does not look at
// elements, nor at the codec that wrote them. The answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ErrInvalidArgument]; rueidisson.ErrWrongKind;
// rueidisson.ErrNotPermitted; ctx's error and cause; [ErrClosed]; Redis' and the network's.
func (q *Queue[T]) Check(ctx context.Context) error {
	return q.q.check(ctx, []string{check.List}, nil, listCommands)
}

// Check does what [Queue.Check] does, and looks at the number of free slots. A capacity that is not
// set is no error of it.
//
// Cost and errors: as [Queue.Check].
func (q *Bounded[T]) Check(ctx context.Context) error {
	channel := pubsub.Channel{Kind: pubsub.Plain, Name: q.q.channel}
	channels := []pubsub.Channel{channel}
	if q.q.sharded == "1" {
		channels = append(channels, q.q.h.e.Channel(q.q.channel))
	}
	return q.q.check(ctx, []string{check.List, check.String}, channels, listCommands, boundedCommands)
}

// Check does what [Queue.Check] does, and looks at the capacity. A capacity that is not set is no
// error of it.
//
// Cost and errors: as [Queue.Check].
func (q *Ring[T]) Check(ctx context.Context) error {
	return q.q.check(ctx, []string{check.List, check.String}, nil, listCommands, ringCommands)
}

// Check does what [Queue.Check] does.
//
// Cost and errors: as [Queue.Check].
func (q *Priority[T]) Check(ctx context.Context) error {
	return q.q.check(ctx, []string{check.ZSet}, nil, zsetCommands)
}

// Check does what [Queue.Check] does for the queue, and for what waits in both formats.
//
// Cost and errors: as [Queue.Check].
func (q *Delayed[T]) Check(ctx context.Context) error {
	d := &q.q.of
	channels := []pubsub.Channel{{Kind: pubsub.Plain, Name: d.channel}, {Kind: pubsub.Plain, Name: d.news}}
	return q.q.check(ctx, []string{check.List, check.List, check.ZSet, check.List, check.ZSet, check.Hash, check.ZSet}, channels,
		listCommands, delayedCommands)
}
