package engine

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Margin is what trust takes off a lease.
var Margin = watchdog.Margin

// Listeners counts the subscribers of a channel on the node that serves it.
func (e *Engine) Listeners(ctx context.Context, channel string) (int, error) {
	verb := "NUMSUB"
	if e.publish == "spublish" {
		verb = "SHARDNUMSUB"
	}
	where, err := e.topo.where(ctx)
	if err != nil {
		return 0, err
	}
	node, err := where(e.channel(channel))
	if err != nil {
		return 0, err
	}
	on := e.topo.reach(node)
	reply, err := on.Do(e.bounded(ctx), on.B().Arbitrary("PUBSUB", verb).Args(channel).Build()).ToArray()
	if err != nil || len(reply) < 2 {
		return 0, err
	}
	n, err := reply[1].AsInt64()
	return int(n), err
}

// CountsAll reports whether a message that reached nobody proves that nobody
// listens: everywhere but on a cluster with plain channels, where the server
// counts the subscribers of one node.
func (e *Engine) CountsAll() bool { return !e.cluster || e.publish == "spublish" }

// Hurry makes the next renewal of what this client holds of key, or of another
// kind of its family, due at once.
func (e *Engine) Hurry(key Key) {
	e.dog.Each(func(l *watchdog.Lease) {
		if of := grantOf(l).grant().Key(); of.Name == key.Name && Family(of.Kind) == Family(key.Kind) {
			e.dog.Hurry(l)
		}
	})
}
