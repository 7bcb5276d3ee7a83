package pubsub

import (
	"context"
	"errors"
	"time"
)

// Source is what a Hub needs of Redis.
type Source interface {
	// Locate finds out where channels have to be subscribed now. It is asked once by every caller that brings a
	// new channel, and once for all channels of a line at every check.
	Locate(ctx context.Context) (Where, error)
	// Connect opens a subscriber connection. Handler is told of its messages, one after another.
	Connect(ctx context.Context, line Line, handler Handler) (Conn, error)
}

// Where names the node on which a channel has to be subscribed. It answers from memory.
type Where func(Channel) (node string, err error)

// Handler is told what a connection receives, in the order in which it arrives and before the answer to any
// later command is given. It must not block.
type Handler interface {
	// Message reports a message to a channel that is subscribed. Name is that of the channel which it was published
	// to: for a pattern, one that matches.
	Message(of Channel, name, payload string)
	// Unsubscribed reports that the server ended a subscription, whether it was asked to or not.
	Unsubscribed(channel Channel)
}

// Conn is a subscriber connection. Only one of its methods is called at a time.
//
// Subscribe and Unsubscribe return when the server has answered for every channel. An error means that the
// connection is of no further use. Otherwise refused is nil if all were confirmed, or holds an error for each
// channel that was not, at its index: a *MovedError when another node serves it.
type Conn interface {
	Subscribe(ctx context.Context, channels []Channel) (refused []error, err error)
	Unsubscribe(ctx context.Context, channels []Channel) (refused []error, err error)
	// Same asks the server, where it has the subscription of, whether this still is the connection that all channels
	// were subscribed on: something in between may have put another in its place. An errUntold says that the server
	// does not tell for now.
	Same(ctx context.Context, of Channel) error
	// Done yields the reason, or is closed, when the connection has ended.
	Done() <-chan error
	// Release gives back a connection that works and has no subscription.
	Release()
	// Close ends the connection, whatever state it is in.
	Close()
}

// errUntold is a refusal of what Same asks. The connection may well be the same, and serve.
var errUntold = errors.New("pubsub: the server does not say whether the connection is the same")

// MovedError is the refusal of a node that does not serve a channel.
type MovedError struct {
	Addr string // the node that does
}

func (e *MovedError) Error() string { return "moved to " + e.Addr }

// EventKind says what happened to a subscription.
type EventKind uint8

const (
	// Message is a message published to the channel.
	Message EventKind = iota + 1
	// Resumed says that the subscription was interrupted and stands again. Messages may have been missed.
	Resumed
	// Alive says that every message from before Event.At has been told, as the server has answered a question of
	// then. It comes to those who joined by Vigil, and to them before Resumed never.
	Alive
	// Lost says that the subscription does not stand any more: its connection has ended, or its channel was sent
	// to another node. It comes to those who have asked by Subscription.Losses, and may be left out before Resumed.
	Lost
)

// Event is what a listener is told.
type Event struct {
	Kind    EventKind
	Payload string    // of a Message
	Name    string    // of the channel that a Message was published to: what matched, if a pattern is subscribed
	At      time.Time // of an Alive
}

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
