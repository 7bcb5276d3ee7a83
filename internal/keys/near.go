package keys

// NearChannel names the channel on which near caches of a map are told what has changed.
func NearChannel(name string) string { return Suffix(name, "topic") }

// NearLog names the key that says what those read who were not there to hear it, if anybody has begun
// it.
func NearLog(name string) string { return Prefix("redisson__cache_updates_log", name) }

// NearDisabled names the key that says what transactions of Redisson's have disabled: keys, and whole
// caches.
func NearDisabled(name string) (keys, caches string) {
	return Suffix(name, "disabled-keys"), Suffix(name, "disabled-caches")
}

// NearAck names the key at which a transaction waits for those who have heard its request.
func NearAck(name, request string) string { return Suffix(name, request+":topic") }

// NearCleared returns the semaphore of one who waits until all near caches have dropped
// all; request is in hexadecimal digits.
func NearCleared(name, request string) string { return name + ":clear:" + request }
