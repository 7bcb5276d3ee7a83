package reliable

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/keywalk"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Queues yields the names of the reliable queues that there are: those to which messages were added, or
// whose terms were set, until they are deleted. With a name mapper they are the mapped names. The order is the
// server's. What is made or deleted meanwhile may be passed over. The first error is the last element.
//
// It looks through all keys of the server, or of each master of a cluster, by SCAN. Cost: for each 1,000 keys a call,
// and one more for the queues among them; a set of the names. Errors: ctx's error and cause; [ErrInvalidArgument] for a nil ctx;
// [ErrClosed]; those of Redis.
func Queues(ctx context.Context, c Client) iter.Seq2[string, error] {
	e := c.Engine()
	return func(yield func(string, error) bool) {
		if err := eachQueue(ctx, e, func(name string) bool { return yield(name, nil) }); err != nil {
			yield("", fmt.Errorf("list reliable queues: %w", err))
		}
	}
}

// errEnough ends a walk whose caller wants no more.
var errEnough = errors.New("enough")

// eachQueue ends when yield is false, and with the first error.
func eachQueue(ctx context.Context, e *locking.Engine, yield func(name string) bool) error {
	if err := object.CheckContext(ctx); err != nil {
		return err
	}
	unbound := context.WithoutCancel(ctx)
	told := map[string]bool{} // a key may come twice
	err := keywalk.Walk(ctx, e, keywalk.Query{Pattern: keys.EveryReliableMeta, Type: "hash"}, keywalk.Visitor{
		Page: func(node rueidis.Client, metas []string) error {
			names, err := send.Reading(e.Sender, ctx, func() ([]string, error) { return queuesOf(unbound, node, metas) })
			if err != nil {
				return err
			}
			for _, name := range names {
				if told[name] {
					continue
				}
				told[name] = true
				if !yield(name) {
					return errEnough
				}
			}
			return nil
		},
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// queuesOf returns the queues of some keys of a node. A queue that was deleted has left its numbers only.
func queuesOf(ctx context.Context, node rueidis.Client, metas []string) (names []string, err error) {
	var cmds rueidis.Commands
	for _, key := range metas {
		cmds = append(cmds, node.B().Hkeys().Key(key).Build())
	}
	for i, answer := range node.DoMulti(ctx, cmds...) {
		name, is := keys.ReliableOf(metas[i])
		fields, err := answer.AsStrSlice()
		if reply, refused := rueidis.IsRedisErr(err); refused && err != nil {
			_, moved := reply.IsMoved()
			_, moves := reply.IsAsk()
			if moved || moves {
				continue // it is another node's by now
			}
		}
		if err != nil {
			return nil, err
		}
		if is && lives(fields) {
			names = append(names, name)
		}
	}
	return names, nil
}

// lives reports whether these fields of meta are of a queue that is there.
func lives(fields []string) bool {
	for _, field := range fields {
		switch field {
		case "id", "delivery", "format":
		default:
			return true
		}
	}
	return false
}
