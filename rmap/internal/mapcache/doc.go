// Package mapcache is what a cache of rmap is on the server, in Redisson's
// format of RMapCache: packed values, scripts, events, and the sweeping of what
// has expired. It knows bytes only; package rmap puts types on top.
//
// # In Redis
//
//	name                                          hash: key -> header and value
//	redisson__timeout__set:{name}                 zset: key -> when it ends, ms
//	redisson__idle__set:{name}                    zset: key -> when it has rested for too long, ms
//	redisson__map_cache__last_access__set:{name}  zset: key -> last access, ms, or how many; of a bounded cache
//	{name}:redisson_options                       hash: max-size, mode, has-listeners
//	redisson__map__lease:{name}:<key>             string: who loads the entry; every write and removal deletes it
//	redisson__execute_task_once_latch:{name}      string: who sweeps
//
// Times are of the clients' clocks, as Redisson's are.
//
// # What is taken to be an entry
//
// A field of the hash lives unless its end is not later than now, or it has an
// idle time, in its header, and has rested for too long. What stands in the sets
// beside that is of no account: Redisson leaves members there that would end
// living entries.
package mapcache
