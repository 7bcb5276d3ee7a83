package pubsub

// Kind says which of the server's channels of one name is meant. A message reaches its own kind only, except
// that a pattern hears the plain channels that match it.
type Kind uint8

const (
	// Plain is a channel of PUBLISH and SUBSCRIBE. In a cluster a message reaches the subscribers of all nodes.
	Plain Kind = iota
	// Sharded is a channel of SPUBLISH and SSUBSCRIBE. In a cluster it belongs to the shard of its slot.
	Sharded
	// Pattern is the plain channels whose names match, PSUBSCRIBE. The server compares every message of its own
	// with every pattern: a few are cheap, one for each of many objects is not.
	Pattern
)

// prefix returns what the kind's commands and confirmations begin with.
func (k Kind) prefix() string {
	switch k {
	case Sharded:
		return "s"
	case Pattern:
		return "p"
	}
	return ""
}

// Channel is what is subscribed: a name, and the kind of channel that it is the name of.
type Channel struct {
	Kind Kind
	Name string
}

// Line names a connection of the hub. Sharded channels have one of their own on each node, since rueidis does
// not tell a message of theirs from one of the plain channel of that name. Plain channels and patterns share
// theirs: a message that a pattern caught names it.
type Line struct {
	Node    string
	Sharded bool
}

// line returns the connection on which the channel is subscribed at a node.
func (c Channel) line(node string) Line { return Line{Node: node, Sharded: c.Kind == Sharded} }
