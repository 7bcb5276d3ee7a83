package core

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Work names what a request was to do, for the log and the observer.
type Work struct {
	Kind   string // of the object, as observers are told
	Name   string // in Redis
	Op     string // such as "release" or "count down"
	Amount int64  // such as the number of permits
}

// GaveUp is work that the client was to go on with, and stopped.
type GaveUp struct {
	Work
	Err error // why
}

// DeferralObserver is told what was given up, as the root package says.
type DeferralObserver interface {
	GaveUp(GaveUp)
}

// Observer is told what happens. Its methods are called on the paths that they
// describe, so they must be quick and must not call back into the client. The
// root package declares the same interface with its documentation.
type Observer interface {
	WaitStarted(ctx context.Context, kind, name string)
	WaitEnded(ctx context.Context, kind, name string, waited time.Duration, err error)
	Acquired(ctx context.Context, kind, name string, handed bool)
	Released(ctx context.Context, kind, name string, handed bool)
	Lost(kind, name string, cause error)
	Renewed(holds int, took time.Duration, err error)
	ScriptRan(ctx context.Context, script string, took time.Duration, sends int, err error)
}

// DecisionObserver is told what rate limiters decide, as the root package says.
type DecisionObserver interface {
	Decided(ctx context.Context, d Decision)
}

// Decision is what a rate limiter made of one request.
type Decision struct {
	Limiter  string
	Tokens   int64
	Allowed  bool
	Together int
	Fallback bool
	Shadow   bool
	Err      error
}

// Decided tells of a decision, if there is an observer who wants to hear of them.
func (c *Core) Decided(ctx context.Context, d Decision) {
	if c.Decisions == nil {
		return
	}
	d.Shadow = ctx != nil && ctx.Value(shadowed{}) != nil
	c.Decisions.Decided(ctx, d)
}

// InShadow marks decisions that are only looked at.
func InShadow(ctx context.Context) context.Context { return context.WithValue(ctx, shadowed{}, true) }

type shadowed struct{}

// OutcomeObserver is told of what was refused, and of what nobody knows whether it was
// done, as the root package says.
type OutcomeObserver interface {
	Refused(kind, name string)
	Unknown(kind, name, operation string, err error)
}

// Outcome tells the observer of an operation that ended with err, if that is a refusal or
// an unknown outcome. Op is what the error says that it was.
func (c *Core) Outcome(kind, name, op string, err error) {
	switch {
	case c.Outcomes == nil || err == nil:
	case errors.Is(err, ErrOutcomeUnknown):
		c.Outcomes.Unknown(kind, name, strings.TrimSuffix(strings.TrimSuffix(op, " of"), " to"), err)
	case errors.Is(err, ErrNotAcquired):
		c.Outcomes.Refused(kind, name)
	}
}

// CacheObserver is told what becomes of the entries of caches, as the root
// package says.
type CacheObserver interface {
	Swept(ctx context.Context, s Sweep)
	Heard(ctx context.Context, cache, kind string)
	Loaded(ctx context.Context, l Load)
	Near(ctx context.Context, n NearCounts)
	Wrote(ctx context.Context, w Write)
}

// NearCounts is what a near cache has done since it was told of last.
type NearCounts struct {
	Cache                           string
	Hits, Misses, Drops, WholeDrops int64
}

// Load is what became of one call of a loader.
type Load struct {
	Map    string
	Took   time.Duration
	Absent bool
	Ahead  bool
	Err    error
}

// Write is what became of one call of the writer of a map.
type Write struct {
	Map     string
	Changes int
	Behind  bool
	Attempt int
	Dead    bool
	Queued  int64
	Took    time.Duration
	Err     error
}

// Sweep is what became of one visit to a cache, or of one write that evicted.
type Sweep struct {
	Kind, Cache      string
	Expired, Evicted int64
	Busy, Written    bool
	ClockAhead       time.Duration
	Took             time.Duration
	Err              error
}

// BatchObserver is told of calls that go to the server together, as the root package says.
type BatchObserver interface {
	CallsSent(kind string, calls int)
}

// Sent returns what the tables of combined calls on objects of a kind tell of each exchange, nil if nobody wants to hear of it.
func (c *Core) Sent(kind string) func(calls int) {
	if c.Batches == nil {
		return nil
	}
	return func(calls int) { c.Batches.CallsSent(kind, calls) }
}

// MessageObserver is told what becomes of the messages of reliable queues, as the
// root package says.
type MessageObserver interface {
	Added(ctx context.Context, queue string, messages int)
	Settled(ctx context.Context, s Settled)
}

// Settled is what became of a message that this client had.
type Settled struct {
	Queue   string
	Attempt int
	Outcome string
	Took    time.Duration
	Err     error
}

// QueueObserver is told what becomes of the elements of queues, streams and topics, as the
// root package says.
type QueueObserver interface {
	Offered(ctx context.Context, kind, name string, elements int)
	Taken(ctx context.Context, t Taken)
	Missed(kind, name string, elements int64)
}

// Taken is elements that this client has taken.
type Taken struct {
	Kind, Name string
	Elements   int
	Waited     time.Duration
}

// Offered tells of elements that were offered, if there is an observer who wants to hear of them.
func (c *Core) Offered(ctx context.Context, kind, name string, elements int) {
	if c.Queues != nil && elements > 0 {
		c.Queues.Offered(ctx, kind, name, elements)
	}
}

// Taken tells of elements that were taken, of which nobody knows how long they have waited.
func (c *Core) Taken(ctx context.Context, kind, name string, elements int) {
	if c.Queues != nil && elements > 0 {
		c.Queues.Taken(ctx, Taken{kind, name, elements, -1})
	}
}

// firstStreams is when the first server with streams was released, ms: an ID before is none
// that a server has chosen.
const firstStreams = 1_530_000_000_000

// TakenEntry tells of an entry of a stream that was taken, whose ID may say when it was added.
func (c *Core) TakenEntry(ctx context.Context, kind, name, id string) {
	if c.Queues == nil {
		return
	}
	t := Taken{kind, name, 1, -1}
	text, _, _ := strings.Cut(id, "-")
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms >= firstStreams {
		t.Waited = time.Duration(max(c.Wall()-ms, 0)) * time.Millisecond
	}
	c.Queues.Taken(ctx, t)
}

// Missed tells of messages that were dropped before a loop had them.
func (c *Core) Missed(kind, name string, elements int64) {
	if c.Queues != nil {
		c.Queues.Missed(kind, name, elements)
	}
}

// HandlerObserver is around the handlers of reliable queues, as the root package says.
type HandlerObserver interface {
	Handling(ctx context.Context, h Handling) (context.Context, func(Handled))
}

// Handling is a message whose handler is about to begin.
type Handling struct {
	Queue   string
	ID      int64
	Attempt int
	Header  map[string]string
}

// Handled is what became of it.
type Handled struct {
	Outcome   string
	Took      time.Duration
	Err       error
	Unsettled error
}
