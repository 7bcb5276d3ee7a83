// Package multimap is what a multimap of rmap is on the server, in Redisson's
// format of RListMultimap and RSetMultimap and of their kinds whose keys end:
// names, scripts, and the sweeping of what has ended. It knows bytes only; package
// rmap puts types on top.
//
// # In Redis
//
//	name                               hash: key -> its id, the HighwayHash-128 of it as base64
//	{name}:<id>                        list or set: the values of a key
//	{name}:redisson_list_multimap_ttl  zset: key -> when it ends, ms, by the clients' clocks
//	{name}:redisson_set_multimap_ttl   the same, of sets
//
// # What is taken to be a key
//
// A key is there if the hash has it, it has not ended, and it has a value. What
// Redisson leaves beside that is of no account, and is dropped by the next write
// or walk: a field without values (its replaceValues with none), values without a
// field (its sweeper, where the name has braces), ends without a field.
package multimap
