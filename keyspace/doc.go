// Package keyspace is all keys of a server or cluster: it lists, counts and deletes them by pattern, and does to many keys at once
// what is done to keys of any type. It is Redisson's RKeys.
//
//	keys := keyspace.New(c)
//	for name, err := range keys.All(ctx, keyspace.WithMatch("session:*")) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(name)
//	}
//	n, err := keys.DeleteMatch(ctx, "session:*", keyspace.WithPace(0.5))
//
// # Which one
//
// What one object has is deleted, renamed and timed by its own methods, since it may have several keys: a lock's queue, a cache's
// times. This package sees keys. It serves for cleaning up, for migrations and for a look at what there is. It is
// no index: a walk looks at all keys of the server, also where few match. Names that a program needs to find again belong in a map
// or a set.
//
// # What it promises
//
// A walk hands on each key that is there from its beginning to its end at least once: also if slots of a cluster move, a replica
// takes over or a server restarts meanwhile. Then it looks again where it has looked before. If that is not possible it returns
// an error, and never ends early without one. What is made, deleted or renamed during the walk may come or not. A key may come more
// than once.
//
// No call stops the server for longer than it takes to look at 1,000 keys, or to unlink as many: a millisecond or so. Their
// values are freed in the background.
//
// [Keys.DeleteMatch] deletes what [Keys.All] finds. It refuses a pattern that matches every name without [WithEverything].
//
// # What it does not promise
//
// A walk is no moment: what it tells was never so all at once. Counts of a walk are exact while nothing changes.
//
// A key that is deleted and made again while DeleteMatch runs may be deleted again. A write is sent once: after
// [ErrOutcomeUnknown] it may be done still.
//
// A failover forgets what the new master did not know, deletions, too: keys may be back.
//
// While a slot is given from one server to another and taken back within one walk, keys may be passed over.
//
// # Names
//
// With rueidisson.WithNameMapper names and patterns are those of the program, and only keys that the mapper makes of a name are
// listed, counted and deleted: never those of another program on the server. The mapper has to put the same text
// before each name, or after it; with any other one walks return [ErrInvalidArgument]. Further keys of objects, such as
// redisson_lock_queue:{name}, have no name then, and are not seen.
//
// Handles do no I/O. See docs/guide/values.md for programs, and docs/redis.md for the keys of objects.
package keyspace
