package bench

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
)

var fencedRows = []row{
	{"fenced lock, own keys, 1 goroutine", "us/pair", goal{atMost: 1.15}, against("fenced", "fenced scripts", ownOf(1))},
	{"fenced lock, hot key, 128 goroutines, by the lock", "pairs/s", goal{atLeast: 0.8}, against("fenced", "rueidisson", sharedBy(128))},
}

// fencedOurs is our fenced lock.
type fencedOurs struct{ ours }

func newFencedOurs(addr string) (impl, error) {
	c, err := rueidisson.New(connection(addr))
	return fencedOurs{ours{c}}, err
}

func (o fencedOurs) locker(name string) locker {
	l := o.c.FencedLock(name)
	return func(ctx context.Context) (unlock, error) {
		hold, err := l.Lock(ctx)
		if err != nil {
			return nil, err
		}
		return func() error { return hold.Unlock(ctx) }, nil
	}
}

// KEYS[1] lock hash; KEYS[2] counter; ARGV[1] lease, ms; ARGV[2] owner. Returns the token if acquired, else less than 0.
// The token is the server's time in us or one more than the last, as little as that can be.
var fencedFloorAcquire = rueidis.NewLuaScript(`
if redis.call('exists', KEYS[1]) == 0 then
	redis.call('hset', KEYS[1], ARGV[2], 1)
	redis.call('pexpire', KEYS[1], ARGV[1])
	local time = redis.call('time')
	local token = math.max(tonumber(redis.call('get', KEYS[2]) or 0) + 1, time[1] * 1000000 + time[2])
	redis.call('set', KEYS[2], string.format('%.0f', token))
	return token
end
return -2 - redis.call('pttl', KEYS[1])`)

// fencedFloor is the bare scripts of a lock with a token.
type fencedFloor struct{ c rueidis.Client }

func newFencedFloor(addr string) (impl, error) {
	c, err := rueidis.NewClient(connection(addr))
	return fencedFloor{c}, err
}

func (f fencedFloor) close() { f.c.Close() }

func (f fencedFloor) locker(name string) locker {
	bare := newBare(f.c, name)
	on := []string{name, "redisson_lock_token:{" + name + "}"}
	return func(ctx context.Context) (unlock, error) {
		token, err := fencedFloorAcquire.Exec(ctx, f.c, on, bare.args).AsInt64()
		if err == nil && token < 0 {
			err = errBusy
		}
		if err != nil {
			return nil, err
		}
		return func() error { return bare.release(ctx) }, nil
	}
}
