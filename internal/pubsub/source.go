package pubsub

import (
	"context"
	"errors"
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
