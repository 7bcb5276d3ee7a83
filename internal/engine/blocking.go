package engine

import (
	"context"
	"time"

	"github.com/redis/rueidis"
)

// Blocking is a connection of its own, for commands that wait for messages.
type Blocking struct{ *blocked }

// BlockingAt takes a connection to a node, see Node.
func (e *Engine) BlockingAt(ctx context.Context, node string) (Blocking, error) {
	c, err := e.toBlock(ctx, node, "messages")
	return Blocking{c}, err
}

// Ask sends a command that blocks for d at most.
func (c Blocking) Ask(d time.Duration, words ...string) (rueidis.RedisMessage, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d+c.timeout)
	defer cancel()
	return c.Do(ctx, c.B().Arbitrary(words...).Blocking()).ToMessage()
}

// Doubt says that what is known of the servers has proved wrong.
func (e *Engine) Doubt() { e.topo.doubt() }

// Slot returns the slot of key; 0 where there is no cluster.
func (e *Engine) Slot(key string) uint16 { return e.topo.slot(key) }

// BlockedAtMost returns how many such connections one kind of object has to each node
// at most.
func (e *Engine) BlockedAtMost() int {
	if e.BlockedConnections == 0 {
		return MostBlocked
	}
	return e.BlockedConnections
}
