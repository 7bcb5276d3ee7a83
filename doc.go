// Package rueidisson gives Go the distributed objects that Redisson gives Java,
// on Redis and Valkey through rueidis. A [Client] hands them out:
//
//	c, err := rueidisson.Open("redis://127.0.0.1:6379")
//	if err != nil {
//		return err
//	}
//	defer c.Close(ctx)
//
//	hold, err := c.Lock("order:42").Lock(ctx) // ctx bounds the wait, not the hold
//	if err != nil {
//		return err
//	}
//	defer hold.Unlock(ctx)
//	return bill(hold.Context(ctx)) // ends before the server gives the lock away
//
// Today that is the reentrant lock, see package lock. Objects stand on the same
// keys as those of Redisson 4.x, so that Go and Java can share them.
//
// # What can be relied on
//
// Operations fail closed. A hold's context ends before the server may give the
// lock to another, also when the network is silent or the process was paused;
// see package lock for what that means to the millisecond. Every operation is
// safe to send twice, or is sent once and says with [ErrUnknown] that its reply
// was lost.
//
// On one server, and on the master of a shard while it lives, a lock excludes.
// Replication is asynchronous: a failover may forget the last holds, whose
// holders learn that at their next renewal, a third of the watchdog timeout
// later. [WithReplicaAcks] makes that less likely, not impossible. The same
// goes for a server that restarts without having saved its data. Where two
// holders at once would do harm, let what they write to refuse the older one.
//
// # Topologies
//
// The client works with one server, with a master behind Sentinels, and with a
// cluster. On a cluster a name must keep its derived keys in one slot: it has
// no braces at all, or its first hash tag is well formed and not empty. Other
// names are refused with [ErrOption]. Releases are announced on sharded
// channels where the cluster has them, see [WithShardedPubSub].
//
// Needed are Redis 7.0 or Valkey 7.2, or later, and the right to run scripts.
// An ACL must allow the objects' names as keys, redisson_* and rueidisson_* as
// keys, and redisson_* as channels.
//
// # Errors
//
// An error names the operation and the object, and wraps what a program
// branches on: the package's sentinels, the context's error and its cause, or
// the error of Redis or of the network.
package rueidisson
