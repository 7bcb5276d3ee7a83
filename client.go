package rueidisson

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/election"
	"github.com/rueidisson/rueidisson/fairlock"
	"github.com/rueidisson/rueidisson/internal/connecting"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/latch"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/multilock"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
	"github.com/rueidisson/rueidisson/rwlock"
	"github.com/rueidisson/rueidisson/semaphore"
)

// Client hands out every object. It is safe for concurrent use, and one is
// enough for a process: its watchdog, its subscriptions and the hand-over of
// locks between goroutines are shared by all that comes from it.
type Client struct {
	e *locking.Engine
}

// New connects to the Redis or Valkey that option describes: one server, a cluster, or a master
// behind sentinels. Timeouts that option leaves at 0 are derived from the watchdog timeout. A
// connection that has fallen silent is then given up while there is time to renew a hold on another
// one.
//
// With option.TLSConfig all of the client's connections are TLS; those to Sentinels need
// option.Sentinel.TLSConfig as well.
//
// New returns [ErrInvalidArgument] for options that cannot be used. Other errors name the address,
// and what is known of the cause: no server answers there within the dial timeout; TLS did not come
// about, such as for a certificate that has expired; the port is one without TLS, one for TLS or
// one of HTTP; the server has no such database; it is older than Redis 7.0 or Valkey 7.2; it runs
// no scripts.
func New(option rueidis.ClientOption, opts ...Option) (*Client, error) {
	cfg, err := resolve(opts)
	if err != nil {
		return nil, err
	}
	if len(option.InitAddress) == 0 {
		return nil, fmt.Errorf("%w: rueidis.ClientOption.InitAddress is empty", ErrInvalidArgument)
	}
	derive(&option, cfg.WatchdogTimeout)
	cfg.Owned = true
	made := new(connections)
	made.over(&option)
	cfg.Cut = made.end
	client, err := rueidis.NewClient(option)
	if err != nil {
		if client != nil {
			client.Close()
		}
		return nil, fmt.Errorf("connecting to %s: %w", strings.Join(option.InitAddress, ", "), connecting.WithCause(err, option))
	}
	return open(client, cfg, option)
}

// derive sets the timeouts by which rueidis gives a silent connection up:
// together a third of the watchdog timeout, its own defaults at the most.
func derive(option *rueidis.ClientOption, watchdog time.Duration) {
	sixth := max(watchdog/6, 100*time.Millisecond)
	if option.Dialer.Timeout == 0 {
		option.Dialer.Timeout = min(max(sixth, time.Second), 5*time.Second)
	}
	if option.Dialer.KeepAlive == 0 {
		option.Dialer.KeepAlive = min(sixth, time.Second)
	}
	if option.ConnWriteTimeout == 0 {
		option.ConnWriteTimeout = min(sixth, 10*time.Second)
	}
}

func open(client rueidis.Client, cfg core.Config, option rueidis.ClientOption) (*Client, error) {
	timeout := option.Dialer.Timeout
	if timeout == 0 {
		timeout = 5 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	e, err := locking.New(ctx, client, cfg)
	if err == nil {
		return &Client{e}, nil
	}
	if cfg.Owned {
		client.Close()
		err = fmt.Errorf("connecting to %s: %w", strings.Join(option.InitAddress, ", "), connecting.WithCause(err, option))
	}
	return nil, err
}

// Open returns a client, as [New] does, from a URL of the forms that rueidis.ParseURL takes, such as
// redis://user:password@127.0.0.1:6379/0, rediss:// for TLS, or
// redis://sentinel:26379?master_set=mymaster. An address without a scheme, such as localhost:6379,
// is taken as redis://. With rediss:// the client also uses TLS to the Sentinels, without the user
// and the password of the URL. Each server that the Sentinels name shows a certificate for its own
// address.
func Open(redisURL string, opts ...Option) (*Client, error) {
	option, err := rueidis.ParseURL(connecting.WithScheme(redisURL))
	if err != nil {
		return nil, fmt.Errorf("%w: url: %w", ErrInvalidArgument, withoutURL(redisURL, err))
	}
	if option.TLSConfig != nil && option.Sentinel.MasterSet != "" {
		option.TLSConfig.ServerName = "" // the host of the URL is that of a Sentinel
		option.Sentinel.TLSConfig = option.TLSConfig
	}
	return New(option, opts...)
}

// withoutURL returns the error of a URL without the URL, because it has a password.
func withoutURL(redisURL string, err error) error {
	if scheme, is := strings.CutPrefix(err.Error(), "redis: invalid URL scheme: "); is {
		return fmt.Errorf("the scheme is %q, not redis, rediss, valkey, valkeys or unix", scheme)
	}
	var parse *url.Error
	switch {
	case strings.Contains(redisURL, "@"): // what cannot be parsed may be a part of the password
		return errors.New("it cannot be parsed: write / # ? @ and % of the password as %2F %23 %3F %40 and %25")
	case errors.As(err, &parse):
		return parse.Err
	}
	return err
}

// Wrap returns a client that uses a Redis client of the program. It returns [ErrInvalidArgument]
// for a nil client and for options that cannot be used, and the error of Redis or of the network if
// no server answers. Close leaves the Redis client open. Its timeouts are the program's: to renew
// holds past a connection that fell silent, Dialer.KeepAlive and ConnWriteTimeout together should
// be at most a third of the watchdog timeout.
//
// Its connections are shared with the program, too. Commands use the connections that rueidis
// shares anyway. In addition the client takes connections from the pool of each node, whose size is
// rueidis.ClientOption.BlockingPoolSize:
//
//   - one for subscriptions, from the first wait for an object of that node
//     until a second after the last;
//   - one or two for those who wait for elements of queues and entries of streams, on a
//     cluster up to [WithBlockedConnections], from the first such wait until a second
//     after the last;
//   - as many for those who listen to reliable topics: one, and one for each durable
//     name, on a cluster for each slot;
//   - two for requests and answers of more than a megabyte, and for walks through what
//     is large, while such are under way;
//   - one for each acquire that waits for replicas, up to 32 at once, with
//     [WithReplicaAcks];
//   - one for each call or batch of renewals that is sent again because a
//     connection fell silent, until that is answered.
//
// So a program whose own blocking commands can use the pool up makes it larger
// by six, and by 32 with acknowledgements. While there is no connection to be
// had, releases are not heard: a wait that goes on like that for a watchdog
// timeout, or an acquire that replicas should confirm, fails with an error that
// names BlockingPoolSize.
func Wrap(client rueidis.Client, opts ...Option) (*Client, error) {
	cfg, err := resolve(opts)
	if err != nil {
		return nil, err
	}
	if client == nil || (reflect.ValueOf(client).Kind() == reflect.Pointer && reflect.ValueOf(client).IsNil()) {
		return nil, fmt.Errorf("%w: nil client", ErrInvalidArgument)
	}
	return open(client, cfg, rueidis.ClientOption{})
}

// Engine returns what the constructors of this module's packages take from a client. Its type is
// internal.
func (c *Client) Engine() *locking.Engine { return c.e }

// ID returns the client's part of the owners that it writes to Redis.
func (c *Client) ID() string { return c.e.ClientID }

// String shows the client's settings.
func (c *Client) String() string {
	return fmt.Sprintf("rueidisson client %s (watchdog %v, handover %d or %v, publish %q, cluster %t, replica acks %d)",
		c.e.ClientID, c.e.WatchdogTimeout, c.e.Handovers, c.e.HandoverTime, c.e.Publish(), c.e.Cluster(), c.e.ReplicaAcks)
}

// Lock returns a handle on the reentrant lock of that name; see [lock.Lock].
func (c *Client) Lock(name string) *lock.Lock { return lock.New(c, name) }

// FairLock returns a handle on the fair lock of that name; see
// [fairlock.Lock.Lock].
func (c *Client) FairLock(name string) *fairlock.Lock { return fairlock.New(c, name) }

// Election returns a handle on the election of that name; see
// [election.Election.Campaign].
func (c *Client) Election(name string, opts ...election.Option) *election.Election {
	return election.New(c, name, opts...)
}

// MultiLock returns a handle on several locks that are held together or not at
// all; see [multilock.MultiLock]. The locks may be of other clients,
// too.
func (c *Client) MultiLock(locks ...lock.Locker) *multilock.MultiLock {
	return multilock.Multi(locks...)
}

// RWLock returns a handle on the read-write lock of that name, one lock with two
// sides; see [rwlock.Lock].
func (c *Client) RWLock(name string, opts ...rwlock.Option) *rwlock.Lock {
	return rwlock.New(c, name, opts...)
}

// LockGroup returns a handle on the locks of any number of values under that
// name; see [multilock.Group].
func (c *Client) LockGroup(name string) *multilock.Group { return multilock.NewGroup(c, name) }

// FencedLock returns a handle on the fenced lock of that name, whose holds have
// tokens that keep late writers out; see [lock.Fenced].
func (c *Client) FencedLock(name string) *lock.Fenced { return lock.NewFenced(c, name) }

// FenceGuard returns a guard of one key of Redis, which is written only for
// holders of the fenced lock of that name and refuses the late ones; see
// [lock.Guard]. A name mapper maps both.
func (c *Client) FenceGuard(key, lockName string) *lock.Guard {
	return lock.NewGuard(c, key, lockName)
}

// RateLimiter returns a handle on the token bucket of that name; see
// [ratelimiter.Limiter].
func (c *Client) RateLimiter(name string, opts ...ratelimiter.Option) *ratelimiter.Limiter {
	return ratelimiter.New(c, name, opts...)
}

// RedissonRateLimiter returns a handle on the rate limiter of that name which
// Redisson's RRateLimiter shares, on its keys; see [redissonlimiter.Limiter].
func (c *Client) RedissonRateLimiter(name string) *redissonlimiter.Limiter {
	return redissonlimiter.New(c, name)
}

// Semaphore returns a handle on the semaphore of that name, which Redisson's
// RSemaphore shares; see [semaphore.Semaphore].
func (c *Client) Semaphore(name string, opts ...semaphore.Option) *semaphore.Semaphore {
	return semaphore.New(c, name, opts...)
}

// PermitSemaphore returns a handle on the semaphore of that name whose permits
// have leases, which Redisson's RPermitExpirableSemaphore shares; see
// [semaphore.PermitSemaphore].
func (c *Client) PermitSemaphore(name string, opts ...semaphore.Option) *semaphore.PermitSemaphore {
	return semaphore.NewPermits(c, name, opts...)
}

// Latch returns a handle on the countdown latch of that name, which Redisson's
// RCountDownLatch shares; see [latch.Latch].
func (c *Client) Latch(name string) *latch.Latch { return latch.New(c, name) }

// Barrier returns a handle on the barrier of that name, at which so many parties
// wait for each other; see [latch.Barrier.Await].
func (c *Client) Barrier(name string, parties int, opts ...latch.BarrierOption) *latch.Barrier {
	return latch.NewBarrier(c, name, parties, opts...)
}

// DoubleBarrier returns a handle on the double barrier of that name, which so many parties
// enter together and leave together; see [latch.DoubleBarrier.Enter].
func (c *Client) DoubleBarrier(name string, parties int) *latch.DoubleBarrier {
	return latch.NewDoubleBarrier(c, name, parties)
}

// Close ends the client. New calls fail with [ErrClosed], waiters wake with it, and the contexts of
// holds end with it as their cause; renewals stop. Then Close waits for the holders to unlock, for
// as long as ctx and their leases last. A lock that is not unlocked by then is left to its lease,
// and named in the returned error: Close does not release it under its holder.
//
// Exchanges with the server that are under way have 250 ms more than ctx gives them. What they were
// to do by then, such as a release, is left to its lease and named in the error. On a cluster that
// has fallen silent, a client that came by [Wrap] may take a second more. When Close returns, no
// goroutine of the client is left. It closes the Redis client, unless that came by [Wrap]. Calls
// after the first return what the first returned.
//
// Cost: nothing is sent, except the releases of the holders and what was deferred.
func (c *Client) Close(ctx context.Context) error {
	if err := object.CheckContext(ctx); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return locking.Close(ctx, c.e)
}
