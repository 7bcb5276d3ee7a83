// Package multimap is maps with several values for each key, which a fleet shares, Go and Java: typed, on the keys of
// Redisson's multimaps, byte for byte.
//
//	online := multimap.NewSet[string, string](c, "online") // who is in which room
//	if _, err := online.Put(ctx, "lobby", "ann"); err != nil {
//		return err
//	}
//	who, err := online.Get(ctx, "lobby")
//
// A [List] has a list of values for each key, in the order in which they were put. One value may be there several times. It
// is Redisson's RListMultimap. A [Set] has a set of values for each key. Two values are one if their bytes are equal. It is
// RSetMultimap. The keys of both may end ([List.Expire]), as those of RListMultimapCache, RSetMultimapCache and their
// CacheNative variants do. A map of slices (package rmap) is read and written as a whole.
//
// Handles do no I/O. The first operation returns the error of an invalid name or option. A handle holds nothing, so any
// number of goroutines may use it, and any number of handles on one name are the same multimap.
//
// # What it guarantees
//
// What is done to one key is one step on the server. A key is there as long as it has a value. A key that has ended is
// never seen, and a value that is put to it begins anew.
//
// A read sees every write that was answered before it was called. Reads are sent again when their reply is lost. A write
// is sent once, and returns [ErrOutcomeUnknown] if its reply is lost: it was done, or was not, or will be for as long as the
// connection may still deliver it. With [WithRequestIDs] writes are sent again, and count once, for 45 s. A write that the
// server refuses for a passing reason is sent again in any case: nothing was done. When ctx ends, its caller returns at
// once with ErrOutcomeUnknown; a request on its way may still be done.
//
// # What it does not guarantee
//
// What is about all keys is done 1,000 keys at a time, and is not of one moment. Walks see a key that is there throughout
// at least once. If the multimap moves to another server meanwhile, the walk begins anew, and keys come twice.
//
// Times of keys are of the clocks of the clients, as Redisson's: a key ends early or late by as much as the clocks of its
// writer and its reader differ. The clients that have called Expire sweep what has ended, within a second and a round trip
// while such a client lives. KeyLen counts what was not swept yet. With [WithNativeExpiry] the server does both: Redis 7.4
// or Valkey 9.
//
// A failover may forget the last writes, and a server that evicts keys the whole multimap: use maxmemory-policy
// noeviction. During a slot migration the servers postpone the scripts: a call waits as long as it is sent again, and then
// returns [ErrSlotMoving].
//
// # Keys and values
//
// Two keys are one key if their bytes are equal. Keys are text unless [WithKeyCodec] or [WithCodecs] say otherwise:
// strings as they are, integers in decimal, and types that have MarshalText; floats, interfaces and pointers are
// refused. Values are msgpack unless rueidisson.WithCodec, [WithCodec] or [WithValueCodec] say otherwise. For a value
// that another codec has written, operations return [ErrDecode], not a wrong value. The other values can be read:
// a walk yields it with rueidisson.ErrNotice and continues.
//
// # In Redis
//
//	name                               hash: key -> its id, the HighwayHash-128 of it as base64
//	{name}:<id>                        list or set: the values of a key
//	{name}:redisson_list_multimap_ttl  zset: key -> when it ends, ms, by the clients' clocks
//	{name}:redisson_set_multimap_ttl   the same, of sets
//
// A key is there if the hash has it with its id as the value, it has not ended, and it has a value. A field with another
// value is a map's, or another hash's: operations return [ErrWrongKind], and change nothing. Redisson leaves fields without
// values (its replaceValues with none), values without a field (its sweeper, where the name has braces), and ends without
// a field. They count for nothing, and the next write of the same key drops them. Reads never write.
//
// # Cost
//
// An operation on one key takes one script call. See docs/guide/maps.md for programs, docs/migrating.md for Java and the
// methods of Redisson, and docs/redis.md for keys and commands.
package multimap
