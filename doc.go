// Package rueidisson gives Go the distributed objects that Redisson gives Java,
// on Redis and Valkey through rueidis. A [Client] is shared by all of them:
//
//	c, err := rueidisson.Open("redis://127.0.0.1:6379")
//	if err != nil {
//		return err
//	}
//	defer c.Close(ctx)
//
//	return lock.Do(ctx, c.Lock("order:42"), func(ctx context.Context) error {
//		return bill(ctx) // ctx ends before the server gives the lock away
//	})
//
// One client is enough for a process: objects of one name work together inside of it, and save
// round trips by that.
//
// # Objects
//
// Objects that coordinate come from the client. Objects that hold data come from their packages, which take the client.
//
//   - [Client.Lock]: one holder at a time, re-entered through the context
//   - [Client.FairLock]: the same, in the order of arrival over all processes
//   - [Client.FencedLock]: the same, with tokens that keep late writers out; see
//     [Client.FenceGuard]
//   - [Client.RWLock]: many readers, or one writer
//   - [Client.MultiLock]: several locks at once, or none of them
//   - [Client.LockGroup]: many locks under one name, several at once
//   - [redlock.New]: one lock on several servers; more than half have to agree
//   - [Client.Election]: one leader of a fleet, which all processes can observe
//   - [Client.Semaphore]: at most n at the same time, or a stock
//   - [Client.PermitSemaphore]: the same with leases: the permits of a process that dies come
//     back
//   - [Client.Latch]: waits until a count is down to 0
//   - [Client.Barrier]: n parties wait for each other, again and again
//   - [Client.DoubleBarrier]: n parties enter together and leave together
//   - [Client.RateLimiter]: n in a time, for each key, with a burst
//   - [Client.RedissonRateLimiter]: the same on the keys of Redisson's RRateLimiter
//   - [rmap.New]: a typed map, with Compute
//   - [rmap.NewTTLMap]: the same with times to live, which the server keeps
//   - [rmap.NewCache]: the same on any server, with a bound, idle times and events
//   - [rmap.NewSharded]: a map over all servers of a cluster
//   - [nearcache.New]: a map with copies of its entries in the process
//   - [readthrough.New]: a map that loads what is absent
//   - [writethrough.New]: a map that writes to a store, at once or later
//   - [multimap.NewList]: a list of values for each key
//   - [multimap.NewSet]: a set of values for each key
//   - [counter.New]: an integer of the fleet: adds are exact, and go together
//   - [counter.NewFloat]: a floating point number
//   - [counter.NewAdder]: a count without a round trip for each add
//   - [counter.NewIDs]: ids, each only once
//   - [counter.NewDistinct]: about how many different values there were
//   - [bucket.New]: one value, with Update
//   - [bucket.NewMany]: the values of many names
//   - [bucket.NewBytes]: bytes that are read and written as a file is
//   - [bucket.NewJSON]: a JSON document, read and written by paths; it needs the module RedisJSON
//   - [bloom.New]: a Bloom filter: was it perhaps seen before?
//   - [set.New]: members, with unions, intersections and differences
//   - [set.NewCache]: members with times to live
//   - [sortedset.New]: members in the order of their scores
//   - [sortedset.NewLex]: texts in their order
//   - [sortedset.NewGeo]: places on the earth, and what is near them
//   - [timeseries.New]: values by time
//   - [list.New]: elements by index
//   - [bitset.New]: bits, and numbers of some bits each
//   - [keyspace.New]: all keys: list, count and delete by pattern
//   - [queue.New]: a queue and deque, each element for one taker
//   - [queue.NewBounded]: the same with a capacity
//   - [queue.NewRing]: the newest n elements
//   - [queue.NewPriority]: elements by score
//   - [queue.NewDelayed]: elements that enter a queue at their time
//   - [stream.New]: a log that groups of consumers read
//   - [reliable.New]: jobs, with leases, retries, delays, priorities and groups
//   - [topic.New]: messages for all present listeners
//   - [topic.NewPattern]: the messages of all topics whose names match
//   - [topic.NewSharded]: the same as a topic, within a shard of a cluster
//   - [topic.NewReliable]: messages that are kept until every subscriber has handled them
//
// A handle does no I/O and has no state: make it where it is needed. Its first operation returns
// the error of an invalid name or option. [Client.Batch] sends operations of any objects as one pipeline.
//
// Objects that Redisson 4.x has, too, use the same keys, so that Go and Java take part in the same objects.
//
// # Guarantees
//
// Operations fail closed. A hold's context ends before another client can acquire the lock, also
// when the network is silent or the process was paused; package lock describes that to the
// millisecond. Every operation is safe to send twice, or is sent once and returns
// [ErrOutcomeUnknown] if its reply was lost.
//
// A release that the server refuses, or does not answer, is not dropped: the client continues until the server
// accepts it, and the call returns [ErrDeferred]. Unlock and Close return at most 250 ms after their contexts end.
//
// On one server, and on the master of a shard while it lives, a lock excludes. Replication is
// asynchronous: a failover may forget the last holds, whose holders learn that at their next
// renewal, a third of the watchdog timeout later. [WithReplicaAcks] makes that less likely, not
// impossible. The same is true of a server that restarts without having saved its data. If two
// holders at once would do harm, let the store that they write to refuse the older one.
//
// A server that evicts keys when its memory is full breaks all of this: a hold is a key with a time to live.
// Use maxmemory-policy noeviction.
//
// # Topologies
//
// The client works with one server, with a master behind Sentinels, and with a
// cluster. On a cluster a name must keep its derived keys in one slot: it has
// no braces at all, or its first hash tag is well formed and not empty. Other
// names are refused with [ErrInvalidArgument]. Releases are announced on sharded
// channels where the cluster has them, see [WithShardedPubSub].
//
// # Errors
//
// An error names the operation and the object. It wraps the errors that a program branches on: the
// package's sentinels, the context's error and its cause, or the error of Redis or of the network.
//
// See docs/guide/README.md for programs, docs/redis.md for servers, keys, commands and ACLs, and docs/limits.md for limits.
//
// [redlock.New]: https://pkg.go.dev/github.com/rueidisson/rueidisson/redlock#New
// [rmap.New]: https://pkg.go.dev/github.com/rueidisson/rueidisson/rmap#New
// [rmap.NewTTLMap]: https://pkg.go.dev/github.com/rueidisson/rueidisson/rmap#NewTTLMap
// [rmap.NewCache]: https://pkg.go.dev/github.com/rueidisson/rueidisson/rmap#NewCache
// [rmap.NewSharded]: https://pkg.go.dev/github.com/rueidisson/rueidisson/rmap#NewSharded
// [nearcache.New]: https://pkg.go.dev/github.com/rueidisson/rueidisson/rmap/nearcache#New
// [readthrough.New]: https://pkg.go.dev/github.com/rueidisson/rueidisson/rmap/readthrough#New
// [writethrough.New]: https://pkg.go.dev/github.com/rueidisson/rueidisson/rmap/writethrough#New
// [multimap.NewList]: https://pkg.go.dev/github.com/rueidisson/rueidisson/multimap#NewList
// [multimap.NewSet]: https://pkg.go.dev/github.com/rueidisson/rueidisson/multimap#NewSet
// [counter.New]: https://pkg.go.dev/github.com/rueidisson/rueidisson/counter#New
// [counter.NewFloat]: https://pkg.go.dev/github.com/rueidisson/rueidisson/counter#NewFloat
// [counter.NewAdder]: https://pkg.go.dev/github.com/rueidisson/rueidisson/counter#NewAdder
// [counter.NewIDs]: https://pkg.go.dev/github.com/rueidisson/rueidisson/counter#NewIDs
// [counter.NewDistinct]: https://pkg.go.dev/github.com/rueidisson/rueidisson/counter#NewDistinct
// [bucket.New]: https://pkg.go.dev/github.com/rueidisson/rueidisson/bucket#New
// [bucket.NewMany]: https://pkg.go.dev/github.com/rueidisson/rueidisson/bucket#NewMany
// [bucket.NewBytes]: https://pkg.go.dev/github.com/rueidisson/rueidisson/bucket#NewBytes
// [bucket.NewJSON]: https://pkg.go.dev/github.com/rueidisson/rueidisson/bucket#NewJSON
// [bloom.New]: https://pkg.go.dev/github.com/rueidisson/rueidisson/bloom#New
// [set.New]: https://pkg.go.dev/github.com/rueidisson/rueidisson/set#New
// [set.NewCache]: https://pkg.go.dev/github.com/rueidisson/rueidisson/set#NewCache
// [sortedset.New]: https://pkg.go.dev/github.com/rueidisson/rueidisson/sortedset#New
// [sortedset.NewLex]: https://pkg.go.dev/github.com/rueidisson/rueidisson/sortedset#NewLex
// [sortedset.NewGeo]: https://pkg.go.dev/github.com/rueidisson/rueidisson/sortedset#NewGeo
// [timeseries.New]: https://pkg.go.dev/github.com/rueidisson/rueidisson/timeseries#New
// [list.New]: https://pkg.go.dev/github.com/rueidisson/rueidisson/list#New
// [bitset.New]: https://pkg.go.dev/github.com/rueidisson/rueidisson/bitset#New
// [keyspace.New]: https://pkg.go.dev/github.com/rueidisson/rueidisson/keyspace#New
// [queue.New]: https://pkg.go.dev/github.com/rueidisson/rueidisson/queue#New
// [queue.NewBounded]: https://pkg.go.dev/github.com/rueidisson/rueidisson/queue#NewBounded
// [queue.NewRing]: https://pkg.go.dev/github.com/rueidisson/rueidisson/queue#NewRing
// [queue.NewPriority]: https://pkg.go.dev/github.com/rueidisson/rueidisson/queue#NewPriority
// [queue.NewDelayed]: https://pkg.go.dev/github.com/rueidisson/rueidisson/queue#NewDelayed
// [stream.New]: https://pkg.go.dev/github.com/rueidisson/rueidisson/stream#New
// [reliable.New]: https://pkg.go.dev/github.com/rueidisson/rueidisson/queue/reliable#New
// [topic.New]: https://pkg.go.dev/github.com/rueidisson/rueidisson/topic#New
// [topic.NewPattern]: https://pkg.go.dev/github.com/rueidisson/rueidisson/topic#NewPattern
// [topic.NewSharded]: https://pkg.go.dev/github.com/rueidisson/rueidisson/topic#NewSharded
// [topic.NewReliable]: https://pkg.go.dev/github.com/rueidisson/rueidisson/topic#NewReliable
package rueidisson
