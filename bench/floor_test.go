package bench

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/google/uuid"
	"github.com/redis/rueidis"
)

const lease = "30000" // ms, as the default watchdog timeout

// KEYS[1] lock hash; ARGV[1] lease, ms; ARGV[2] owner. Returns nil if acquired, else the holder's lease.
var floorAcquire = rueidis.NewLuaScript(`
if redis.call('exists', KEYS[1]) == 0 then
	redis.call('hset', KEYS[1], ARGV[2], 1)
	redis.call('pexpire', KEYS[1], ARGV[1])
	return nil
end
return redis.call('pttl', KEYS[1])`)

// KEYS[1] lock hash; KEYS[2] channel; ARGV[1] owner. Returns 1 if it was held.
var floorRelease = rueidis.NewLuaScript(`
if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then
	return 0
end
redis.call('publish', KEYS[2], '0')
return 1`)

var (
	errBusy    = errors.New("the lock is held")
	errNotHeld = errors.New("the lock is not held")
)

// floor is the bare scripts. Goroutines that share a name queue for it.
type floor struct {
	c      rueidis.Client
	mu     sync.Mutex
	queues map[string]chan struct{}
}

func newFloor(addr string) (impl, error) {
	c, err := rueidis.NewClient(connection(addr))
	return &floor{c: c, queues: map[string]chan struct{}{}}, err
}

func (f *floor) close() { f.c.Close() }

// queue is a channel of one place. Go serves its senders in arrival order.
func (f *floor) queue(name string) chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.queues[name] == nil {
		f.queues[name] = make(chan struct{}, 1)
	}
	return f.queues[name]
}

func (f *floor) locker(name string) locker {
	bare := newBare(f.c, name)
	turn := f.queue(name)
	return func(ctx context.Context) (unlock, error) {
		turn <- struct{}{}
		if err := bare.acquire(ctx); err != nil {
			<-turn
			return nil, err
		}
		return func() error {
			defer func() { <-turn }()
			return bare.release(ctx)
		}, nil
	}
}

// bare is one name and one owner, and the scripts for them, with nothing around.
type bare struct {
	c               rueidis.Client
	key, both, args []string
	channel         string
	owner           []string
}

func newBare(c rueidis.Client, name string) *bare {
	owner := uuid.NewString() + ":" + strconv.Itoa(1<<62)
	channel := "redisson_lock__channel:{" + name + "}"
	return &bare{
		c: c, key: []string{name}, both: []string{name, channel}, channel: channel,
		args: []string{lease, owner}, owner: []string{owner},
	}
}

func (b *bare) subscription() string { return b.channel }

func (b *bare) acquire(ctx context.Context) error {
	switch err := floorAcquire.Exec(ctx, b.c, b.key, b.args).Error(); {
	case rueidis.IsRedisNil(err):
		return nil
	case err != nil:
		return err
	}
	return errBusy
}

func (b *bare) release(ctx context.Context) error {
	held, err := floorRelease.Exec(ctx, b.c, b.both, b.owner).AsInt64()
	if err == nil && held == 0 {
		err = errNotHeld
	}
	return err
}
