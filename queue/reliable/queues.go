package reliable

import (
	"context"
	"fmt"
	"iter"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// scanned is how many keys a server looks at in one call: less than a millisecond.
const scanned = 1000

// Queues yields the names of the reliable queues that there are: those to which messages were added, or
// whose terms were set, until they are deleted. With a name mapper they are the mapped names. The order is the
// server's. What is made, deleted or moved to another node meanwhile may be passed over. The first error is
// the last element.
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

// eachQueue ends when yield is false, and with the first error.
func eachQueue(ctx context.Context, e *locking.Engine, yield func(name string) bool) error {
	if err := object.Usable(ctx, e, nil); err != nil {
		return err
	}
	unbound := context.WithoutCancel(ctx)
	masters, err := send.Reading(e.Sender, ctx, func() ([]rueidis.Client, error) { return e.Masters(unbound) })
	if err != nil {
		return err
	}
	told := map[string]bool{} // SCAN may say a key twice, and so may two nodes while a slot moves
	for _, node := range masters {
		for cursor, more := uint64(0), true; more; more = cursor != 0 {
			names, err := send.Reading(e.Sender, ctx, func() (names []string, err error) {
				names, cursor, err = queuesOf(unbound, node, cursor)
				return names, err
			})
			if err != nil {
				return err
			}
			for _, name := range names {
				if told[name] {
					continue
				}
				told[name] = true
				if !yield(name) {
					return nil
				}
			}
		}
	}
	return nil
}

// queuesOf returns a page of the queues that a node has. A queue that was deleted has left its numbers only.
func queuesOf(ctx context.Context, node rueidis.Client, cursor uint64) (names []string, next uint64, err error) {
	page, err := node.Do(ctx, node.B().Scan().Cursor(cursor).Match(keys.EveryReliableMeta).Count(scanned).Type("hash").Build()).AsScanEntry()
	if err != nil {
		return nil, 0, err
	}
	var cmds rueidis.Commands
	for _, key := range page.Elements {
		cmds = append(cmds, node.B().Hkeys().Key(key).Build())
	}
	for i, answer := range node.DoMulti(ctx, cmds...) {
		name, is := keys.ReliableOf(page.Elements[i])
		fields, err := answer.AsStrSlice()
		if reply, refused := rueidis.IsRedisErr(err); refused && err != nil {
			_, moved := reply.IsMoved()
			_, moves := reply.IsAsk()
			if moved || moves {
				continue // it is another node's by now
			}
		}
		if err != nil {
			return nil, 0, err
		}
		if is && lives(fields) {
			names = append(names, name)
		}
	}
	return names, page.Cursor, nil
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
