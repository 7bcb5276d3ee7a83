package engine

import (
	"context"
	"time"
)

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
func (e *Engine) Decided(ctx context.Context, d Decision) {
	if e.Decisions == nil {
		return
	}
	d.Shadow = ctx != nil && ctx.Value(shadowed{}) != nil
	e.Decisions.Decided(ctx, d)
}

// InShadow marks decisions that are only looked at.
func InShadow(ctx context.Context) context.Context { return context.WithValue(ctx, shadowed{}, true) }

type shadowed struct{}

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
	Cache            string
	Expired, Evicted int64
	Busy, Written    bool
	Took             time.Duration
	Err              error
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
