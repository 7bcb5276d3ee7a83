package bench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
)

// cacheRows: values of 64 bytes as text, in a cache of 1,000 entries.
var cacheRows = []row{
	{"cache, Get without idle time, 1 goroutine, by a script of HGET", "us/call", goal{atMost: 1.15}, besideScript("cache get", "hget script", 1, microseconds)},
	{"cache, Get without idle time, CPU of the server", "us/call", goal{atMost: 1.2}, mapCPU("cache get", "hget script", 1)},
	{"cache, Put with TTL, 1 goroutine, by a script of HSET", "us/call", goal{}, besideScript("cache put", "hset script", 1, microseconds)},
	{"cache, Put with TTL, 1 goroutine, by a script of HSET and ZADD", "us/call", goal{atMost: 1.15}, besideScript("cache put", "hset zadd script", 1, microseconds)},
	{"cache, Put with TTL, CPU of the server", "us/call", goal{atMost: 1.7}, mapCPU("cache put", "hset script", 1)},
	{"cache, Put with TTL, 64 goroutines, by go-redis/cache", "calls/s", goal{}, besideScript("cache put", "go-redis/cache set", 64, asIs)},
	{"cache, Put that evicts, CPU of the server", "us/call", goal{atMost: 2.1}, mapCPU("cache put evicting", "hset script", 1)},
	{"cache, Put with a bound by bytes, CPU of the server", "us/call", goal{}, mapCPU("cache put weighed", "hset script", 1)},
	{"cache, Put that evicts by bytes, CPU of the server", "us/call", goal{}, mapCPU("cache put evicting bytes", "hset script", 1)},
	{"cache, from the end of an entry to its event", "ms", goal{}, expiredEvent},
	{"cache, 1,000,000 entries expire at once, until they are gone", "s", goal{atMost: 60}, millionExpires},
}

var (
	hgetFloor = rueidis.NewLuaScript(`return redis.call('hget', KEYS[1], ARGV[1])`)
	hsetFloor = rueidis.NewLuaScript(`return redis.call('hset', KEYS[1], ARGV[1], ARGV[2])`)
	// An entry and its end, as a cache keeps both.
	hsetZaddFloor = rueidis.NewLuaScript(`
redis.call('zadd', KEYS[2], ARGV[3], ARGV[1])
return redis.call('hset', KEYS[1], ARGV[1], ARGV[2])`)
)

func init() {
	impls["hget script"] = bareMap(func(c rueidis.Client, name string) call {
		return func(ctx context.Context, i int) error {
			return hgetFloor.Exec(ctx, c, []string{name}, []string{field(i)}).Error()
		}
	})
	impls["hset script"] = bareMap(func(c rueidis.Client, name string) call {
		return func(ctx context.Context, i int) error {
			return hsetFloor.Exec(ctx, c, []string{name}, []string{field(i), text64}).Error()
		}
	})
	impls["hset zadd script"] = bareMap(func(c rueidis.Client, name string) call {
		keys := []string{name, "redisson__timeout__set:{" + name + "}"}
		return func(ctx context.Context, i int) error {
			end := strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10)
			return hsetZaddFloor.Exec(ctx, c, keys, []string{field(i), text64, end}).Error()
		}
	})
	impls["cache get"] = cached(unbounded, func(m *rmap.Cache[string, string]) call {
		return func(ctx context.Context, i int) error { _, _, err := m.Get(ctx, field(i)); return err }
	})
	impls["cache put"] = cached(unbounded, func(m *rmap.Cache[string, string]) call {
		return func(ctx context.Context, i int) error { return m.Put(ctx, field(i), text64, rmap.WithTTL(time.Hour)) }
	})
	impls["go-redis/cache set"] = newGoRedisCache(goRedisSet)
	put := func(m *rmap.Cache[string, string]) call {
		return func(ctx context.Context, i int) error { return m.Put(ctx, field(i), text64) }
	}
	impls["cache put evicting"] = cached(bound{entries: entries / 2}, put)
	impls["cache put weighed"] = cached(bound{bytes: 1 << 40}, put)
	impls["cache put evicting bytes"] = cached(bound{bytes: entries / 2 * int64(len(field(0))+16+len(text64))}, put)
}

// bound is how much a cache may have.
type bound struct{ entries, bytes int64 }

var unbounded bound

func (b bound) set(ctx context.Context, m *rmap.Cache[string, string]) error {
	if _, err := m.Delete(ctx); err != nil || b == unbounded { // its options, too
		return err
	}
	if b.bytes > 0 {
		return m.SetMaxBytes(ctx, b.bytes, rmap.LRU)
	}
	return m.SetMaxSize(ctx, b.entries, rmap.LRU)
}

type cacheImpl struct {
	c    *rueidisson.Client
	most bound
	of   func(m *rmap.Cache[string, string]) call
}

// cached is a cache with all fields, or as many of them as it may have.
func cached(most bound, of func(m *rmap.Cache[string, string]) call) func(addr string) (impl, error) {
	return func(addr string) (impl, error) {
		c, err := rueidisson.New(connection(addr), rueidisson.WithCodec(codec.Text))
		return cacheImpl{c, most, of}, err
	}
}

func (i cacheImpl) locker(name string) locker {
	ctx := context.Background()
	m := rmap.NewCache[string, string](i.c, fmt.Sprint(name, " at most ", i.most))
	err := i.most.set(ctx, m)
	for at := 0; err == nil && at < len(fields); at++ {
		err = m.Put(ctx, fields[at], text64, rmap.WithTTL(time.Hour))
	}
	if err != nil {
		return func(context.Context) (unlock, error) { return nil, err }
	}
	return i.of(m).locker()
}

func (i cacheImpl) close() { _ = i.c.Close(context.Background()) }

// expiredEvent is how late an entry's end is told.
func expiredEvent(t *testing.T, s *redistest.Server) sides {
	c, err := rueidisson.New(connection(s.Addr()), rueidisson.WithCodec(codec.Text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	m := rmap.NewCache[string, string](c, "expired event")
	var worst float64
	ours := func(time.Duration) (float64, error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		told := m.Events(ctx, rmap.Expired)
		due := time.Now().Add(20 * time.Millisecond)
		if err := m.Put(ctx, "k", text64, rmap.WithTTL(20*time.Millisecond)); err != nil {
			return 0, err
		}
		for _, err := range told {
			late := float64(time.Since(due).Microseconds()) / 1e3
			worst = max(worst, late)
			return late, err
		}
		return 0, ctx.Err()
	}
	return sides{ours: ours, note: func() string { return fmt.Sprintf("at most %.0f; promised: 1000 and a round trip", worst) }}
}

// millionExpires has them expire beside Gets of another cache, whose p99 is noted before and meanwhile.
func millionExpires(t *testing.T, s *redistest.Server) sides {
	raw := s.Client(t)
	var notes string
	ours := func(time.Duration) (float64, error) {
		c, err := rueidisson.New(connection(s.Addr()), rueidisson.WithCodec(codec.Text))
		if err != nil {
			return 0, err
		}
		defer func() { _ = c.Close(context.Background()) }()
		ctx := t.Context()
		live := rmap.NewCache[string, string](c, "live")
		if err := live.Put(ctx, "k", text64); err != nil {
			return 0, err
		}
		idle, idleCPU, err := latencies(ctx, raw, live, 500*time.Millisecond, func() bool { return false })
		if err != nil {
			return 0, err
		}
		m := rmap.NewCache[string, string](c, "all at once")
		filling := time.Duration(million()) * 12 * time.Microsecond
		ends := time.Now().Add(filling + time.Second)
		for i := 0; i < million(); i += 2000 {
			some := make(map[string]string, 2000)
			for j := range 2000 {
				some["field-"+strconv.Itoa(i+j)] = text64
			}
			if err := m.PutMany(ctx, some, rmap.WithTTL(max(time.Until(ends), time.Millisecond))); err != nil {
				return 0, err
			}
		}
		late := time.Until(ends)
		if late > 0 {
			<-time.After(late)
		}
		began := time.Now()
		busy, busyCPU, err := latencies(ctx, raw, live, time.Minute, func() bool { n, err := m.Len(ctx); return err == nil && n == 0 })
		took := time.Since(began).Seconds()
		calls := busyCPU.Seconds() - idleCPU.Seconds()/0.5*took // of what the live traffic and looking take
		notes = fmt.Sprintf("filled %.1f s before the end; p99 of Gets meanwhile %v, before %v; %.2g us of CPU of the server for each", late.Seconds(), busy, idle, calls*1e6/float64(million()))
		return took, err
	}
	return sides{ours: ours, note: func() string { return notes }}
}

// latencies is the p99 of Gets that come each millisecond, and what the server worked meanwhile.
func latencies(ctx context.Context, raw rueidis.Client, m *rmap.Cache[string, string], d time.Duration, done func() bool) (time.Duration, time.Duration, error) {
	var all []time.Duration
	before, err := usedCPU(raw)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(d); err == nil && time.Now().Before(end); {
		<-tick.C
		began := time.Now()
		_, _, err = m.Get(ctx, "k")
		all = append(all, time.Since(began))
		if len(all)%50 == 0 && done() {
			break
		}
	}
	if err != nil {
		return 0, 0, err
	}
	after, err := usedCPU(raw)
	slices.Sort(all)
	return all[len(all)*99/100], after - before, err
}
