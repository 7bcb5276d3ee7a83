package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// permitRows: permits with leases, alone and held by the thousand.
var permitRows = []row{
	{"permit, acquire and release, 1 goroutine", "us/pair", goal{atMost: 1.15}, besideScript("leased permits", "permit scripts", 1, microseconds)},
	{"permit, acquire and release, 256 goroutines", "pairs/s", goal{}, besideScript("leased permits", "permit scripts", 256, asIs)},
	{"permit, wake-up in another process", "us", goal{atMost: 1.15}, wakeUp("one leased permit", "one leased permit script")},
	{"permit, 1,000 waiters in 4 processes", "script calls/s", goal{atMost: 10}, permitWaiting},
	{"permit, 10,000 held, resident memory", "MB above idle", goal{atMost: 20}, permitsHeld((*household).megabytes)},
	{"permit, 10,000 held, goroutines", "goroutines", goal{atMost: 25}, permitsHeld(func(h *household) float64 { return float64(h.held.goroutines) })},
	{"permit, 10,000 held, scripts per lease/3", "scripts", goal{atMost: 101}, permitRenewals},
}

// leasedPermits are permits with leases of one client, so many of one semaphore.
type leasedPermits struct {
	c     *rueidisson.Client
	stock int64
}

func newLeasedPermits(stock int64, opts ...rueidisson.Option) func(addr string) (impl, error) {
	return func(addr string) (impl, error) {
		c, err := rueidisson.New(connection(addr), opts...)
		return leasedPermits{c, stock}, err
	}
}

func (p leasedPermits) locker(string) locker {
	s := p.c.PermitSemaphore("leased")
	if _, err := s.TrySetPermits(context.Background(), p.stock); err != nil {
		return func(context.Context) (unlock, error) { return nil, err }
	}
	return func(ctx context.Context) (unlock, error) {
		held, err := s.Acquire(ctx)
		return func() error { return held.Release(ctx) }, err
	}
}

func (p leasedPermits) close() { _ = p.c.Close(context.Background()) } // nothing is held

// KEYS[1] permits; KEYS[2] leases; ARGV[1] id; ARGV[2] end of the lease. Returns 1
// taken, 0 refused.
var acquireFloor = rueidis.NewLuaScript(`
local value = redis.call('get', KEYS[1])
if value and tonumber(value) >= 1 then
	redis.call('decrby', KEYS[1], 1)
	redis.call('zadd', KEYS[2], ARGV[2], ARGV[1])
	return 1
end
return 0`)

// KEYS[1] permits; KEYS[2] leases; ARGV[1] id; ARGV[2] channel. Returns 1 done, 0
// it was gone.
var releaseFloor = rueidis.NewLuaScript(`
if redis.call('zrem', KEYS[2], ARGV[1]) == 1 then
	redis.call('publish', ARGV[2], redis.call('incrby', KEYS[1], 1))
	return 1
end
return 0`)

// leaseScripts is the bare scripts.
type leaseScripts struct {
	c     rueidis.Client
	stock int
}

func newLeaseScripts(stock int) func(addr string) (impl, error) {
	return func(addr string) (impl, error) {
		c, err := rueidis.NewClient(connection(addr))
		return leaseScripts{c, stock}, err
	}
}

func (p leaseScripts) locker(name string) locker {
	b := newBareLease(p.c, name)
	set := p.c.B().Set().Key(b.on[0]).Value(strconv.Itoa(p.stock)).Nx().Build()
	if err := p.c.Do(context.Background(), set).Error(); err != nil && !rueidis.IsRedisNil(err) {
		return func(context.Context) (unlock, error) { return nil, err }
	}
	return func(ctx context.Context) (unlock, error) {
		id, err := b.take(ctx)
		if err != nil {
			return nil, err
		}
		return func() error { return b.give(ctx, id) }, nil
	}
}

func (p leaseScripts) close() { p.c.Close() }

// bareLease is a permit with a lease, and the scripts for it, with nothing around.
type bareLease struct {
	c       rueidis.Client
	on      []string
	channel string
	id      string // of the one who waits
}

func newBareLease(c rueidis.Client, name string) *bareLease {
	return &bareLease{c: c, on: []string{"floor:" + name, "{floor:" + name + "}:timeout"}, channel: "redisson_sc:{floor:" + name + "}"}
}

func (b *bareLease) take(ctx context.Context) (id string, err error) {
	id = rand.Text()[:16]
	ends := strconv.FormatInt(time.Now().Add(30*time.Second).UnixMilli(), 10)
	got, err := acquireFloor.Exec(ctx, b.c, b.on, []string{id, ends}).AsInt64()
	if err == nil && got == 0 {
		err = errBusy
	}
	return id, err
}

func (b *bareLease) give(ctx context.Context, id string) error {
	return releaseFloor.Exec(ctx, b.c, b.on, []string{id, b.channel}).Error()
}

func (b *bareLease) subscription() string { return b.channel }

func (b *bareLease) acquire(ctx context.Context) (err error) {
	b.id, err = b.take(ctx)
	return err
}

func (b *bareLease) release(ctx context.Context) error { return b.give(ctx, b.id) }

// permitWaiting is a permit that is held, for which a thousand goroutines of four
// processes wait.
func permitWaiting(t *testing.T, s *redistest.Server) sides {
	c, err := rueidisson.New(connection(s.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	of := c.PermitSemaphore("crowd")
	err = of.SetPermits(t.Context(), 1)
	held, failed := of.Acquire(t.Context())
	if err = errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	w := &crowd{s: s}
	for range crowdProcesses {
		w.children = append(w.children, redistest.StartChild(t, "permit crowd", "BENCH_ADDR="+s.Addr(), "BENCH_KEY=crowd"))
	}
	t.Cleanup(func() {
		if err := errors.Join(held.Release(context.Background()), c.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	for _, child := range w.children {
		child.Await("waiting")
	}
	w.settle(t)
	return sides{ours: once(func(d time.Duration) (float64, error) { return w.calls(t, longer(d)), nil }), note: w.note}
}

// permitCrowd is a process of that. It says so once all of it waits.
func permitCrowd(p *redistest.Parent) {
	var waiting atomic.Int64
	c, err := rueidisson.New(connection(env("BENCH_ADDR")), rueidisson.WithObserver(told{waiting: func() {
		if waiting.Add(1) == crowdWaiters {
			p.Say("waiting")
		}
	}}))
	if err != nil {
		p.Say("%v", err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for range crowdWaiters {
		group.Go(func() {
			if held, err := c.PermitSemaphore(env("BENCH_KEY")).Acquire(ctx); err == nil {
				_ = held.Release(ctx) // the benchmark is over
			}
		})
	}
	p.Hear() // until the parent is done
	cancel()
	group.Wait()
}

func permitsHeld(what func(*household) float64) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		h := startHousehold(t, "leased permits", s)
		return sides{ours: once(func(d time.Duration) (float64, error) {
			time.Sleep(min(longer(d), shortWatchdog)) // renewals take memory, too
			err := h.again()
			return what(h), err
		})}
	}
}

func permitRenewals(t *testing.T, s *redistest.Server) sides {
	h := startHousehold(t, "leased permits", s)
	return sides{ours: once(func(d time.Duration) (float64, error) {
		return manyHolds * h.renewals(t, min(longer(d), shortWatchdog)), nil
	})}
}

func init() {
	impls["leased permits"], impls["permit scripts"] = newLeasedPermits(2*manyHolds), newLeaseScripts(2*manyHolds)
	impls["one leased permit"], impls["one leased permit script"] = newLeasedPermits(1), newLeaseScripts(1)
	holders["leased permits"] = newLeasedPermits(2*manyHolds, rueidisson.WithWatchdogTimeout(shortWatchdog))
}
