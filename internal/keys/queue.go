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

// DelayList is what waits in a delayed queue, in the order in which it was offered.
func DelayList(name string) string { return Prefix("redisson_delay_queue", name) }

// DelayTimes is when the elements of a delayed queue are due.
func DelayTimes(name string) string { return Prefix("redisson_delay_queue_timeout", name) }

// DelayChannel is where it is announced when the first of them is.
func DelayChannel(name string) string { return Prefix("redisson_delay_queue_channel", name) }

// DelayAside is what stood among them and is no such element; Redisson has none.
func DelayAside(name string) string { return Prefix("rueidisson_delay_queue_aside", name) }
