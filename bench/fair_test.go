package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

var fairRows = []row{
	{"fair lock, 1 goroutine, by its scripts", "us/pair", goal{atMost: 1.15}, fairPair},
	{"fair lock, 4 processes, 10 waiters", "hand-overs/s", goal{atLeast: 0.7}, fairHandOver(10)},
	{"fair lock, 4 processes, 100 waiters", "hand-overs/s", goal{atLeast: 0.9}, fairHandOver(100)},
	{"fair lock, 4 processes, 1,000 waiters", "hand-overs/s", goal{atLeast: 0.9}, fairHandOver(1000)},
	{"fair lock, 10 waiters, script calls", "calls/hand-over", goal{atMost: 3.05}, fairCalls(10)},
	{"fair lock, 1,000 waiters, script calls", "calls/hand-over", goal{atMost: 3.05}, fairCalls(1000)},
	{"fair lock, CPU of the server, 1,000 waiters by 10", "us/hand-over", goal{atMost: 1.3}, fairCPU},
	{"fair lock, 10,000 waiters in a process, heap and stacks", "KB each", goal{atMost: 6.3, why: "4.1 are a goroutine's stack, which Go rounds up, and at most 2.2 are beyond it"}, fairCrowd},
}

type fairOurs struct{ ours }

func newFairOurs(addr string) (impl, error) {
	c, err := rueidisson.New(connection(addr))
	return fairOurs{ours{c}}, err
}

func (o fairOurs) locker(name string) locker {
	l := o.c.FairLock(name)
	return func(ctx context.Context) (unlock, error) {
		hold, err := l.Lock(ctx)
		if err != nil {
			return nil, err
		}
		return func() error { return hold.Unlock(ctx) }, nil
	}
}

// fairScripts is the library's two scripts for a lock that nobody waits for,
// with nothing around.
type fairScripts struct {
	c                rueidis.Client
	acquire, release *scripts.Script
}

func newFairScripts(addr string) (impl, error) {
	c, err := rueidis.NewClient(connection(addr))
	lua := os.DirFS("../fairlock")
	return fairScripts{c, scripts.Must(lua, "lua/acquire.lua"), scripts.Must(lua, "lua/release.lua")}, err
}

func (f fairScripts) close() { f.c.Close() }

func (f fairScripts) locker(name string) locker {
	tag := ":{" + name + "}"
	on := []string{name, "redisson_lock_queue" + tag, "redisson_lock_timeout" + tag, "rueidisson_fair_alive" + tag, "rueidisson_gone" + tag}
	own := uuid.NewString() + ":" + strconv.Itoa(1<<62)
	take := []string{lease, own, "0", "1400", "10000"}
	give := []string{own, "publish", "1", "redisson_lock__channel" + tag, "rueidisson_fair" + tag, "1400"}
	return func(ctx context.Context) (unlock, error) {
		if err := f.acquire.Exec(ctx, f.c, on, take).Error(); err != nil {
			return nil, err
		}
		return func() error { return f.release.Exec(ctx, f.c, on[:4], give).Error() }, nil
	}
}

func fairPair(t *testing.T, s *redistest.Server) sides {
	side := func(name string) measure { return microseconds(onOwnKeys(connect(t, name, s.Addr()), name, 1).rate) }
	return sides{ours: side("fair"), base: side("fair scripts")}
}

// fairFloor is a bare queue of three scripts: enqueue, take, and release with a
// push to the process of the next one.
type fairFloor struct {
	c      rueidis.Client
	id     string
	end    context.CancelFunc
	next   atomic.Int64
	mu     sync.Mutex
	waits  map[string]chan struct{}
	hearer sync.WaitGroup
}

// KEYS[1] lock; KEYS[2] queue; ARGV[1] owner; ARGV[2] lease. Returns 1 if it was free, and nobody was ahead.
var fairEnqueue = rueidis.NewLuaScript(`
if redis.call('exists', KEYS[1], KEYS[2]) == 0 then
	redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
	return 1
end
redis.call('rpush', KEYS[2], ARGV[1])
if redis.call('exists', KEYS[1]) == 0 then
	local h = redis.call('lindex', KEYS[2], 0)
	redis.call('publish', string.sub(h, 1, 36), h)
end
return 0`)

// As above. Returns 1 if the owner was the first, and the lock free.
var fairTake = rueidis.NewLuaScript(`
if redis.call('exists', KEYS[1]) == 0 and redis.call('lindex', KEYS[2], 0) == ARGV[1] then
	redis.call('lpop', KEYS[2])
	redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
	return 1
end
return 0`)

// As above, without a lease.
var fairGive = rueidis.NewLuaScript(`
if redis.call('get', KEYS[1]) ~= ARGV[1] then
	return 0
end
redis.call('del', KEYS[1])
local h = redis.call('lindex', KEYS[2], 0)
if h then
	redis.call('publish', string.sub(h, 1, 36), h)
end
return 1`)

// What a wait that was ended leaves: as fairGive, for who is queued or holds.
var fairQuit = rueidis.NewLuaScript(`
redis.call('lrem', KEYS[2], 1, ARGV[1])
if redis.call('get', KEYS[1]) == ARGV[1] then
	redis.call('del', KEYS[1])
end
local h = redis.call('exists', KEYS[1]) == 0 and redis.call('lindex', KEYS[2], 0)
if h then
	redis.call('publish', string.sub(h, 1, 36), h)
end
return 1`)

func newFairFloor(addr string) (impl, error) {
	c, err := rueidis.NewClient(connection(addr))
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	f := &fairFloor{c: c, id: uuid.NewString(), end: end, waits: map[string]chan struct{}{}}
	f.hearer.Go(func() { // ends with the floor
		_ = c.Receive(ctx, c.B().Subscribe().Channel(f.id).Build(), func(m rueidis.PubSubMessage) { f.wake(m.Message) })
	})
	for range 200 { // until it listens
		if n, err := c.Do(ctx, c.B().Publish().Channel(f.id).Message("").Build()).AsInt64(); err != nil || n > 0 {
			return f, err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return f, fmt.Errorf("nobody listens to %s", f.id)
}

func (f *fairFloor) close() {
	f.end()
	f.c.Close()
	f.hearer.Wait()
}

func (f *fairFloor) wake(owner string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ch := f.waits[owner]; ch != nil {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

func (f *fairFloor) await(owner string, ch chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ch == nil {
		delete(f.waits, owner)
	} else {
		f.waits[owner] = ch
	}
}

func (f *fairFloor) locker(name string) locker {
	on := []string{name, "queue:{" + name + "}"}
	return func(ctx context.Context) (unlock, error) {
		owner := f.id + ":" + strconv.FormatInt(1<<62+f.next.Add(1), 10)
		woken := make(chan struct{}, 1)
		f.await(owner, woken)
		defer f.await(owner, nil)
		script := fairEnqueue
		for {
			got, err := script.Exec(context.WithoutCancel(ctx), f.c, on, []string{owner, lease}).AsInt64()
			if err != nil {
				return nil, err
			}
			if got == 1 {
				return func() error { return fairGive.Exec(context.WithoutCancel(ctx), f.c, on, []string{owner}).Error() }, nil
			}
			script = fairTake
			select {
			case <-woken:
			case <-ctx.Done():
				_ = fairQuit.Exec(context.Background(), f.c, on, []string{owner}).Error()
				return nil, ctx.Err()
			}
		}
	}
}

// waitersEach is how many goroutines of each of four processes make up so many.
func waitersEach(n int) int { return (n + 3) / 4 }

func fairHandOver(waiters int) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		return sides{
			ours: startFleet(t, "fair", s.Addr(), 4, waitersEach(waiters), 0).rate,
			base: startFleet(t, "fair queue", s.Addr(), 4, waitersEach(waiters), 0).rate,
			long: true,
		}
	}
}

// steadily measures a fleet between its begin and its end, when all come and
// go at once: use is what the server did for a hand-over, of which each sets the
// lock's hash once.
func steadily(t *testing.T, s *redistest.Server, f *fleet, use func() (float64, error)) measure {
	return func(d time.Duration) (float64, error) {
		const settle = 700 * time.Millisecond
		done := make(chan error, 1)
		go func() { // ends with the run
			_, err := f.rate(6*d + 2*settle)
			done <- err
		}()
		time.Sleep(settle)
		s.ResetStats()
		before, err := use()
		if err != nil {
			return 0, err
		}
		time.Sleep(6 * d)
		after, err := use()
		handOvers := s.CommandCalls(t, "hset")
		if err == nil {
			err = <-done
		}
		return (after - before) / float64(max(1, handOvers)), err
	}
}

func fairCalls(waiters int) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		f := startFleet(t, "fair", s.Addr(), 4, waitersEach(waiters), 0)
		return sides{ours: steadily(t, s, f, func() (float64, error) { return float64(s.ScriptCalls(t)), nil })}
	}
}

func fairCPU(t *testing.T, s *redistest.Server) sides {
	side := func(waiters int) measure {
		server := redistest.Start(t)
		c := server.Client(t)
		f := startFleet(t, "fair", server.Addr(), 4, waitersEach(waiters), 0)
		return steadily(t, server, f, func() (float64, error) {
			used, err := usedCPU(c)
			return float64(used.Nanoseconds()) / 1e3, err
		})
	}
	return sides{ours: side(1000), base: side(10)}
}

// fairCrowd is what each of many waiters takes of the heap and of stacks, its
// goroutine's own included; the note says what of it are stacks.
func fairCrowd(t *testing.T, s *redistest.Server) sides {
	stacks := 0.0
	return sides{
		ours: once(func(time.Duration) (heap float64, err error) {
			heap, stacks, err = crowdOfWaiters(t, s)
			return heap + stacks, err
		}),
		note: func() string { return fmt.Sprintf("%.3g of them are stack", stacks) },
	}
}

func crowdOfWaiters(t *testing.T, s *redistest.Server) (heap, stacks float64, err error) {
	const waiters = 10_000
	i := connect(t, "fair", s.Addr()).(fairOurs)
	l := i.c.FairLock("crowd")
	hold, err := l.Lock(t.Context())
	if err != nil {
		return 0, 0, err
	}
	ctx, leave := context.WithCancel(context.Background())
	before := memory()
	var all sync.WaitGroup
	for range waiters {
		all.Go(func() { _, _ = l.Lock(ctx) }) // ends with ctx
	}
	c := s.Client(t)
	for queued := int64(0); queued < waiters && err == nil; time.Sleep(20 * time.Millisecond) {
		queued, err = c.Do(ctx, c.B().Llen().Key("redisson_lock_queue:{crowd}").Build()).AsInt64()
	}
	after := memory()
	leave()
	all.Wait()
	_ = hold.Unlock(context.Background())
	return float64(after.HeapAlloc-before.HeapAlloc) / waiters / 1024, float64(after.StackInuse-before.StackInuse) / waiters / 1024, err
}

// memory is what is in use, after the goroutines that sent have gone.
func memory() (m runtime.MemStats) {
	for range 3 { // a stack shrinks by half each time
		time.Sleep(time.Second)
		debug.FreeOSMemory()
	}
	runtime.ReadMemStats(&m)
	return m
}
