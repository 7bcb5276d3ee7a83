package rueidisson

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
)

// Observer is told what a client does, for metrics and traces. Its methods are
// called on the very paths that they describe, by many goroutines at once: they
// must be quick, and must not call back into the client. kind is the kind of
// object, name its name in Redis. Of kinds there are
//
//   - locks: "lock", "fenced", "fair", "election" (who leads holds), "read" and
//     "write" (of an RWLock), "group" (of multilock). All calls are made for them.
//   - "order", the fair lock of a semaphore with semaphore.WithFleetOrder: all calls.
//   - "permit", of a PermitSemaphore: all calls; handed is always false.
//   - "semaphore": all calls but Lost, since its permits have no owner. An acquire
//     is one, of however many permits.
//   - "latch" and "barrier": WaitStarted and WaitEnded only.
//   - "reliable queue": all calls; a message that this client has is a hold. handed
//     is always false.
//
// Of other objects only ScriptRan tells, which has no kind, and the optional interfaces.
type Observer interface {
	// WaitStarted is called when a caller has to wait: the lock is held, by
	// another process or in this one; too few permits are free; the latch is
	// not open, or not all parties have come to the barrier.
	WaitStarted(ctx context.Context, kind, name string)
	// WaitEnded is called when that wait is over. err is nil if it ended with
	// the lock or the permits, or if the latch or the barrier opened.
	WaitEnded(ctx context.Context, kind, name string, waited time.Duration, err error)
	// Acquired is called for each hold but re-entries, and for each acquire of
	// permits. handed says that it came from another goroutine of this client,
	// without a round trip.
	Acquired(ctx context.Context, kind, name string, handed bool)
	// Released is called when the last level of a hold was unlocked, and for each
	// release of permits. handed says that it went to another goroutine of this
	// client.
	Released(ctx context.Context, kind, name string, handed bool)
	// Lost is called when a hold, or a permit with a lease, ended without its
	// holder's doing.
	Lost(kind, name string, cause error)
	// Renewed is called for each batch of renewals.
	Renewed(holds int, took time.Duration, err error)
	// ScriptRan is called for each script call, with all its re-sends.
	ScriptRan(ctx context.Context, script string, took time.Duration, sends int, err error)
}

var _ core.Observer = Observer(nil)

// DecisionObserver is an Observer that hears what rate limiters decide, too.
// [WithObserver] asks once whether an observer is one: what wraps an Observer
// has to hand Decided on.
type DecisionObserver interface {
	Observer

	// Decided is called for each request for tokens that are wanted now or waited for, but not for
	// charges, refunds and looks. It is called before the request is answered, and delays it. The
	// exception is a limit in shadow, for which no caller waits. Of several limits that are decided
	// together each is reported by itself.
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

func (o decisions) Decided(ctx context.Context, d core.Decision) { o.to.Decided(ctx, Decision(d)) }

// CacheObserver is an Observer that hears what becomes of the entries of caches,
// too. [WithObserver] asks once whether an observer is one: what wraps an
// Observer has to hand its calls on.
type CacheObserver interface {
	Observer

	// CacheSwept is called after each visit of this client's sweeper to an object whose entries,
	// members or keys may have expired, and after each write that evicted entries of a cache. No
	// caller waits for a visit.
	CacheSwept(ctx context.Context, s Sweep)

	// CacheEvent is called for each event of a cache that comes to somebody who
	// listens in this client. kind is "created", "updated", "removed", "expired",
	// or "gap" where some may have been missed. It is on the path of the messages.
	CacheEvent(ctx context.Context, cache, kind string)

	// CacheLoaded is called after each call of the loader of a readthrough.Map in
	// this process. Those who wait for the entry wait for it, too.
	CacheLoaded(ctx context.Context, l Load)

	// CacheNear is called for each near cache of this client that is used: about
	// once a second with what has become more since, and with the rest when it is
	// closed. No caller waits for it but Close.
	CacheNear(ctx context.Context, n NearCounts)

	// CacheWrote is called after each call of the writer of a writethrough.Map in this process. In
	// write-through mode the caller of the change waits for it. In write-behind mode only the
	// goroutine that writes queued changes does.
	CacheWrote(ctx context.Context, w Write)
}

// Write is the outcome of one call of a writer.
type Write struct {
	// Map is the name of the map in Redis.
	Map string

	// Changes is the number of changes of the call.
	Changes int

	Behind bool // the changes were queued, in write-behind mode
	// Attempt is the number of times that the changes were tried, this one included: 1 for the first
	// time, and always where they were not queued.
	Attempt int

	// Dead says that the change, one, was refused for good and is now a dead letter.
	Dead bool

	// Queued is the number of changes that still waited in the queue after the call, without those
	// that the store has now and the dead letters; -1 if the server has not reported it.
	Queued int64

	// Took is how long the call took.
	Took time.Duration

	// Err is the error of the writer.
	Err error
}

// NearCounts is what a near cache has done since the last call; see nearcache.Stats.
type NearCounts struct {
	// Cache is the name of the map in Redis.
	Cache string

	// Hits is how many entries were answered by a copy, and Misses how many were
	// asked for since no copy counted.
	Hits, Misses int64

	// Drops is how many single entries were told to have changed, kept or not, and
	// WholeDrops how often all may have.
	Drops, WholeDrops int64
}

// Load is what became of one call of a loader.
type Load struct {
	// Map is the name of the map in Redis.
	Map string

	// Took is how long the call took.
	Took time.Duration

	// Absent says that the loader found nothing.
	Absent bool

	// Ahead says that nobody waited for it: the entry was there still.
	Ahead bool

	// Err is the error of the loader, or of its time.
	Err error
}

// Sweep is what became of one visit to a cache, or another object whose entries expire.
type Sweep struct {
	// Kind is the kind of object: "map cache", "set cache", "list multimap", "set multimap" or
	// "time series".
	Kind string

	// Cache is the name of the object in Redis.
	Cache string

	// Expired is how many entries have gone since their time was over, and Evicted
	// how many since there were too many.
	Expired, Evicted int64

	// Busy says that another process sweeps the cache.
	Busy bool

	// Written says that it was no visit, but a write that evicted entries.
	Written bool

	// ClockAhead is not 0 if the client rests: its clock is so far ahead of the server's that it
	// would delete what has not expired for others. It has swept nothing, and visits the object
	// again after a minute or so. Err is not nil then.
	ClockAhead time.Duration

	// Took is how long the visit took; 0 of a write.
	Took time.Duration

	// Err is why the cache could not be swept. It will be visited again.
	Err error
}

// caches hands on what the engine tells.
type caches struct{ to CacheObserver }

func (o caches) Swept(ctx context.Context, s core.Sweep) { o.to.CacheSwept(ctx, Sweep(s)) }

func (o caches) Loaded(ctx context.Context, l core.Load) { o.to.CacheLoaded(ctx, Load(l)) }

func (o caches) Near(ctx context.Context, n core.NearCounts) { o.to.CacheNear(ctx, NearCounts(n)) }

func (o caches) Wrote(ctx context.Context, w core.Write) { o.to.CacheWrote(ctx, Write(w)) }

func (o caches) Heard(ctx context.Context, cache, kind string) { o.to.CacheEvent(ctx, cache, kind) }

// MessageObserver is an Observer that hears what becomes of the messages of reliable
// queues, too. [WithObserver] asks once whether an observer is one: what wraps an
// Observer has to hand its calls on.
type MessageObserver interface {
	Observer

	// MessagesAdded is called for each exchange that has added messages, those of
	// several callers perhaps, before they are told.
	MessagesAdded(ctx context.Context, queue string, messages int)

	// MessageSettled is called for each message that this client has had, when the
	// server has answered what was said of it, or will not any more. Messages that no
	// handler has seen are not told. It is on the path of those who wait for that.
	MessageSettled(ctx context.Context, s Settled)
}

// Settled is what became of a message.
type Settled struct {
	// Queue is the name of the queue in Redis.
	Queue string

	// Attempt is 1 for the first one.
	Attempt int

	// Outcome is "acked", "retried" (to be tried again), "buried", "released" (given
	// back), "lost" (another may have, or have had, the message), or "failed", where
	// the server has not said which: Err says why.
	Outcome string

	// Took is how long this client had it, until the server's answer.
	Took time.Duration

	// Err is nil unless Outcome is "lost" or "failed".
	Err error
}

// messages hands on what the engine tells.
type messages struct{ to MessageObserver }

func (o messages) Added(ctx context.Context, queue string, n int) { o.to.MessagesAdded(ctx, queue, n) }

func (o messages) Settled(ctx context.Context, s core.Settled) {
	o.to.MessageSettled(ctx, Settled(s))
}

// QueueObserver is an Observer that hears what becomes of the elements of queues, streams
// and topics, too. [WithObserver] asks once whether an observer is one: what wraps an
// Observer has to hand its calls on. Of reliable queues [MessageObserver] tells.
//
// Of kinds there are "queue", "bounded queue", "ring buffer", "priority queue", "delayed
// queue", "stream", "topic", "sharded topic", "pattern topic" and "reliable topic". name is
// the name in Redis, or a pattern.
type QueueObserver interface {
	Observer

	// ElementsOffered is called for each call that has offered elements, added an entry or
	// published a message, before it returns. For a call that has failed, it reports the elements
	// that the server has confirmed. A move between two queues takes from the one and offers to the
	// other. Delayed elements that enter their queue when they are due are not reported.
	ElementsOffered(ctx context.Context, kind, name string, elements int)

	// ElementsTaken is called for each call, or step of a loop, that has taken elements,
	// before it has them. Entries and messages that come again are told again.
	ElementsTaken(ctx context.Context, t Taken)

	// ElementsMissed is called where a loop over a topic is told by a topic.LaggedError of
	// messages that it has missed.
	ElementsMissed(kind, name string, elements int64)
}

// Taken is elements that this client has taken.
type Taken struct {
	// Kind is the kind of object, as of [QueueObserver], and Name its name in Redis.
	Kind, Name string

	// Elements is how many.
	Elements int

	// Waited is how long ago the element was added, or -1 where nobody knows. Entries of
	// streams and messages of reliable topics tell by their ID, if the server has chosen
	// it: by the difference of two clocks.
	Waited time.Duration
}

// queues hands on what the engine tells.
type queues struct{ to QueueObserver }

func (o queues) Offered(ctx context.Context, kind, name string, n int) {
	o.to.ElementsOffered(ctx, kind, name, n)
}

func (o queues) Taken(ctx context.Context, t core.Taken) { o.to.ElementsTaken(ctx, Taken(t)) }

func (o queues) Missed(kind, name string, n int64) { o.to.ElementsMissed(kind, name, n) }

// DeferralObserver is an Observer that hears what the client has given up, too.
// [WithObserver] asks once whether an observer is one: what wraps an Observer has to
// hand its calls on.
type DeferralObserver interface {
	Observer

	// GaveUp is called for each request that the client was to go on with, such as
	// a release that the server refused, and that it has given up: the client was
	// closed, too many were deferred, or the server was silent for longer than it
	// remembers a request. It is logged at Error, too.
	GaveUp(g GaveUp)
}

// GaveUp is a request that the client has given up.
type GaveUp struct {
	// Kind is the kind of object, as of [Observer], and Name its name in Redis.
	Kind, Name string

	// Operation is what was to be done, such as "release" or "count down".
	Operation string
	// Amount is how much of it was to be done, such as the number of permits.
	Amount int64

	// Err is why it was not done. It wraps [ErrOutcomeUnknown] if it may have been.
	Err error
}

// deferrals hands on what the engine tells.
type deferrals struct{ to DeferralObserver }

func (o deferrals) GaveUp(g core.GaveUp) {
	o.to.GaveUp(GaveUp{Kind: g.Kind, Name: g.Name, Operation: g.Op, Amount: g.Amount, Err: g.Err})
}

// OutcomeObserver is an Observer that hears of refusals and of unknown outcomes, too, of
// semaphores of both kinds, latches and barriers. [WithObserver] asks once whether an
// observer is one: what wraps an Observer has to hand its calls on.
type OutcomeObserver interface {
	Observer

	// Refused is called for each call that returns [ErrNotAcquired]: too few permits were
	// free, at once or in time.
	Refused(kind, name string)

	// Unknown is called for each call that returns [ErrOutcomeUnknown]. operation is what its
	// error says, such as "acquire" or "count down". err is that error.
	Unknown(kind, name, operation string, err error)
}

var _ core.OutcomeObserver = OutcomeObserver(nil)

// BatchObserver is an Observer that hears which calls go to the server together, too.
// [WithObserver] asks once whether an observer is one: what wraps an Observer has to hand its
// calls on. Of rate limiters [DecisionObserver] tells that.
//
// Calls of several goroutines on one object that come while others are under way are combined
// into one command or script. Of kinds there are "counter", "distinct", "bucket", "bloom filter",
// "set", "set cache", "sorted set", "map", "map cache", "sharded map", "queue", "ring buffer", "delayed queue",
// "reliable queue", "reliable topic", "semaphore", "permit" and "latch". Of a sharded map it is what asks for the
// number of shards; its entries count as those of a map. Operations that are not
// combined, such as those that write to a set, are not reported.
type BatchObserver interface {
	Observer

	// CallsSent is called before each exchange. calls is the number of calls that it is for: 1 if
	// one went alone. The callers wait for it.
	CallsSent(kind string, calls int)
}

var _ core.BatchObserver = BatchObserver(nil)

// HandlerObserver is an Observer that is around the handlers of reliable queues, too,
// such as with a span for each. [WithObserver] asks once whether an observer is one: what
// wraps an Observer has to hand its calls on.
type HandlerObserver interface {
	Observer

	// MessageHandling is called before each handler that a Serve calls, by the
	// goroutine that does. ctx is the handler's; what it returns takes its place, so
	// that has to be a child of it. A panic here is one of the handler.
	//
	// handled is called once, when the handler has returned and the server has answered
	// what was said of its message, or will not any more. It may be nil. It is on the
	// path of those who wait for that.
	MessageHandling(ctx context.Context, h Handling) (child context.Context, handled func(Handled))
}

// Handling is a message that a handler is about to be called with.
type Handling struct {
	// Queue is the name of the queue in Redis.
	Queue string

	// ID is the number of the message.
	ID int64
	// Attempt is 1 for the first attempt.
	Attempt int

	// Header is the message's own, which belongs to the handler: it must not be changed.
	Header map[string]string
}

// Handled is what became of a message that a handler was called with.
type Handled struct {
	// Outcome is as of [Settled].
	Outcome string

	// Took is how long the handler took.
	Took time.Duration

	// Err is what the handler has returned, or its panic.
	Err error

	// Unsettled is nil unless Outcome is "lost" or "failed".
	Unsettled error
}

// handlers hands on what the engine tells.
type handlers struct{ to HandlerObserver }

func (o handlers) Handling(ctx context.Context, h core.Handling) (context.Context, func(core.Handled)) {
	child, handled := o.to.MessageHandling(ctx, Handling(h))
	if handled == nil {
		return child, nil
	}
	return child, func(h core.Handled) { handled(Handled(h)) }
}
