package keys

// EntryLock returns the lock of one entry of a map, of which key is the encoded key,
// by either library. It has braces of its own, so that what is derived from it
// keeps them.
func EntryLock(name, key string) string { return Suffix(name, GroupField(key)+":lock") }

// MapDone remembers the answer to one request about a map, so that a second run
// of it changes nothing; Redisson has none.
func MapDone(name, request string) string { return Prefix("rueidisson_map_done", name) + ":" + request }

// MapClaim says which Compute of an entry goes before others, as it has lost to them for
// long; Redisson has none.
func MapClaim(name, key string) string { return Prefix("rueidisson_map_claim", name) + ":" + key }

// MapLoad returns the lease of who loads an entry of a map that is no cache: what
// Redisson has for caches alone; see MapLease.
func MapLoad(name, key string) string { return Prefix("rueidisson_map_lease", name) + ":" + key }

// MapWrites returns the stream of changes that are to be written to a store.
func MapWrites(name string) string { return Suffix(name, "rueidisson_writes") }

// MapPending names the key that says which change of an entry is the last of those.
func MapPending(name string) string { return Suffix(name, "rueidisson_pending") }

// MapDead returns the stream of those that the store has not taken.
func MapDead(name string) string { return Suffix(name, "rueidisson_dead") }

// MapDeadLast names the key that says which of those is the last of an entry, as long as the store has
// nothing newer of it.
func MapDeadLast(name string) string { return Suffix(name, "rueidisson_dead_last") }

// MapDrain returns the fenced lock of who writes them.
func MapDrain(name string) string { return Suffix(name, "rueidisson_drain") }

// MapLoaded returns the channel on which it is told what came of a load.
func MapLoaded(name, key string) string {
	return Prefix("rueidisson_map_loaded", name) + ":" + GroupField(key)
}
