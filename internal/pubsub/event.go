package pubsub

// Kind says what happened to a subscription.
type Kind uint8

const (
	// Message is a message published to the channel.
	Message Kind = iota + 1
	// Resumed says that the subscription was interrupted and stands again. Messages may have been missed.
	Resumed
)

// Event is what a listener is told.
type Event struct {
	Kind    Kind
	Payload string // of a Message
}
