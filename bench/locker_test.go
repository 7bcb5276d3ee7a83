package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/rwlock"
)

// unlock ends what a pair's first half began.
type unlock func() error

// locker is one way to lock a name. It serves one goroutine.
type locker func(ctx context.Context) (unlock, error)

// pair is one lock and unlock that holds for a while in between.
func (l locker) pair(ctx context.Context, hold time.Duration) error {
	release, err := l(ctx)
	if err != nil {
		return err
	}
	if hold > 0 {
		time.Sleep(hold)
	}
	return release()
}

// guarding counts in a value that only the holder of the lock may change.
func (l locker) guarding(v *guarded) locker {
	return func(ctx context.Context) (unlock, error) {
		release, err := l(ctx)
		if err != nil {
			return nil, err
		}
		return func() error {
			v.change()
			return release()
		}, nil
	}
}

// impl is one implementation, connected.
type impl interface {
	locker(name string) locker
	close()
}

// impls makes an implementation for the server at addr.
var impls = map[string]func(addr string) (impl, error){
	"rueidisson":  newOurs,
	"floor":       newFloor,
	"rueidislock": newPeer,

	"redsync":              newRedsync(),
	"redsync, each 1 ms":   newRedsync(redsync.WithRetryDelay(often)),
	"redislock, each 1 ms": newRedislock,

	"fair":          newFairOurs,
	"fair scripts":  newFairScripts,
	"fair queue":    newFairFloor,
	"read":          newRW((*rwlock.Lock).Read),
	"read scripts":  newRWFloor("read"),
	"write":         newRW((*rwlock.Lock).Write),
	"write scripts": newRWFloor("write"),

	"fenced":         newFencedOurs,
	"fenced scripts": newFencedFloor,

	"limiter":       newLimiterOurs,
	"bucket script": newBucketFloor,
	"window script": newWindowFloor,
	"redis_rate":    newGCRAPeer,

	"rueidislimiter": newRueidislimiter,

	"limits":        newLimitsOurs,
	"limits script": newLimitsFloor,

	"patient limiter": newPatientOurs,
	"GCRA script":     newGCRAFloor,

	"steady limiter":    newSteadyOurs,
	"steady redis_rate": newSteadyGCRA,
}

func connect(t testing.TB, name, addr string) impl {
	t.Helper()
	made, err := impls[name](addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.close)
	return made
}

// connection is what every implementation connects with. The timeouts are
// those that rueidisson.New derives from the default watchdog timeout.
func connection(addr string) rueidis.ClientOption {
	o := rueidis.ClientOption{InitAddress: []string{addr}, ConnWriteTimeout: 5 * time.Second}
	o.Dialer.Timeout = 5 * time.Second
	o.Dialer.KeepAlive = time.Second
	return o
}

type ours struct{ c *rueidisson.Client }

func newOurs(addr string) (impl, error) {
	c, err := rueidisson.New(connection(addr))
	return ours{c}, err
}

func (o ours) locker(name string) locker {
	l := o.c.Lock(name)
	return func(ctx context.Context) (unlock, error) {
		hold, err := l.Lock(ctx)
		if err != nil {
			return nil, err
		}
		return func() error { return hold.Unlock(ctx) }, nil
	}
}

func (o ours) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = o.c.Close(ctx) // a hold that a benchmark leaves is left on purpose
}

type peer struct{ rueidislock.Locker }

func newPeer(addr string) (impl, error) {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: connection(addr), KeyMajority: 1, NoLoopTracking: true,
	})
	return peer{l}, err
}

// peerPatience is when a wait of rueidislock is begun anew. It gives each try 20
// ms, takes a try that a busy machine made longer for "held", and then waits for
// a change that never comes where nobody else holds the key.
const peerPatience = time.Second

func (p peer) locker(name string) locker {
	return func(ctx context.Context) (unlock, error) {
		for {
			release, err := p.attempt(ctx, name)
			if !errors.Is(err, context.Canceled) || ctx.Err() != nil {
				return release, err
			}
		}
	}
}

func (p peer) attempt(ctx context.Context, name string) (unlock, error) {
	ctx, stop := context.WithCancel(ctx)
	timer := time.AfterFunc(peerPatience, stop)
	_, cancel, err := p.WithContext(ctx, name)
	timer.Stop()
	if err != nil {
		stop()
		return nil, err
	}
	return func() error {
		cancel()
		stop()
		return nil
	}, nil
}

func (p peer) close() { p.Close() }
