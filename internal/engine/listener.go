package engine

import (
	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// Listener hears channels for several waits behind each other, see [Watch]. It
// belongs to one goroutine at a time, but for Poke.
type Listener struct{ ear ear }

// NewListener returns a listener that is woken by the payloads that heard is
// true for. The courtesy, or nil, is told when it listens, and when messages may have been missed.
func (e *Engine) NewListener(heard func(payload string) bool, courtesy *handover.Courtesy) *Listener {
	return &Listener{*newEar(heard, courtesy)}
}

// Listens reports whether the listener is subscribed.
func (l *Listener) Listens() bool { return l.ear.listens() }

// Poke gives the waiters, and the next one, a reason to look.
func (l *Listener) Poke() { l.ear.wake() }

// Close leaves the channels.
func (l *Listener) Close() { l.ear.close() }

// Channel returns the channel of that name which scripts reach with Publish.
func (e *Engine) Channel(name string) pubsub.Channel { return e.channel(name) }

// Subscribed reports whether messages on the channel of that name come to this
// client.
func (e *Engine) Subscribed(name string) bool { return e.hub.Subscribed(e.channel(name)) }

// Hopeless reports whether saying again what met err would be in vain: a key is
// of another type, or the error is no server's.
func Hopeless(err error) bool { return hopeless(err) }
