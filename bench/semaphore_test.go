package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
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
	{"semaphore, TryAcquire(1), 256 goroutines", "calls/s", goal{atLeast: 3.5, why: "the base is between 1.8e5 and 2.8e5 a second; the client's processor decides, and has a row"}, besideScript("sale", "sale script", 256, asIs)},
	{"semaphore, TryAcquire(1), 4 processes x 64", "calls/s", goal{atLeast: 3.5}, saleOfProcesses},
	{"semaphore, sold out, 256 goroutines", "calls/s", goal{atLeast: 3.5, why: "the base is between 1.8e5 and 2.8e5 a second; the client's processor decides, and has a row"}, besideScript("sold out", "sold out script", 256, asIs)},
	{"semaphore, TryAcquire(1), 256 goroutines, CPU of the client", "us/call", goal{atMost: 1.1}, timeOfClient("sale", 256)},
	{"semaphore, sold out, 256 goroutines, CPU of the client", "us/call", goal{atMost: 1.1}, timeOfClient("sold out", 256)},
	{"semaphore, 8 permits, 256 goroutines that wait", "pairs/s", goal{atLeast: 10}, besideScript("few permits", "pair scripts", 256, asIs)},
	{"semaphore, 2 permits, 4 processes x 8, hold 1ms, smallest share", "of a fair share", goal{atLeast: 0.5}, fairPermits},
	{"semaphore, wake-up in another process", "us", goal{atMost: 1.15}, wakeUp("one permit", "one permit script")},
	{"semaphore, 1,000 waiters in 4 processes", "script calls/s", goal{atMost: 10}, waiting("one permit")},
}

func besideScript(ours, base string, goroutines int, as func(measure) measure) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		side := func(name string) measure {
			return as(onOneKey(connect(t, name, s.Addr()), "hot", goroutines).rate)
		}
		return sides{ours: side(ours), base: side(base)}
	}
}

func saleOfProcesses(t *testing.T, s *redistest.Server) sides {
	ours := startFleet(t, "sale", s.Addr(), 4, 64, 0)
	base := startFleet(t, "sale script", s.Addr(), 4, 64, 0)
	return sides{ours: ours.rate, base: base.rate, long: true}
}

func fairPermits(t *testing.T, s *redistest.Server) sides {
	fleet := startFleet(t, "two permits", s.Addr(), 4, 8, time.Millisecond)
	var rates []float64
	ours := stretched(func(d time.Duration) (float64, error) {
		rate, err := fleet.rate(d)
		rates = append(rates, rate)
		return fleet.smallest[len(fleet.smallest)-1], err
	})
	return sides{ours: ours, note: func() string {
		return fmt.Sprintf("worst slice %.2f; %.4g acquisitions/s", slices.Min(fleet.smallest), median(rates))
	}}
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
	stock string
	pairs bool
}

func newPermitScripts(stock int64, pairs bool) func(addr string) (impl, error) {
	return func(addr string) (impl, error) {
		c, err := rueidis.NewClient(connection(addr))
		return permitScripts{c, strconv.FormatInt(stock, 10), pairs}, err
	}
}

func (p permitScripts) locker(name string) locker {
	b := newBarePermit(p.c, name)
	set := p.c.B().Set().Key(b.key[0]).Value(p.stock).Build()
	if err := p.c.Do(context.Background(), set).Error(); err != nil {
		return func(context.Context) (unlock, error) { return nil, err }
	}
	back := done
	return func(ctx context.Context) (unlock, error) {
		err := b.acquire(ctx)
		if p.stock == "0" && err == errBusy {
			err = nil
		}
		if p.pairs {
			back = func() error { return b.release(ctx) }
		}
		return back, err
	}
}

// barePermit is a permit of one name, and the scripts for it, with nothing
// around.
type barePermit struct {
	c         rueidis.Client
	key       []string
	one, give []string
}

func newBarePermit(c rueidis.Client, name string) *barePermit {
	key := "floor:" + name
	return &barePermit{c, []string{key}, []string{"1"}, []string{"1", "redisson_sc:{" + key + "}"}}
}

func (b *barePermit) subscription() string { return b.give[1] }

func (b *barePermit) acquire(ctx context.Context) error {
	got, err := takeFloor.Exec(ctx, b.c, b.key, b.one).AsInt64()
	if err == nil && got == 0 {
		err = errBusy
	}
	return err
}

func (b *barePermit) release(ctx context.Context) error {
	return giveFloor.Exec(ctx, b.c, b.key, b.give).Error()
}

func (p permitScripts) close() { p.c.Close() }

func init() {
	impls["sale"], impls["sale script"] = newPermits(math.MaxInt32, false), newPermitScripts(math.MaxInt32, false)
	impls["sold out"], impls["sold out script"] = newPermits(0, false), newPermitScripts(0, false)
	impls["few permits"], impls["pair scripts"] = newPermits(8, true), newPermitScripts(math.MaxInt32, true)
	impls["one permit"], impls["one permit script"] = newPermits(1, true), newPermitScripts(1, true)
	impls["two permits"] = newPermits(2, true)
}

// BenchmarkSemaphore is one take of a sale, one refusal of a sale that is over,
// and one pair of many that wait for a few permits.
func BenchmarkSemaphore(b *testing.B) {
	benchHot(b, "sale", "sale script", "sold out", "sold out script", "few permits", "pair scripts")
}

// benchHot is what each of these does to one name, alone and in a crowd.
func benchHot(b *testing.B, impls ...string) {
	s := redistest.Shared(b)
	for _, name := range impls {
		for _, goroutines := range []int{1, 256} {
			b.Run(fmt.Sprintf("impl=%s/goroutines=%d", name, goroutines), func(b *testing.B) {
				onOneKey(connect(b, name, s.Addr()), redistest.Name(b), goroutines).bench(b, s)
			})
		}
	}
}
