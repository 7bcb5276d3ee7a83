package keys

// The keys beside the hash of a cache, which is the name itself, as Redisson
// spells them.

// MapTimes names the key that says when entries end, by their time to live.
func MapTimes(name string) string { return Prefix("redisson__timeout__set", name) }

// MapRests names the key that says when entries end that are not used.
func MapRests(name string) string { return Prefix("redisson__idle__set", name) }

// MapAccesses names the key that says when entries of a bounded cache were last used, or how often.
func MapAccesses(name string) string { return Prefix("redisson__map_cache__last_access__set", name) }

// MapOptions names the key that says what holds for the whole cache.
func MapOptions(name string) string { return Suffix(name, "redisson_options") }

// SweepLatch returns the latch of the process that sweeps.
func SweepLatch(name string) string { return Prefix("redisson__execute_task_once_latch", name) }

// MapLease begins the leases of those who load an entry.
func MapLease(name string) string { return Prefix("redisson__map__lease", name) + ":" }
