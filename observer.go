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

// DecisionObserver is an Observer that hears what rate limiters decide, too.
// [WithObserver] asks once whether an observer is one: what wraps an Observer
// has to hand Decided on.
type DecisionObserver interface {
	Observer

	// Decided is called for each request for tokens that are wanted now or
	// waited for, but not for charges, refunds and looks. It is on the path of
	// the request, before that is answered, but for a limit in shadow, which
	// nobody waits for. Of several limits that are decided together each is told
	// by itself.
	Decided(ctx context.Context, d Decision)
}

// Decision is what a rate limiter made of one request. It has nothing of the key
// that it was about.
type Decision struct {
	// Limiter is the limiter's name in Redis.
	Limiter string

	// Tokens is how many were wanted. Where up to that many were, and some were
	// granted, it is how many those are.
	Tokens int64

	// Allowed says whether they were granted; of one of several limits, whether
	// this one alone would have. A wait is allowed once its tokens are reserved.
	Allowed bool

	// Together is how many requests, refunds and looks of this process the
	// server was asked about in one call, this one among them: 1 if alone. 0
	// says that the server was not asked: the decision was made in the process.
	Together int

	// Fallback says that the server could not be asked, and that what the
	// limiter falls back to decided.
	Fallback bool

	// Shadow says that the decision is only looked at, and nothing is done
	// because of it.
	Shadow bool

	// Err is why there is no decision, such as a server that cannot be reached,
	// or a request for more than a full bucket holds. Allowed is false then.
	Err error
}

// decisions hands on what the engine tells.
type decisions struct{ to DecisionObserver }

func (o decisions) Decided(ctx context.Context, d engine.Decision) { o.to.Decided(ctx, Decision(d)) }
