package bench

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/semaphore"
)

// semaphoreRows: a sale takes and gives nothing back; one that is sold out is
// refused; a crowd takes turns at a few permits.
var semaphoreRows = []row{
	{"semaphore, TryAcquire(1), 1 goroutine", "us/call", goal{atMost: 1.20}, besideScript("sale", "sale script", 1, microseconds)},
	{"semaphore, TryAcquire(1), 256 goroutines", "calls/s", goal{atLeast: 5}, besideScript("sale", "sale script", 256, asIs)},
	{"semaphore, sold out, 256 goroutines", "calls/s", goal{atLeast: 5}, besideScript("sold out", "sold out script", 256, asIs)},
	{"semaphore, 8 permits, 256 goroutines that wait", "pairs/s", goal{atLeast: 10}, besideScript("few permits", "pair scripts", 256, asIs)},
	{"semaphore, 2 permits, 4 processes x 8, hold 1ms", "acquisitions/s", goal{}, fairPermits},
}

func besideScript(ours, base string, goroutines int, as func(measure) measure) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		side := func(name string) measure {
			return as(onOneKey(connect(t, name, s.Addr()), "hot", goroutines).rate)
		}
		return sides{ours: side(ours), base: side(base)}
	}
}

func fairPermits(t *testing.T, s *redistest.Server) sides {
	fleet := startFleet(t, "two permits", s.Addr(), 4, 8, time.Millisecond)
	return sides{ours: fleet.rate, long: true, note: func() string { return "smallest share " + fleet.shares() }}
}

// permits are semaphores of one client. Who pairs gives back what it waited for.
type permits struct {
	c     *rueidisson.Client
	stock int64
	pairs bool
}

func newPermits(stock int64, pairs bool) func(addr string) (impl, error) {
	return func(addr string) (impl, error) {
		c, err := rueidisson.New(connection(addr))
		return &permits{c, stock, pairs}, err
	}
}

func (p *permits) locker(name string) locker {
	s := p.c.Semaphore(name)
	if _, err := s.TrySetPermits(context.Background(), max(p.stock, 1)); err != nil {
		return func(context.Context) (unlock, error) { return nil, err }
	}
	if p.stock == 0 {
		return func(ctx context.Context) (unlock, error) { return soldOut(s.TryAcquire(ctx, 2)) }
	}
	if !p.pairs {
		return func(ctx context.Context) (unlock, error) { return done, s.TryAcquire(ctx, 1) }
	}
	return func(ctx context.Context) (unlock, error) {
		return func() error { return s.Release(ctx, 1) }, s.Acquire(ctx, 1)
	}
}

func (p *permits) close() { _ = p.c.Close(context.Background()) } // nothing is held

func done() error { return nil }

// soldOut turns the refusal that is expected into the answer.
func soldOut(err error) (unlock, error) {
	switch {
	case err == nil:
		return done, errBusy
	case errors.Is(err, semaphore.ErrNotAcquired):
		return done, nil
	}
	return done, err
}

// KEYS[1] permits; ARGV[1] how many. Returns 1 taken, 0 refused.
var takeFloor = rueidis.NewLuaScript(`
local value = redis.call('get', KEYS[1])
if value and tonumber(value) >= tonumber(ARGV[1]) then
	redis.call('decrby', KEYS[1], ARGV[1])
	return 1
end
return 0`)

// KEYS[1] permits; ARGV[1] how many; ARGV[2] channel. Returns how many there are.
var giveFloor = rueidis.NewLuaScript(`
local value = redis.call('incrby', KEYS[1], ARGV[1])
redis.call('publish', ARGV[2], value)
return value`)

// permitScripts is the bare scripts, of which none is refused unless all are.
type permitScripts struct {
	c     rueidis.Client
	out   bool
	pairs bool
}

func newPermitScripts(out, pairs bool) func(addr string) (impl, error) {
	return func(addr string) (impl, error) {
		c, err := rueidis.NewClient(connection(addr))
		return permitScripts{c, out, pairs}, err
	}
}

func (p permitScripts) locker(name string) locker {
	key, one := []string{"floor:" + name}, []string{"1"}
	give := []string{"1", "redisson_sc:{floor:" + name + "}"}
	want, stock := int64(1), "2147483647"
	if p.out {
		want, stock = 0, "0"
	}
	set := p.c.B().Set().Key(key[0]).Value(stock).Build()
	if err := p.c.Do(context.Background(), set).Error(); err != nil {
		return func(context.Context) (unlock, error) { return nil, err }
	}
	back := done
	return func(ctx context.Context) (unlock, error) {
		got, err := takeFloor.Exec(ctx, p.c, key, one).AsInt64()
		if err == nil && got != want {
			err = errBusy
		}
		if p.pairs {
			back = func() error { return giveFloor.Exec(ctx, p.c, key, give).Error() }
		}
		return back, err
	}
}

func (p permitScripts) close() { p.c.Close() }

func init() {
	impls["sale"], impls["sale script"] = newPermits(math.MaxInt32, false), newPermitScripts(false, false)
	impls["sold out"], impls["sold out script"] = newPermits(0, false), newPermitScripts(true, false)
	impls["few permits"], impls["pair scripts"] = newPermits(8, true), newPermitScripts(false, true)
	impls["two permits"] = newPermits(2, true)
}
