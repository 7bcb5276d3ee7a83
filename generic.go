package rueidisson

import (
	"context"
	"iter"

	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/queue/reliable"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/topic"
)

// Methods have no type parameters, so what has typed values comes from functions
// that take the client.

// Map returns a handle on the map of that name; see [rmap.Map]. It asks nobody: a
// name or an option that cannot be used is the error of its operations.
func Map[K comparable, V any](c *Client, name string, opts ...rmap.Option) *rmap.Map[K, V] {
	return rmap.New[K, V](c.e, name, opts...)
}

// Topic returns a handle on the topic of that name, whose messages go to all who
// listen now; see [topic.Topic]. It asks nobody: a name or an option that cannot be
// used is the error of its operations.
func Topic[T any](c *Client, name string, opts ...topic.Option) *topic.Topic[T] {
	return topic.New[T](c.e, name, opts...)
}

// ReliableTopic returns a handle on the topic of that name whose messages are kept
// until every subscriber has handled them; see [topic.ReliableTopic]. It asks nobody: a
// name or an option that cannot be used is the error of its operations.
func ReliableTopic[T any](c *Client, name string, opts ...topic.Option) *topic.ReliableTopic[T] {
	return topic.NewReliable[T](c.e, name, opts...)
}

// PatternTopic returns a handle on the messages of all topics whose names match;
// see [topic.PatternTopic]. It asks nobody.
func PatternTopic[T any](c *Client, pattern string, opts ...topic.Option) *topic.PatternTopic[T] {
	return topic.NewPattern[T](c.e, pattern, opts...)
}

// ShardedTopic returns a handle on the topic of that name whose messages stay
// within a shard of a cluster; see [topic.ShardedTopic]. It asks nobody.
func ShardedTopic[T any](c *Client, name string, opts ...topic.Option) *topic.ShardedTopic[T] {
	return topic.NewSharded[T](c.e, name, opts...)
}

// Native returns a handle on the map of that name whose entries may have times to
// live that the server keeps; see [rmap.Native]. It asks nobody: a name or an
// option that cannot be used is the error of its operations.
func Native[K comparable, V any](c *Client, name string, opts ...rmap.Option) *rmap.Native[K, V] {
	return rmap.NewNative[K, V](c.e, name, opts...)
}

// Cache returns a handle on the cache of that name, a map whose entries expire on
// every server; see [rmap.Cache].
func Cache[K comparable, V any](c *Client, name string, opts ...rmap.Option) *rmap.Cache[K, V] {
	return rmap.NewCache[K, V](c.e, name, opts...)
}

// Queue returns a handle on the queue of that name, which is a deque, too; see
// [queue.Queue]. It asks nobody: a name or an option that cannot be used is the
// error of its operations.
func Queue[T any](c *Client, name string, opts ...queue.Option) *queue.Queue[T] {
	return queue.New[T](c.e, name, opts...)
}

// ReliableQueue returns a handle on the queue of that name whose messages are kept
// until somebody has acknowledged them; see [reliable.Queue]. It asks nobody: a name or
// an option that cannot be used is the error of its operations.
func ReliableQueue[T any](c *Client, name string, opts ...reliable.Option) *reliable.Queue[T] {
	return reliable.New[T](c.e, name, opts...)
}

// ReliableQueues yields the names of the reliable queues that there are: those to which messages were added, or
// whose terms were set, until they are deleted. With a name mapper they are the mapped names. The order is the
// server's. What is made, deleted or moved to another node meanwhile may be passed over. The first error is
// the last element.
//
// It looks through all keys of the server, or of each master of a cluster, by SCAN. Cost: for each 1,000 keys a call,
// and one more for the queues among them; a set of the names. Errors: ctx's error and cause; [ErrInvalidArgument] for a nil ctx;
// [ErrClosed]; those of Redis.
func ReliableQueues(ctx context.Context, c *Client) iter.Seq2[string, error] {
	return reliable.Queues(ctx, c.e)
}

// Sharded returns a handle on the sharded map of that name, which is n hashes over
// the slots of a cluster; see [rmap.Sharded]. It asks nobody: a name, a number or
// an option that cannot be used is the error of its operations.
func Sharded[K comparable, V any](c *Client, name string, n int, opts ...rmap.Option) *rmap.Sharded[K, V] {
	return rmap.NewSharded[K, V](c.e, name, n, opts...)
}

// BoundedQueue returns a handle on the queue of that name that holds so many
// elements at most; see [queue.BoundedQueue]. It asks nobody: a name or an option
// that cannot be used is the error of its operations.
func BoundedQueue[T any](c *Client, name string, opts ...queue.Option) *queue.BoundedQueue[T] {
	return queue.NewBounded[T](c.e, name, opts...)
}

// RingBuffer returns a handle on the ring buffer of that name, which keeps so many of
// the newest elements; see [queue.RingBuffer]. It asks nobody: a name or an option
// that cannot be used is the error of its operations.
func RingBuffer[T any](c *Client, name string, opts ...queue.Option) *queue.RingBuffer[T] {
	return queue.NewRing[T](c.e, name, opts...)
}

// PriorityQueue returns a handle on the priority queue of that name, whose elements
// come by their scores; see [queue.PriorityQueue]. It asks nobody: a name or an option
// that cannot be used is the error of its operations.
func PriorityQueue[T any](c *Client, name string, opts ...queue.Option) *queue.PriorityQueue[T] {
	return queue.NewPriority[T](c.e, name, opts...)
}

// DelayedQueue returns a handle on the delayed queue of that name; see
// [queue.DelayedQueue]. It asks nobody: a name or an option that cannot be used is the
// error of its operations.
func DelayedQueue[T any](c *Client, name string, opts ...queue.Option) *queue.DelayedQueue[T] {
	return queue.NewDelayed[T](c.e, name, opts...)
}

// Stream returns a handle on the stream of that name, which groups of consumers read;
// see [queue.Stream]. It asks nobody: a name or an option that cannot be used is the
// error of its operations.
func Stream[K comparable, V any](c *Client, name string, opts ...queue.Option) *queue.Stream[K, V] {
	return queue.NewStream[K, V](c.e, name, opts...)
}

// ListMultimap returns a handle on the multimap of that name whose keys have lists
// of values; see [rmap.ListMultimap]. It asks nobody: a name or an option that
// cannot be used is the error of its operations.
func ListMultimap[K comparable, V any](c *Client, name string, opts ...rmap.MultimapOption) *rmap.ListMultimap[K, V] {
	return rmap.NewListMultimap[K, V](c.e, name, opts...)
}

// SetMultimap returns a handle on the multimap of that name whose keys have sets of
// values; see [rmap.SetMultimap].
func SetMultimap[K comparable, V any](c *Client, name string, opts ...rmap.MultimapOption) *rmap.SetMultimap[K, V] {
	return rmap.NewSetMultimap[K, V](c.e, name, opts...)
}
