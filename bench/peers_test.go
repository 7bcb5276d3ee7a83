package bench

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislimiter"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// often is how often a lock that polls does so where its default is longer.
const often = time.Millisecond

// peerRows compare with other libraries for Go. None has a goal.
var peerRows = []row{
	{"lock, own keys, 1 goroutine, by redsync", "us/pair", goal{}, peerOnOwnKeys(1, "redsync", microseconds)},
	{"lock, own keys, 1 goroutine, by redislock", "us/pair", goal{}, peerOnOwnKeys(1, "redislock, each 1 ms", microseconds)},
	{"lock, own keys, 256 goroutines, by redsync", "pairs/s", goal{}, peerOnOwnKeys(256, "redsync", asIs)},
	{"lock, own keys, 256 goroutines, by redislock", "pairs/s", goal{}, peerOnOwnKeys(256, "redislock, each 1 ms", asIs)},
	{"lock, hot key, 16 goroutines, by redsync", "pairs/s", goal{}, peerOnHotKey(16, "redsync")},
	{"lock, hot key, 16 goroutines, by redsync that polls each ms", "pairs/s", goal{}, peerOnHotKey(16, "redsync, each 1 ms")},
	{"lock, hot key, 16 goroutines, by redislock that polls each ms", "pairs/s", goal{}, peerOnHotKey(16, "redislock, each 1 ms")},
	{"lock, 4 processes x 8, by redsync", "acquisitions/s", goal{}, peerProcesses("redsync")},
	{"lock, 4 processes x 8, by redsync that polls each ms", "acquisitions/s", goal{}, peerProcesses("redsync, each 1 ms")},
	{"lock, 4 processes x 8, by redislock that polls each ms", "acquisitions/s", goal{}, peerProcesses("redislock, each 1 ms")},
	{"limiter, hot key, 256 goroutines, by rueidislimiter", "decisions/s", goal{}, decisions(256, "rueidislimiter", asIs)},
	{"limiter, 10,000 keys, 64 goroutines, by rueidislimiter", "decisions/s", goal{}, spreadDecisions("rueidislimiter", nil)},
}

func peerOnOwnKeys(goroutines int, peer string, as func(measure) measure) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		side := func(name string) measure {
			return as(onOwnKeys(connect(t, name, s.Addr()), name, goroutines).rate)
		}
		return sides{ours: side("rueidisson"), base: side(peer), peer: true}
	}
}

func peerOnHotKey(goroutines int, peer string) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		ours := onOneKey(connect(t, "rueidisson", s.Addr()), "rueidisson", goroutines).guarding(ownGuarded(t))
		theirs := onOneKey(connect(t, peer, s.Addr()), "peer", goroutines).guarding(ownGuarded(t))
		return sides{ours: ours.rate, base: theirs.rate, peer: true, long: true, lost: func() (int64, int64) { return ours.lost(), theirs.lost() }}
	}
}

func peerProcesses(peer string) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		ours, theirs := startFleet(t, "rueidisson", s.Addr(), 4, 8, 0), startFleet(t, peer, s.Addr(), 4, 8, 0)
		return sides{
			ours: ours.rate, base: theirs.rate, peer: true, long: true, lost: func() (int64, int64) { return ours.lost(), theirs.lost() },
			note: func() string { return "smallest share " + ours.shares() + ", the other's " + theirs.shares() },
		}
	}
}

// polling is a library that looks again and again for a lock that is held. A release goes out although its context has ended:
// else the next slice waits until the lease does.
type polling struct {
	c    *redis.Client
	lock func(ctx context.Context, name string) (unlock, error)
}

func (p polling) locker(name string) locker {
	return func(ctx context.Context) (unlock, error) { return p.lock(ctx, name) }
}

func (p polling) close() { _ = p.c.Close() }

// newRedsync has one server, and the lease of the others. It tries again when it has given up after 32 tries, as it does by default.
func newRedsync(opts ...redsync.Option) func(addr string) (impl, error) {
	return func(addr string) (impl, error) {
		c := redis.NewClient(&redis.Options{Addr: addr, PoolSize: connections})
		from := redsync.New(goredis.NewPool(c))
		opts := append([]redsync.Option{redsync.WithExpiry(30 * time.Second)}, opts...)
		return polling{c, func(ctx context.Context, name string) (unlock, error) {
			m := from.NewMutex(name, opts...)
			err := m.LockContext(ctx)
			for ctx.Err() == nil && (errors.Is(err, redsync.ErrFailed) || errors.As(err, new(*redsync.ErrTaken))) {
				err = m.LockContext(ctx)
			}
			if err != nil {
				return nil, err
			}
			return func() error {
				if ok, err := m.UnlockContext(context.WithoutCancel(ctx)); !ok || err != nil {
					return fmt.Errorf("unlock: %t, %w", ok, err)
				}
				return nil
			}, nil
		}}, nil
	}
}

// newRedislock polls each millisecond: by default it never waits.
func newRedislock(addr string) (impl, error) {
	c := redis.NewClient(&redis.Options{Addr: addr, PoolSize: connections})
	from := redislock.New(c)
	return polling{c, func(ctx context.Context, name string) (unlock, error) {
		l, err := from.Obtain(ctx, name, 30*time.Second, &redislock.Options{RetryStrategy: redislock.LinearBackoff(often)})
		if err != nil {
			return nil, err
		}
		return func() error { return l.Release(context.WithoutCancel(ctx)) }, nil
	}}, nil
}

// connections is how many a pool of go-redis has: one for each goroutine, so that no call waits for one.
const connections = 256

// windowed is rueidislimiter, which has fixed windows.
type windowed struct {
	l rueidislimiter.RateLimiterClient
	c rueidis.Client
}

func newRueidislimiter(addr string) (impl, error) {
	made := windowed{}
	var err error
	made.l, err = rueidislimiter.NewRateLimiter(rueidislimiter.RateLimiterOption{
		ClientOption: connection(addr), KeyPrefix: "rueidislimiter", Limit: ample, Window: time.Second,
		ClientBuilder: func(o rueidis.ClientOption) (c rueidis.Client, err error) {
			made.c, err = rueidis.NewClient(o)
			return made.c, err
		},
	})
	return made, err
}

func (w windowed) locker(name string) locker {
	return func(ctx context.Context) (unlock, error) {
		_, err := w.l.Allow(ctx, name)
		return func() error { return nil }, err
	}
}

func (w windowed) close() { w.c.Close() }
