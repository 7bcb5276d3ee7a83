package reliable

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

var (
	commands     = check.Scripts(lua, "lua/*.lua")
	sentCommands = check.Sent(release)
)

// types has the types of the parts of a queue, in the order of keys.Reliable.
var types = []string{
	check.Hash, check.List, check.ZSet, check.ZSet, check.ZSet, check.Hash, check.Hash, check.Hash, check.ZSet, check.Hash,
	check.ZSet, check.Hash, check.Hash, check.String, check.ZSet, check.String, check.String, check.Hash, check.Hash, check.ZSet, check.Hash, "",
}

// Check reports what would keep the queue from working: a name or an option that cannot be used, a key of another type,
// and what the server's ACL does not permit to this client's user. It asks for every command of every operation. It takes
// no message and writes nothing. It does not compare terms, and looks at no message. The answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ErrInvalidArgument]; rueidisson.ErrWrongKind;
// rueidisson.ErrNotPermitted; ctx's error and cause; [ErrClosed]; Redis' and the network's.
func (q *Queue[T]) Check(ctx context.Context) error {
	e, of := q.h.e, q.of
	o := check.Object{
		Engine: e, Kind: "reliable queue", Name: q.name, Bad: q.bad,
		Channels: []pubsub.Channel{e.Channel(of.wake + "0"), e.Channel(of.done), e.Channel(of.cancelled)},
		Commands: []check.Commands{commands, sentCommands},
	}
	for i, key := range of.parts {
		o.Keys = append(o.Keys, check.Key{Name: key, Type: types[i]})
	}
	o.Keys = append(o.Keys, check.Each(check.String, of.lane), check.Each(check.String, keys.ReliableResult(of.key, "")),
		check.Each(check.String, keys.ReliableOnce(of.key, "")), check.Each(check.String, keys.QueueDone(of.key, "")))
	return check.Run(ctx, o)
}
