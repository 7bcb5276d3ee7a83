package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// ample is a rate that no benchmark reaches, so that every decision writes.
const ample = 100_000_000

var errRefused = errors.New("refused")

// decided turns a decision into a pair without a second half.
func decided(allowed bool, err error) (unlock, error) {
	if err == nil && !allowed {
		err = errRefused
	}
	return func() error { return nil }, err
}

// limiterOurs decides about keys of one limiter.
type limiterOurs struct {
	c *rueidisson.Client
	l *ratelimiter.Limiter
}

func newLimiterOurs(addr string) (impl, error) {
	return limiterWith(addr, "ours", ratelimiter.PerSecond(ample))
}

// newSteadyOurs decides by a rate of everyday size.
func newSteadyOurs(addr string) (impl, error) {
	return limiterWith(addr, "rate", ratelimiter.PerHour(10))
}

func limiterWith(addr, name string, r ratelimiter.Rate) (impl, error) {
	c, err := rueidisson.New(connection(addr))
	if err != nil {
		return nil, err
	}
	l := c.RateLimiter(name)
	_, _, err = l.TrySetRate(context.Background(), r)
	return &limiterOurs{c, l}, err
}

func (o *limiterOurs) locker(name string) locker {
	return func(ctx context.Context) (unlock, error) { return decided(o.l.For(name).Allow(ctx)) }
}

func (o *limiterOurs) close() { _ = o.c.Close(context.Background()) } // nothing is held

// limiterScript is the text of a script as it is sent.
func limiterScript(file string) (string, error) {
	return scripts.Read(os.DirFS("../ratelimiter/internal/exchange/lua"), file)
}

// bucketFloor is the script of the common case for each decision, with nothing
// around it.
type bucketFloor struct {
	c    rueidis.Client
	take *rueidis.Lua
}

func newBucketFloor(addr string) (impl, error) {
	body, err := limiterScript("take.lua")
	if err != nil {
		return nil, err
	}
	c, err := rueidis.NewClient(connection(addr))
	return bucketFloor{c, rueidis.NewLuaScript(body)}, err
}

func (f bucketFloor) locker(name string) locker {
	// 100,000,000 tokens a second: in a microsecond 100 ticks of one token each.
	args := []string{packed(1, 100, 1, ample, 1, 1, 1)}
	key := "floor:{" + name + "}"
	return func(ctx context.Context) (unlock, error) {
		reply, err := f.take.Exec(ctx, f.c, []string{key}, args).ToMessage()
		return decided(err == nil && reply.IsString(), err)
	}
}

func (f bucketFloor) close() { f.c.Close() }

// packed is numbers as take.lua gets them: seven bytes each.
func packed(numbers ...uint64) string {
	var text []byte
	for _, n := range numbers {
		text = append(text, binary.BigEndian.AppendUint64(nil, n)[1:]...)
	}
	return string(text)
}

// windowFloor is a fixed window by the client's clock: a counter and the time
// at which it ends, in one script. That is what rueidislimiter asks of the
// server for a decision.
type windowFloor struct{ c rueidis.Client }

// KEYS[1] counter; KEYS[2] end of the window; ARGV[1] tokens; ARGV[2] now, ms; ARGV[3] end of a new window, ms.
var windowScript = rueidis.NewLuaScript(`
local ends = redis.call('get', KEYS[2])
if not ends or tonumber(ends) < tonumber(ARGV[2]) then
	ends = ARGV[3]
	redis.call('set', KEYS[1], 0, 'pxat', ends + 1000)
	redis.call('set', KEYS[2], ends, 'pxat', ends + 1000)
end
return {redis.call('incrby', KEYS[1], ARGV[1]), tonumber(ends)}`)

func newWindowFloor(addr string) (impl, error) {
	c, err := rueidis.NewClient(connection(addr))
	return windowFloor{c}, err
}

func (f windowFloor) locker(name string) locker {
	counter := "window:{" + name + "}"
	keys := []string{counter, counter + ":ends"}
	return func(ctx context.Context) (unlock, error) {
		now := time.Now().UnixMilli()
		args := []string{"1", strconv.FormatInt(now, 10), strconv.FormatInt(now+1000, 10)}
		reply, err := windowScript.Exec(ctx, f.c, keys, args).AsIntSlice()
		return decided(err == nil && reply[0] <= ample, err)
	}
}

func (f windowFloor) close() { f.c.Close() }

// gcraPeer is redis_rate, on go-redis.
type gcraPeer struct {
	c     *redis.Client
	l     *redis_rate.Limiter
	limit redis_rate.Limit
}

// Its floats cannot tell emissions apart that are closer than a microsecond.
func newGCRAPeer(addr string) (impl, error) { return gcraWith(addr, redis_rate.PerSecond(ample/100)) }

func newSteadyGCRA(addr string) (impl, error) { return gcraWith(addr, redis_rate.PerHour(10)) }

func gcraWith(addr string, limit redis_rate.Limit) (impl, error) {
	c := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 256})
	return gcraPeer{c, redis_rate.NewLimiter(c), limit}, nil
}

func (p gcraPeer) locker(name string) locker {
	return func(ctx context.Context) (unlock, error) {
		reply, err := p.l.Allow(ctx, name, p.limit)
		return decided(err == nil && reply.Allowed == 1, err)
	}
}

func (p gcraPeer) close() { _ = p.c.Close() } // it was only read

// spread is workers that take the keys of a large set in turn.
func spread(i impl, goroutines, keys int) *workers {
	lockers := make([]locker, keys)
	for k := range keys {
		lockers[k] = i.locker("key-" + strconv.Itoa(k))
	}
	var turn atomic.Int64
	w := &workers{ctx: context.Background()}
	for range goroutines {
		w.lockers = append(w.lockers, func(ctx context.Context) (unlock, error) {
			return lockers[turn.Add(1)%int64(keys)](ctx)
		})
	}
	return w
}

const limiterKeys = 10_000

// BenchmarkLimiter is one decision: alone, by 256 goroutines about one key, and
// by 64 about 10,000.
func BenchmarkLimiter(b *testing.B) {
	s := redistest.Shared(b)
	for _, name := range []string{"limiter", "bucket script", "window script", "redis_rate"} {
		for _, goroutines := range []int{1, 256} {
			b.Run(fmt.Sprintf("impl=%s/mode=hot/goroutines=%d", name, goroutines), func(b *testing.B) {
				onOneKey(connect(b, name, s.Addr()), redistest.Name(b), goroutines).bench(b, s)
			})
		}
		b.Run(fmt.Sprintf("impl=%s/mode=spread/goroutines=64", name), func(b *testing.B) {
			spread(connect(b, name, s.Addr()), 64, limiterKeys).bench(b, s)
		})
	}
}
