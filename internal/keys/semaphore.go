package keys

// SemaphoreChannel names the channel on which given permits of a semaphore are announced, by
// either library. The number of free ones is the name itself.
func SemaphoreChannel(name string) string { return Prefix("redisson_sc", name) }

// SemaphoreSet names the key that says when the permits of a semaphore were set last; Redisson has no such
// key.
func SemaphoreSet(name string) string { return Prefix("rueidisson_set", name) }

// SemaphoreOrder returns the fair lock by which the waiters of a semaphore queue over all
// processes; Redisson has no such key.
func SemaphoreOrder(name string) string { return Prefix("rueidisson_order", name) }

// Lane begins the keys in which the server remembers the last requests of a
// client about a name; Redisson has none.
func Lane(name, client string) string { return Prefix("rueidisson_lane", name) + ":" + client }

// CallerRequest returns the answer to a request about a semaphore or a latch that its caller
// may repeat; Redisson has no such key.
func CallerRequest(name, id string) string { return Prefix("rueidisson_request", name) + ":" + id }

// PermitLeases returns the permits of a semaphore that are held, by the end of their
// leases, for either library.
func PermitLeases(name string) string { return Suffix(name, "timeout") }

// PermitLabels returns the labels of permits that are held; Redisson has no such key.
func PermitLabels(name string) string { return Prefix("rueidisson_label", name) }
