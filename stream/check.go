package stream

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/attempts"
	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/whole"
)

var (
	scriptCommands = check.Scripts(lua, "lua/*.lua")
	plainCommands  = check.Sent(xadd, xdel, xtrim, xrange, xrevrange, xinfo, xsetid, xgroups, xcreate, xdestroy, xgroupSet, xconsumers,
		xack, xclaimed, xautoclaim, xpending)
	waitCommands = check.Named("xread", "xreadgroup", "client id", "client unblock")
)

// Check reports what would keep the stream from working: a name or an option that cannot be used, a key of another type,
// and what the server's ACL does not permit to this client's user. It asks for every command of every operation. It
// writes nothing. It does not look at groups: see [Group.Check]. It does not look at entries, nor at the codec of their
// writers. The answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ErrInvalidArgument]; rueidisson.ErrWrongKind;
// rueidisson.ErrNotPermitted; ctx's error and cause; [ErrClosed]; Redis' and the network's.
func (s *Stream[K, V]) Check(ctx context.Context) error { return s.q.check(ctx, s.q.Bad, nil) }

// Check checks the stream, as [Stream.Check] does, and what the group has put aside. That there is no such group is no
// error of it.
//
// Cost and errors: as Stream.Check.
func (g *Group[K, V]) Check(ctx context.Context) error {
	return g.s.check(ctx, g.bad, check.Keys(check.Stream, keys.StreamDead(g.s.Key, g.name)))
}

func (s *stream[K, V]) check(ctx context.Context, bad error, more []check.Key) error {
	return check.Run(ctx, check.Object{
		Engine: s.h.e, Kind: s.Kind, Name: s.Name, Bad: bad,
		Keys: append(append(check.Keys(check.Stream, s.Key), more...),
			check.Each(check.String, keys.QueueDone(s.Key, "")), check.Each(check.Stream, keys.StreamDead(s.Key, ""))),
		Channels: []pubsub.Channel{s.h.e.Channel(keys.StreamReturned(s.Key))},
		Commands: []check.Commands{scriptCommands, whole.ScriptCommands, whole.SizeCommands, attempts.Commands, whole.KeyCommands, plainCommands, waitCommands},
	})
}
