package core

import (
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/crew"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Core is what all floors of a client stand on.
type Core struct {
	Config
	Redis rueidis.Client
	IDs   *owner.Issuer
	Now   watchdog.Clock

	born     time.Time
	kept     string // the lease that the watchdog keeps, for scripts
	cluster  bool
	publish  string   // the command that scripts announce releases with
	common   sync.Map // see Shared
	closing  chan struct{}
	shutting atomic.Bool // before closing is closed
	wakesMu  sync.Mutex
	wakes    []func() // see WhenClosing

	// What each call writes stands apart from what each call reads.
	Tasks Tasks     // what Close waits for: calls that are counted by Begin, until Done
	crew  crew.Crew // the goroutines of Spawn
}

// New returns the core of a client, which asks the server nothing. Tests may do without a Redis client.
func New(client rueidis.Client, cfg Config) *Core {
	born := time.Now()
	c := &Core{
		Config: cfg, Redis: client, born: born, kept: millis(cfg.WatchdogTimeout),
		IDs: owner.NewIssuer(cfg.ClientID), Now: watchdog.NewClock(born),
		cluster: client != nil && client.Mode() == rueidis.ClientModeCluster, publish: "publish",
		closing: make(chan struct{}),
	}
	if c.Logger == nil {
		c.Logger = slog.New(programs{})
	}
	return c
}

// PublishSharded has scripts announce releases on sharded channels.
func PublishSharded(c *Core) { c.publish = "spublish" }

// Mono returns Now().Mono at half the price, for what looks at the clock in every call.
func (c *Core) Mono() time.Duration { return time.Since(c.born) }

// Millis returns a lease as scripts read it. The one that most holds have is written
// once.
func (c *Core) Millis(lease time.Duration) string {
	if lease == c.WatchdogTimeout {
		return c.kept
	}
	return millis(lease)
}

func millis(d time.Duration) string { return strconv.FormatInt(Millis(d), 10) }

// Cluster reports whether the server is a cluster.
func (c *Core) Cluster() bool { return c.cluster }

// Publish returns the command that scripts announce releases with.
func (c *Core) Publish() string { return c.publish }

// Channel returns the channel of that name which Publish reaches.
func (c *Core) Channel(name string) pubsub.Channel {
	if c.publish == "spublish" {
		return pubsub.Channel{Kind: pubsub.Sharded, Name: name}
	}
	return pubsub.Channel{Kind: pubsub.Plain, Name: name}
}

// Map applies the name mapper.
func (c *Core) Map(name string) string {
	if c.MapName == nil {
		return name
	}
	return c.MapName(name)
}

// Open returns ErrClosed once Close has been called.
func (c *Core) Open() error {
	if c.shutting.Load() {
		return ErrClosed
	}
	return nil
}

// Shared returns what all objects of one kind have in common, such as the
// places.Places of what they share per name: the value that create returned
// when key was asked for first. Keys are comparable, and of a type of the
// object's own package. Values stay as long as the client, so there is none per
// name.
func (c *Core) Shared(key any, create func() any) any {
	if there, ok := c.common.Load(key); ok {
		return there
	}
	value, _ := c.common.LoadOrStore(key, create())
	return value
}

// Spawn runs f on a goroutine that Close waits for, so f is bounded by itself. It
// returns false, and f does not run, once Close has stopped waiting.
func (c *Core) Spawn(f func()) bool {
	if !c.Tasks.Begin() {
		return false
	}
	c.crew.Go(&c.Tasks, f)
	return true
}

// SpawnWithin runs f on a goroutine, for a caller that Close waits for, also when it has stopped others. So it
// is not Spawn.
func (c *Core) SpawnWithin(f func()) {
	c.Tasks.Join()
	c.crew.Go(&c.Tasks, f)
}
