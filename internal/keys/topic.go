package keys

// TopicTimeouts are the groups of a reliable topic, by when they end, for either
// library. The messages are a stream, the name itself.
func TopicTimeouts(name string) string { return Suffix(name, "timeout") }
