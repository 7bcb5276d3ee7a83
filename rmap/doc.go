// Package rmap is maps that a fleet shares, Go and Java: typed, on the keys of Redisson's maps, byte for byte.
//
//	stock := rmap.New[string, Product](c, "products")
//	if err := stock.Put(ctx, "tea", Product{Price: 3}); err != nil {
//		return err
//	}
//	tea, there, err := stock.Get(ctx, "tea")
//
// # Which one do I need
//
// A [Map] is a hash: entries stay until they are removed. It is the fastest, and every server has it.
//
// A [TTLMap] is a Map whose entries may have times to live ([WithTTL]). The server itself expires them, to the
// millisecond: Redis 7.4, Valkey 9, or later. A Map on the same name reads it.
//
// A [Cache] is for older servers, and for what no server has: entries that expire when they were not used for a while,
// a bound on the number of entries, and events. Its entries cost two sorted sets and a header each, and every write is
// a script.
//
// A [Sharded] is a Map of many hashes, for one that is too large or too busy for one server of a cluster, and for near
// caches: a write then drops only the copies of the entries of its hash. It is not shared with Java.
//
// Package multimap has several values for each key, in a list or a set. A Map of slices would be read and written as a
// whole.
//
// Three packages are built on any of them, and on each other. Package rmap/nearcache answers reads from the process's
// memory, and knows when its copies are not valid any more. Package rmap/readthrough loads entries that do not exist from
// a source. Package rmap/writethrough writes changes to a store, before the map or after it.
//
// # What it promises
//
// A Get sees every write that was answered before it was called. Reads are sent again when their reply is lost. Writes
// are not: the second send comes later than its caller thinks, and would overwrite another client's write in between.
// After [ErrOutcomeUnknown] a write was done, or was not, or will be for as long as the connection may still deliver
// it. A Put that is right anyway may simply be called again; a Swap or an Add may not.
//
// With [WithRequestIDs] writes are sent again, and count once, for 45 s. A write that the server refuses for a passing
// reason is sent again in any case: nothing was done. When ctx ends, its caller returns at once with
// ErrOutcomeUnknown; a request on its way may still be done.
//
// # What it does not promise
//
// A failover may forget the last writes, and a server that evicts keys the whole map: use maxmemory-policy noeviction.
// All walks a map that others change: an entry that exists throughout comes at least once. If the map moves to another
// server meanwhile, by a failover or a slot migration, the walk begins anew, and entries come twice. An answer of a
// walk has about 1 MB, or one entry. Of servers before Redis 7.4 and Valkey 8.0 it may have one bucket of the server's
// hash table. A server that refuses INFO cannot be told from another. PutMany, GetMany and Remove of more than one
// command are not of one moment. Expire is about the whole map: an entry of a plain map has no time of its own. During
// a slot migration of a cache, or of a map that is written behind, the servers postpone its scripts, which have several keys:
// a call waits as long as it is sent again, and then returns [ErrSlotMoving].
//
// # Keys and values
//
// Two keys are one key if their bytes are equal. Keys are text unless [WithKeyCodec] or [WithCodecs] say otherwise:
// strings as they are, integers in decimal, and types that have MarshalText; floats, interfaces and pointers are
// refused. Values are msgpack unless rueidisson.WithCodec, [WithCodec] or [WithValueCodec] say otherwise. For a value
// that another codec has written, operations return [ErrDecode], not a wrong value. The other entries can be read.
//
// # Together
//
// Gets of one process on one map that come while another is on its way are sent as one HMGET, up to 256 of them and
// about 256 KB.
//
// Computes on one entry queue in the process, and functions may be called more than once. Processes take their
// chances: the first that writes wins, and one always does.
//
// # Caches
//
// An entry of a [Cache] expires when its time to live is over ([WithTTL]), or when it was not used for its idle time
// ([WithMaxIdle]). An expired entry is never returned, and no write counts it as existing. Times are of the clocks of
// the clients, as Redisson's: an entry expires early or late by as much as the clocks of its writer and its reader
// differ. So keep them in step (NTP). A client whose clock is ahead sweeps early, too.
//
// The server deletes nothing automatically: clients that wrote such entries, or listen, sweep. Expired entries are
// deleted within a second and a round trip while such a client lives. Len counts what was not swept yet.
//
// Each write of a new entry keeps a bound ([Cache.SetMaxSize]). Handles learn of a bound within a second. A bound by
// bytes ([Cache.SetMaxBytes]) is ours alone: Redisson is not bound by it.
//
// # Many slots
//
// A [Sharded] map of n is n hashes, each in a slot of its own. A handle with another n returns [ErrInvalidArgument]
// with both numbers. An operation on one entry behaves as on a Map. An operation on several is not of one moment and
// may be done in part.
//
// # Cost
//
// Get and Put take a command, or a share of one. Other writes, and those of a Cache, take a script call. Compute takes
// two calls.
//
// See docs/guide/maps.md and docs/guide/near-caches.md for programs, clocks, sweeps and limits, docs/migrating.md for
// Java and the methods of Redisson, and docs/redis.md for keys and commands.
package rmap
