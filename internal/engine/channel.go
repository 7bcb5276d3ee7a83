package engine

import "github.com/rueidisson/rueidisson/internal/pubsub"

// Channel returns the channel of that name which scripts reach with Publish.
func (e *Engine) Channel(name string) pubsub.Channel { return e.channel(name) }

// Subscribed reports whether messages on the channel of that name come to this
// client.
func (e *Engine) Subscribed(name string) bool { return e.hub.Subscribed(e.channel(name)) }

// Hopeless reports whether saying again what met err would be in vain: a key is
// of another type, or the error is no server's.
func Hopeless(err error) bool { return hopeless(err) }
