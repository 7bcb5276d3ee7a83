package keys

// TopicTimeouts returns the groups of a reliable topic, by when they end, for either
// library. The messages are a stream, the name itself.
func TopicTimeouts(name string) string { return Suffix(name, "timeout") }

// TopicHolders returns a hash: the first message of a reliable topic, and how many groups
// still have use for it.
func TopicHolders(name string) string { return Prefix("rueidisson_topic_holders", name) }

// TopicMissed returns a hash: durable group of a reliable topic → how many messages were
// dropped that it had not been given, and that its subscribers were not told of.
func TopicMissed(name string) string { return Prefix("rueidisson_topic_missed", name) }

// TopicAgain returns a stream of messages that a durable group has put aside, and that come to it
// again: what was put aside is where it is of a group of a stream, see StreamDead.
func TopicAgain(name, group string) string {
	return Prefix("rueidisson_topic_again", name) + ":" + group
}
