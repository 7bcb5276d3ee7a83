package core

import (
	"log/slog"
	"time"

	"github.com/rueidisson/rueidisson/codec"
)

// Option changes the settings of a client.
type Option interface{ Apply(*Config) error }

// Config is a client's settings, resolved and checked.
type Config struct {
	ClientID        string
	WatchdogTimeout time.Duration
	Handovers       int           // how often an acquisition on the server is handed over in the process
	HandoverTime    time.Duration // for how long it is
	Sharded         Sharding
	ReplicaAcks     int
	AckTimeout      time.Duration
	RenewalAcks     bool // renewals count only when ReplicaAcks have confirmed them
	MapName         func(string) string
	Logger          *slog.Logger
	Observer        Observer
	// What an Observer is told beside that, if it has the methods; else nil.
	Decisions DecisionObserver
	Caches    CacheObserver
	Messages  MessageObserver
	Queues    QueueObserver
	Handlers  HandlerObserver
	Deferrals DeferralObserver
	Outcomes  OutcomeObserver
	Batches   BatchObserver

	Linger   time.Duration // of a subscription that nobody uses
	Owned    bool          // Close closes the Redis client too
	Cut      func()        // closes the connections of an owned client, and refuses new ones
	Clock    Clock         // nil: the machine's
	Values   codec.Family  // of the values of objects that are given no codec
	MaxValue int           // bytes of a key or a value; see Fits

	// BlockedConnections is how many connections block on each node, for those who
	// wait for elements; 0: sixteen.
	BlockedConnections int

	// Directly is how many calls may be under way before further ones go together;
	// 0: sixteen, negative: none. On a cluster each call goes by itself.
	Directly int

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

// Clock is a wall clock that somebody may move. Objects whose format counts in
// the clients' time go by it.
type Clock interface {
	Now() time.Time
	// Moved has f called whenever the clock has been moved. f must not block.
	Moved(f func())
}

// Wall returns the client's time, in milliseconds since 1970.
func (c *Core) Wall() int64 {
	if c.Clock != nil {
		return c.Clock.Now().UnixMilli()
	}
	return time.Now().UnixMilli()
}
