package pubsub

import "time"

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
