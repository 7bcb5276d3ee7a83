package rueidisson

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/owner"
)

// Option configures a client. With an invalid value the constructor returns [ErrInvalidArgument].
// Only this module makes options: what they change is internal.
type Option = core.Option

type option func(*core.Config) error

func (o option) Apply(c *core.Config) error { return o(c) }

// defaults returns the settings of a client without options. Handovers and
// HandoverTime are where throughput on a hot key stops growing faster than
// the turns of other processes get longer; see the benchmarks.
func defaults() core.Config {
	return core.Config{
		WatchdogTimeout: 30 * time.Second, // Redisson's lockWatchdogTimeout
		Handovers:       256,
		HandoverTime:    10 * time.Millisecond,
		Linger:          time.Second,
		Values:          codec.Msgpack,
		MaxValue:        core.LargestValue,
	}
}

// WithWatchdogTimeout sets the lease of holds without one of their own, which
// are renewed at a third of it. The default is 30 s, as Redisson's. It must be
// at least 100 ms; a hold cannot outlast a silence of the server for longer.
func WithWatchdogTimeout(d time.Duration) Option {
	return option(func(c *core.Config) error {
		if d < 100*time.Millisecond || d > core.LongestLease {
			return fmt.Errorf("%w: watchdog timeout %v is outside of 100ms to %v", ErrInvalidArgument, d, core.LongestLease)
		}
		c.WatchdogTimeout = d
		return nil
	})
}

// What a process may take for itself before others get their turn. With 1 s one
// of them got 14 of 6,942 turns.
const (
	mostHandovers   = 100_000
	longestHandover = 100 * time.Millisecond
)

// WithHandover bounds how often, and for how long, a lock may go from goroutine to goroutine of
// this client before other processes get their turn. The default is 256 times or 10 ms, whichever
// comes first. With 0, 0 every unlock is a release on the server. At most 100,000 times or 100 ms:
// beyond that other processes starve. The permits of a semaphore are handed over to waiters of this
// client as often, within the same time.
func WithHandover(n int, d time.Duration) Option {
	return option(func(c *core.Config) error {
		if n < 0 || d < 0 {
			return fmt.Errorf("%w: handover %d, %v is negative", ErrInvalidArgument, n, d)
		}
		if n > mostHandovers || d > longestHandover {
			return fmt.Errorf("%w: handover %d, %v is above %d, %v: other processes would starve",
				ErrInvalidArgument, n, d, mostHandovers, longestHandover)
		}
		c.Handovers, c.HandoverTime = n, d
		return nil
	})
}

// WithClientID sets the client's part of the owners that it writes to Redis, a
// lower-case uuid. The default is a new one. Two live clients must not share one.
func WithClientID(id string) Option {
	return option(func(c *core.Config) error {
		if err := owner.ParseClient(id); err != nil {
			return fmt.Errorf("%w: client id: %w", ErrInvalidArgument, err)
		}
		c.ClientID = id
		return nil
	})
}

// WithNameMapper maps the name of every object to the one in Redis, as
// Redisson's NameMapper does. It must always give the same answer.
func WithNameMapper(mapName func(name string) string) Option {
	return option(func(c *core.Config) error {
		if mapName == nil {
			return fmt.Errorf("%w: nil name mapper", ErrInvalidArgument)
		}
		c.MapName = mapName
		return nil
	})
}

// WithLogger sets where the client logs. Error is for a request that was given up, see
// [DeferralObserver]. Warn is for a hold that was lost, and for a call that has waited for a hold
// of its own client for a watchdog timeout. It is also for a server that evicts keys with a time to
// live, and for a master that accepts writes without its replicas. Debug is for retries. Without it
// Warn and Error go to [slog.Default], and Debug nowhere; slog.DiscardHandler is for silence.
func WithLogger(l *slog.Logger) Option {
	return option(func(c *core.Config) error {
		if l == nil {
			return fmt.Errorf("%w: nil logger", ErrInvalidArgument)
		}
		c.Logger = l
		return nil
	})
}

// WithObserver sets the observer, which is notified of what the client does. An observer may also
// implement optional interfaces, and is then notified of what they describe: [DecisionObserver],
// [CacheObserver], [MessageObserver], [QueueObserver], [HandlerObserver], [DeferralObserver],
// [OutcomeObserver] and [BatchObserver].
func WithObserver(o Observer) Option {
	return option(func(c *core.Config) error {
		if o == nil {
			return fmt.Errorf("%w: nil observer", ErrInvalidArgument)
		}
		c.Observer, c.Decisions, c.Caches, c.Messages, c.Queues, c.Handlers, c.Deferrals, c.Outcomes, c.Batches = o, nil, nil, nil, nil, nil, nil, nil, nil
		if d, ok := o.(DecisionObserver); ok {
			c.Decisions = decisions{d}
		}
		if co, ok := o.(CacheObserver); ok {
			c.Caches = caches{co}
		}
		if m, ok := o.(MessageObserver); ok {
			c.Messages = messages{m}
		}
		if q, ok := o.(QueueObserver); ok {
			c.Queues = queues{q}
		}
		if h, ok := o.(HandlerObserver); ok {
			c.Handlers = handlers{h}
		}
		if d, ok := o.(DeferralObserver); ok {
			c.Deferrals = deferrals{d}
		}
		if oo, ok := o.(OutcomeObserver); ok {
			c.Outcomes = oo
		}
		if b, ok := o.(BatchObserver); ok {
			c.Batches = b
		}
		return nil
	})
}

// Sharding says on which kind of channel releases are announced on a cluster.
// Everybody who shares a lock must use the same, Java included: the two kinds
// are deaf to each other. Without a cluster channels are always plain.
type Sharding int

const (
	// Auto uses sharded channels if the cluster has them, as Redisson's
	// default does.
	Auto Sharding = iota
	// On always uses sharded channels (SPUBLISH, SSUBSCRIBE).
	On
	// Off always uses plain channels (PUBLISH, SUBSCRIBE), as Redisson before
	// 3.22 did.
	Off
)

// WithShardedPubSub sets Redisson's shardedSubscriptionMode. The default is Auto.
func WithShardedPubSub(s Sharding) Option {
	return option(func(c *core.Config) error {
		if s < Auto || s > Off {
			return fmt.Errorf("%w: sharding %d is none of Auto, On, Off", ErrInvalidArgument, s)
		}
		c.Sharded = core.Sharding(s)
		return nil
	})
}

// Acked is what else replicas confirm, see [WithReplicaAcks].
type Acked int

// Renewals has replicas confirm the renewals of leases, too.
const Renewals Acked = 1

// WithReplicaAcks makes an acquire succeed only when n replicas have confirmed
// it within timeout; with fewer it is undone, and fails with
// lock.ErrNotReplicated. It lowers the risk that a failover forgets a hold; it
// does not remove it. Each acquire then takes a connection of its own for its
// WAIT; of those up to 32 are under way at once.
//
// With [Renewals] a renewal counts only when n replicas have confirmed it within
// timeout. This applies to all leases that the client renews, and to lock.Hold.Extend.
// A holder on the side of a network partition without replicas loses its hold within a
// lease. A renewal without enough answers is tried again while the lease lasts. The
// renewals of one batch share one WAIT. While the slot of a name moves, renewals count
// without replicas.
func WithReplicaAcks(n int, timeout time.Duration, also ...Acked) Option {
	return option(func(c *core.Config) error {
		if n < 1 || timeout < time.Millisecond {
			return fmt.Errorf("%w: replica acks %d within %v: at least 1 within 1ms", ErrInvalidArgument, n, timeout)
		}
		c.ReplicaAcks, c.AckTimeout, c.RenewalAcks = n, timeout, false
		for _, what := range also {
			if what != Renewals {
				return fmt.Errorf("%w: replica acks of %d: only Renewals can be named", ErrInvalidArgument, what)
			}
			c.RenewalAcks = true
		}
		return nil
	})
}

// WithCodec sets what values are written with by maps, queues and topics that are
// given no codec of their own. The default is [codec.Msgpack]. Everybody who
// shares an object must use the same, Java included: nothing in Redis names it.
// Keys are not values: a map's are [codec.Text] unless it is told otherwise.
func WithCodec(f codec.Family) Option {
	return option(func(c *core.Config) error {
		if f == (codec.Family{}) {
			return fmt.Errorf("%w: no codec family", ErrInvalidArgument)
		}
		c.Values = f
		return nil
	})
}

// WithMaxValue bounds how many bytes a key or a value may have. A longer one returns
// [ErrInvalidArgument] before it is sent. The default is 512 MB, the most that a server accepts
// unless its proto-max-bulk-len says otherwise: it closes a connection on which more comes. Bytes
// that are sent with either in one argument count: of a cache 16 bytes before each value, and the
// name before each key.
//
// A send has one more second for each 8 MB of its length. So has an answer whose length is known or
// was asked for.
func WithMaxValue(n int) Option {
	return option(func(c *core.Config) error {
		if n < 1 {
			return fmt.Errorf("%w: values of at most %d bytes", ErrInvalidArgument, n)
		}
		c.MaxValue = n
		return nil
	})
}

// mostBlocked bounds WithBlockedConnections.
const mostBlocked = 1000

// WithBlockedConnections bounds the connections that block on each server for waiters of queues and
// streams. Where CLIENT TRACKING is refused, it also bounds those that block for listeners of
// reliable topics. The default is 16 of each, and only a cluster may need more: there a connection
// serves the queues of one slot, or up to 1,000 of them. Where more slots are waited for on a node
// than it has connections, the last one polls the queues of all others, see packages queue and
// stream.
func WithBlockedConnections(n int) Option {
	return option(func(c *core.Config) error {
		if n < 1 || n > mostBlocked {
			return fmt.Errorf("%w: %d blocked connections: from 1 to %d", ErrInvalidArgument, n, mostBlocked)
		}
		c.BlockedConnections = n
		return nil
	})
}

func resolve(opts []Option) (core.Config, error) {
	c, err := object.Options(defaults(), opts, Option.Apply)
	if err != nil {
		return c, err
	}
	if c.ClientID == "" {
		c.ClientID = owner.NewClient()
	}
	return c, nil
}
