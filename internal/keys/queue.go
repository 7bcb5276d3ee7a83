package keys

// QueueDone remembers one request about a queue, so that a second run of it
// changes nothing; Redisson has none.
func QueueDone(name, request string) string {
	return Prefix("rueidisson_queue_done", name) + ":" + request
}

// BoundedSlots is how many elements a bounded queue has room for.
func BoundedSlots(name string) string { return Prefix("redisson_bqs", name) }

// BoundedChannel is where it is announced that a bounded queue has room.
func BoundedChannel(name string) string { return SemaphoreChannel(BoundedSlots(name)) }

// RingCapacity is how many elements a ring buffer holds.
func RingCapacity(name string) string { return Prefix("redisson_rb", name) }
