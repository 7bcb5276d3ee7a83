// Package engine is what every object of one client shares: the connection to
// Redis, the scripts' retry loop, the pub/sub hub, the watchdog, the queues of
// local waiters, and the order in which all of it ends. Objects get an engine
// and a name, and contain only their own logic.
package engine

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/crew"
	"github.com/rueidisson/rueidisson/internal/due"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Config is a client's settings, resolved and checked.
type Config struct {
	ClientID        string
	WatchdogTimeout time.Duration
	Handovers       int           // per server-side acquisition
	HandoverTime    time.Duration // likewise
	Sharded         Sharding
	ReplicaAcks     int
	AckTimeout      time.Duration
	RenewalAcks     bool // renewals count only when ReplicaAcks have confirmed them
	MapName         func(string) string
	Logger          *slog.Logger
	Observer        Observer
	Decisions       DecisionObserver // nil if the observer is none
	Caches          CacheObserver    // likewise
	Messages        MessageObserver  // likewise
	Queues          QueueObserver    // likewise
	Handlers        HandlerObserver  // likewise
	Deferrals       DeferralObserver // likewise
	Outcomes        OutcomeObserver  // likewise
	Linger          time.Duration    // of a subscription that nobody uses
	Owned           bool             // Close closes the Redis client too
	Cut             func()           // closes the connections of an owned client, and refuses new ones
	Clock           Clock            // nil: the machine's
	Values          codec.Family     // of the values of objects that are given no codec
	MaxValue        int              // bytes of a key or a value; see Fits

	// BlockedConnections is how many connections block on each node, for those who
	// wait for elements; 0: MostBlocked.
	BlockedConnections int

	// LongestSleep caps every sleep of a waiter; 0: five seconds.
	LongestSleep time.Duration
}

// Sharding says which publish command the releases go out with.
type Sharding int

const (
	// ShardedAuto is sharded on a cluster, plain elsewhere: Redisson's rule.
	ShardedAuto Sharding = iota
	// ShardedOn is sharded on a cluster, whatever it answers.
	ShardedOn
	// ShardedOff is plain everywhere.
	ShardedOff
)

// Engine is the shared part of one client.
type Engine struct {
	Config
	Redis rueidis.Client
	IDs   *owner.Issuer
	Now   watchdog.Clock

	born     time.Time
	kept     string // the lease that the watchdog keeps, for scripts
	cluster  bool
	publish  string // the command that scripts announce releases with
	topo     *topology
	hub      *pubsub.Hub
	dog      *watchdog.Watchdog
	locals   *places.Places[string, *local] // by the mapped name
	errands  errands
	undone   undone
	lanes    lanes
	waiters  sync.Pool     // places in local queues, to be used again
	attempts sync.Pool     // likewise
	returns  sync.Pool     // likewise
	acks     chan struct{} // bounds WAIT, which costs a connection each
	soon     atomic.Pointer[deadline]
	common   sync.Map // see Shared
	chains   sync.Map // mapped name -> *Held, the last acquisition with fencing tokens

	long *places.Places[string, *longLane] // by the node

	evictions evictions
	highest   highest

	life     context.Context // of all exchanges; ended when Close stops waiting for them
	abort    context.CancelFunc
	closing  chan struct{}
	shutting atomic.Bool // before closing is closed
	wakesMu  sync.Mutex
	wakes    []func() // see WhenClosing
	once     sync.Once
	closed   error
	freed    chan struct{} // poked when a hold leaves the watchdog's care
	tasks    tasks
	crew     crew.Crew // the goroutines of spawn
	due      due.Loop[Key]
	dueOnce  sync.Once
	dueWork  *due.Workers[func()]
}

// New puts an engine on top of a Redis client, after asking the server whether
// it can serve one.
func New(ctx context.Context, client rueidis.Client, cfg Config) (*Engine, error) {
	born := time.Now()
	e := &Engine{
		Config: cfg, Redis: client, born: born, kept: millis(cfg.WatchdogTimeout),
		IDs: owner.NewIssuer(cfg.ClientID), Now: watchdog.NewClock(born),
		cluster: client.Mode() == rueidis.ClientModeCluster,
		acks:    make(chan struct{}, maxAckWaits), long: newLongLanes(),
		closing: make(chan struct{}), freed: make(chan struct{}, 1),
	}
	e.locals = newLocals(e)
	e.life, e.abort = context.WithCancel(context.Background())
	e.lanes.last.Store(born.UnixMicro()) // above those of an earlier process with this client id
	if e.Logger == nil {
		e.Logger = slog.New(programs{})
	}
	info, err := e.probe(ctx)
	if err != nil {
		return nil, err
	}
	e.topo = newTopology(client, e.cluster, e.spawn, e.base)
	e.topo.ask(ctx)
	sharded, err := e.sharded(ctx)
	if err != nil {
		return nil, err
	}
	e.publish = "publish"
	if sharded {
		e.publish = "spublish"
	}
	e.hub = pubsub.New(doubting{pubsub.NewRedis(client, e.topo.where), e.topo}, pubsub.Options{
		Linger: cfg.Linger, Logger: e.Logger, Timeout: e.hubTimeout(),
	})
	e.dog = watchdog.Start(e.Now, renewer{e})
	e.learnEvictions(ctx, info)
	e.learnReplication(ctx, info)
	return e, nil
}

// Mono returns Now().Mono at half the price, for what looks at the clock in every call.
func (e *Engine) Mono() time.Duration { return time.Since(e.born) }

// Millis returns a lease as scripts read it. The one that most holds have is written
// once.
func (e *Engine) Millis(lease time.Duration) string {
	if lease == e.WatchdogTimeout && e.kept != "" {
		return e.kept
	}
	return millis(lease)
}

func millis(d time.Duration) string { return strconv.FormatInt(Millis(d), 10) }

// Cluster reports whether the server is a cluster.
func (e *Engine) Cluster() bool { return e.cluster }

// Publish returns the command that scripts announce releases with.
func (e *Engine) Publish() string { return e.publish }

// channel returns the channel of that name which Publish reaches.
func (e *Engine) channel(name string) pubsub.Channel {
	if e.publish == "spublish" {
		return pubsub.Channel{Kind: pubsub.Sharded, Name: name}
	}
	return pubsub.Channel{Kind: pubsub.Plain, Name: name}
}

// Map applies the name mapper.
func (e *Engine) Map(name string) string {
	if e.MapName == nil {
		return name
	}
	return e.MapName(name)
}

// Open returns ErrClosed once Close has been called.
func (e *Engine) Open() error {
	if e.shutting.Load() {
		return ErrClosed
	}
	return nil
}

// spawn runs f on a goroutine that Close waits for, unless Close has already
// stopped waiting. f ends by itself: it is one bounded exchange with the server.
func (e *Engine) spawn(f func()) bool {
	if !e.begin() {
		return false
	}
	e.crew.Go(&e.tasks, f)
	return true
}

// begin makes Close wait for a tasks.Done, unless it has already stopped
// waiting.
func (e *Engine) begin() bool { return e.tasks.begin() }
