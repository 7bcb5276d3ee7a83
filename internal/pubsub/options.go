package pubsub

import (
	"log/slog"
	"time"
)

// Options tune a Hub. A zero field means its default.
type Options struct {
	// Linger is how long a channel stays subscribed after its last listener left, unless too many messages come
	// that nobody hears. The default is 1s; a negative value means not at all.
	Linger time.Duration
	// RetryMin and RetryMax bound the jittered back-off between failing attempts. The defaults are 50ms and 1s.
	RetryMin, RetryMax time.Duration
	// Timeout bounds what the hub itself asks of a server: to connect, to answer an exchange, to locate the
	// channels of a node. The default is 5s.
	Timeout time.Duration
	// Check is how often a worker asks where its channels belong now, and whether its server still answers.
	// The default is 10s.
	Check time.Duration
	// Logger gets what nobody else is told, at Debug. Nil logs nothing.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	setDefault(&o.Linger, time.Second)
	setDefault(&o.RetryMin, 50*time.Millisecond)
	setDefault(&o.RetryMax, time.Second)
	setDefault(&o.Timeout, 5*time.Second)
	setDefault(&o.Check, 10*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}
