package topic

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/attempts"
	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

var (
	countCommands    = check.Sent(count)
	countedCommands  = check.Sent(countSharded)
	activeCommands   = check.Named("pubsub channels", "pubsub shardchannels")
	reliableCommands = check.Scripts(lua, "lua/*.lua")
	readCommands     = check.Sent(groups, hdel, unlink)
	tendCommands     = check.Named("xreadgroup", "xautoclaim", "xclaim", "pttl", "client tracking", "client caching", "client info", "client id",
		"client unblock")
)

// Check reports what would keep the topic from working: a name or an option that cannot be used, and what the server's
// ACL does not permit to this client's user: to publish to the channel, to subscribe to it, and to count subscribers. It
// publishes nothing. The answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ErrInvalidArgument]; rueidisson.ErrNotPermitted;
// ctx's error and cause; [ErrClosed]; Redis' and the network's.
func (t *Topic[T]) Check(ctx context.Context) error { return t.h.check(ctx, countCommands) }

// Check does what [Topic.Check] does, for sharded channels.
//
// Cost and errors: as [Topic.Check].
func (t *Sharded[T]) Check(ctx context.Context) error { return t.h.check(ctx, countedCommands) }

// Check does what [Topic.Check] does, for the pattern: the ACL has to name it word for word.
//
// Cost and errors: as [Topic.Check].
func (t *Pattern[T]) Check(ctx context.Context) error { return t.h.check(ctx, activeCommands) }

func (h *handle[T]) check(ctx context.Context, commands check.Commands) error {
	return check.Run(ctx, check.Object{
		Engine: h.e, Kind: h.kind, Name: h.name, Bad: h.bad, Channels: []pubsub.Channel{h.on}, Commands: []check.Commands{commands},
	})
}

// Check reports what would keep the topic from working: a name or an option that cannot be used, a key of another type,
// and what the server's ACL does not permit to this client's user. It asks for every command of every operation. It
// joins nothing and writes nothing. The answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ErrInvalidArgument]; rueidisson.ErrWrongKind;
// rueidisson.ErrNotPermitted; ctx's error and cause; [ErrClosed]; Redis' and the network's.
func (t *Reliable[T]) Check(ctx context.Context) error { return t.check(ctx, t.h.bad, nil) }

// Check checks the topic, as [Reliable.Check] does, and what this name has put aside and redriven.
// A name without subscribers is no error of it.
//
// Cost and errors: as Reliable.Check.
func (d *Durable[T]) Check(ctx context.Context) error {
	key := d.t.of.key
	return d.t.check(ctx, d.bad, check.Keys(check.Stream, keys.StreamDead(key, d.name), keys.TopicAgain(key, d.name)))
}

func (t *Reliable[T]) check(ctx context.Context, bad error, more []check.Key) error {
	of := &t.of
	return check.Run(ctx, check.Object{
		Engine: t.h.e, Kind: t.h.kind, Name: t.h.name, Bad: bad,
		Keys: append(append(append(check.Keys(check.Stream, of.key), check.Keys(check.ZSet, of.timeout)...),
			check.Keys(check.Hash, of.missed, of.holders)...),
			append(more, check.Each(check.String, of.lane), check.Each(check.String, keys.QueueDone(of.key, "")),
				check.Each(check.Stream, keys.TopicAgain(of.key, "")), check.Each(check.Stream, keys.StreamDead(of.key, "")))...),
		Commands: []check.Commands{reliableCommands, attempts.Commands, readCommands, tendCommands},
	})
}
