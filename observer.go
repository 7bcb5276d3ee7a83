package rueidisson

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// Observer is told what a client does, for metrics and traces. Its methods are
// called on the very paths that they describe, by many goroutines at once: they
// must be quick, and must not call back into the client. kind is the kind of
// object ("lock"), name its name in Redis.
type Observer interface {
	// WaitStarted is called when a caller has to wait: the lock is held, by
	// another process or in this one.
	WaitStarted(ctx context.Context, kind, name string)
	// WaitEnded is called when that wait is over. err is nil if it ended with
	// the lock.
	WaitEnded(ctx context.Context, kind, name string, waited time.Duration, err error)
	// Acquired is called for each hold but re-entries. handed says that it
	// came from another goroutine of this client, without a round trip.
	Acquired(ctx context.Context, kind, name string, handed bool)
	// Released is called when the last level of a hold was unlocked. handed
	// says that it went to another goroutine of this client.
	Released(ctx context.Context, kind, name string, handed bool)
	// Lost is called when a hold ended without its holder's doing.
	Lost(kind, name string, cause error)
	// Renewed is called for each batch of renewals.
	Renewed(holds int, took time.Duration, err error)
	// ScriptRan is called for each script call, with all its re-sends.
	ScriptRan(ctx context.Context, script string, took time.Duration, sends int, err error)
}

var _ engine.Observer = Observer(nil)
