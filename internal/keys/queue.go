package keys

// QueueDone remembers one request about a queue, so that a second run of it
// changes nothing; Redisson has none.
func QueueDone(name, request string) string {
	return Prefix("rueidisson_queue_done", name) + ":" + request
}

// BoundedSlots names the key that says how many elements a bounded queue has room for.
func BoundedSlots(name string) string { return Prefix("redisson_bqs", name) }

// BoundedChannel names the channel on which it is announced that a bounded queue has room.
func BoundedChannel(name string) string { return SemaphoreChannel(BoundedSlots(name)) }

// StreamDead names the key that says what a group of a stream has put aside.
func StreamDead(name, group string) string {
	return Prefix("rueidisson_stream_dead", name) + ":" + group
}

// StreamReturned names the channel on which it is announced that entries of a stream were given back.
func StreamReturned(name string) string { return Prefix("rueidisson_stream_returned", name) }

// RingCapacity names the key that says how many elements a ring buffer holds.
func RingCapacity(name string) string { return Prefix("redisson_rb", name) }

// DelayList names the key that says what waits in a delayed queue, in the order in which it was offered.
func DelayList(name string) string { return Prefix("redisson_delay_queue", name) }

// DelayTimes names the key that says when the elements of a delayed queue are due.
func DelayTimes(name string) string { return Prefix("redisson_delay_queue_timeout", name) }

// DelayChannel names the channel on which it is announced when the first of them is.
func DelayChannel(name string) string { return Prefix("redisson_delay_queue_channel", name) }

// DelayDues names the key that says when the elements of a delayed queue of our own format are due: ids by
// time. Redisson has none of the four.
func DelayDues(name string) string { return Prefix("rueidisson_delay_dues", name) }

// DelayElements returns the elements themselves, by their ids.
func DelayElements(name string) string { return Prefix("rueidisson_delay_elements", name) }

// DelayIndex returns the ids of the elements, those of equal ones beside each other.
func DelayIndex(name string) string { return Prefix("rueidisson_delay_index", name) }

// DelayNews names the channel on which it is announced when the first of them is due.
func DelayNews(name string) string { return Prefix("rueidisson_delay_channel", name) }

// DelayAside names the key that says what stood among them and is no such element; Redisson has none.
func DelayAside(name string) string { return Prefix("rueidisson_delay_queue_aside", name) }
