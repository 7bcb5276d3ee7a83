package keys

// SemaphoreChannel is where given permits of a semaphore are announced, by
// either library. The number of free ones is the name itself.
func SemaphoreChannel(name string) string { return Prefix("redisson_sc", name) }

// Lane begins the keys in which the server remembers the last requests of a
// client about a name; Redisson has none.
func Lane(name, client string) string { return Prefix("rueidisson_lane", name) + ":" + client }

// PermitLeases are the permits of a semaphore that are held, by the end of their
// leases, for either library.
func PermitLeases(name string) string { return Suffix(name, "timeout") }
