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
// A key is there if the hash has it with its id as the value, it has not ended, and
// it has a value. A field with another value is a map's, or another hash's: scripts
// answer WRONGKIND, and change nothing. What Redisson leaves beside keys is of no
// account, and is dropped by the next write of the same key: a field without values
// (its replaceValues with none), values without a field (its sweeper, where the name
// has braces), ends without a field. Reads never write.
package multimap
