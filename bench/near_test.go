package bench

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-redis/cache/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/nearcache"
)

// nearRows: values of 64 bytes as text, in a hash of 1,000 entries.
var nearRows = []row{
	{"near, hit, 1 goroutine, by DoCache", "ns", goal{atMost: 0.33}, nearHits(1, doCache)},
	{"near, hit, 8 goroutines, by DoCache", "ns", goal{atMost: 0.33}, nearHits(8, doCache)},
	{"near, hit, 1 goroutine, by go-redis/cache", "ns", goal{}, nearHits(1, localCache)},
	{"near, hit, 8 goroutines, by go-redis/cache", "ns", goal{}, nearHits(8, localCache)},
	{"near, Announced, hits of 200,000 Gets/s with 100 writes/s", "of 1", goal{atLeast: 0.995}, hitRatio(100)},
	{"near, Announced, hits of 200,000 Gets/s with 500 writes/s", "of 1", goal{atLeast: 0.995}, hitRatio(500)},
	{"near, Tracked, stale after the writer's reply, median", "us", goal{atMost: 50}, staleness(false, 0.5)},
	{"near, Tracked, stale after the writer's reply, p99", "us", goal{atMost: 1000}, staleness(false, 0.99)},
	{"near, Announced, stale after the writer's reply, median", "us", goal{atMost: 50}, staleness(true, 0.5)},
	{"near, Announced, stale after the writer's reply, p99", "us", goal{atMost: 1000}, staleness(true, 0.99)},
	{"near, Put that announces, 1 goroutine, by Put", "us/call", goal{atMost: 1.2}, besideScript("map put announced", "map put", 1, microseconds)},
	{"near, Put that announces, 1 goroutine, by a script of it", "us/call", goal{}, besideScript("map put announced", "told floor", 1, microseconds)},
}

func init() {
	impls["map put announced"] = mapped(func(m, _ *rmap.Map[string, string]) call {
		return func(ctx context.Context, i int) error { return m.Put(ctx, field(i), text64) }
	}, rmap.WithAnnounce())
	impls["told floor"] = bareMap(toldFloor)
}

// KEYS[1] hash; KEYS[2] log; ARGV[1] field; ARGV[2] value; ARGV[3] channel; ARGV[4] message; ARGV[5] and [6] of the log.
var toldScript = rueidis.NewLuaScript(`
if redis.call('exists', KEYS[2]) == 1 then
	redis.call('zadd', KEYS[2], ARGV[5], ARGV[6])
end
redis.call('publish', ARGV[3], ARGV[4])
return redis.call('hset', KEYS[1], ARGV[1], ARGV[2])`)

// toldFloor is as little as a write can be that tells near caches, those of
// Redisson that remember a log included.
func toldFloor(c rueidis.Client, name string) call {
	told := text64[:37] // a kind, an id, a number and a hash
	return func(ctx context.Context, i int) error {
		args := []string{field(i), text64, "{" + name + "}:topic", told, strconv.Itoa(i), told[:24]}
		return toldScript.Exec(ctx, c, []string{name, "{" + name + "}:log"}, args).Error()
	}
}

// nearCache is one with a copy of all fields, and a map of another client that
// writes what it was made of.
func nearCache(t *testing.T, s *redistest.Server, announced bool) (n *nearcache.Cache[string, string], writer *rmap.Map[string, string]) {
	t.Helper()
	if err := fill(s.Client(t), "near"); err != nil {
		t.Fatal(err)
	}
	var opts []rmap.MapOption
	var near []nearcache.Option
	if announced {
		opts, near = append(opts, rmap.WithAnnounce()), append(near, nearcache.WithAnnounced())
	}
	handle := func() *rmap.Map[string, string] {
		c, err := rueidisson.New(connection(s.Addr()), rueidisson.WithCodec(codec.Text))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		return rmap.New[string, string](c, "near", opts...)
	}
	n, writer = nearcache.New(handle(), near...), handle()
	t.Cleanup(n.Close)
	for _, f := range fields {
		if err := warm(t.Context(), n, f); err != nil {
			t.Fatal(err)
		}
	}
	return n, writer
}

// warm reads until there is a copy.
func warm(ctx context.Context, n *nearcache.Cache[string, string], f string) error {
	for began := time.Now(); time.Since(began) < 5*time.Second; {
		before := n.Stats().Hits
		if _, _, err := n.Get(ctx, f); err != nil {
			return err
		}
		if n.Stats().Hits > before {
			return nil
		}
	}
	return errors.Join(errors.New("no copies"), n.Stats().Err)
}

// localHit is a hit of a peer.
type localHit func(t *testing.T, s *redistest.Server) func(ctx context.Context, f string) error

func nearHits(goroutines int, peer localHit) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		n, _ := nearCache(t, s, false)
		ctx, hit := t.Context(), peer(t, s)
		return sides{
			ours: perHit(goroutines, func(i int) error { _, _, err := n.Get(ctx, field(i)); return err }),
			base: perHit(goroutines, func(i int) error { return hit(ctx, field(i)) }),
		}
	}
}

func doCache(t *testing.T, s *redistest.Server) func(ctx context.Context, f string) error {
	c, err := rueidis.NewClient(connection(s.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return func(ctx context.Context, f string) error {
		_, err := c.DoCache(ctx, c.B().Hget().Key("near").Field(f).Cache(), time.Hour).ToString()
		return err
	}
}

// localCache has a key for each entry, of which nobody tells it anything.
func localCache(t *testing.T, s *redistest.Server) func(ctx context.Context, f string) error {
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	t.Cleanup(func() { _ = c.Close() })
	local := cache.New(&cache.Options{Redis: c, LocalCache: cache.NewTinyLFU(entries, time.Hour)})
	for _, f := range fields {
		if err := local.Set(&cache.Item{Key: f, Value: text64, TTL: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	return func(ctx context.Context, f string) error {
		var v string
		return local.Get(ctx, f, &v)
	}
}

// perHit is the nanoseconds of a processor for each.
func perHit(goroutines int, f func(i int) error) measure {
	return func(d time.Duration) (float64, error) {
		began := time.Now()
		counts, errs := make([]int, goroutines), make([]error, goroutines)
		var all sync.WaitGroup
		for g := range goroutines {
			all.Go(func() {
				for i := 0; errs[g] == nil && (i%1000 != 0 || time.Since(began) < d); i++ {
					errs[g] = f(i)
					counts[g] = i + 1
				}
			})
		}
		all.Wait()
		sum := 0
		for _, n := range counts {
			sum += n
		}
		processors := min(goroutines, runtime.GOMAXPROCS(0))
		return float64(time.Since(began).Nanoseconds()) * float64(processors) / float64(sum), errors.Join(errs...)
	}
}

// hitRatio is what copies answer while another client writes.
func hitRatio(writes int) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		n, writer := nearCache(t, s, true)
		return sides{ours: once(func(d time.Duration) (float64, error) {
			ctx, cancel := context.WithTimeout(t.Context(), longer(d))
			defer cancel()
			var all sync.WaitGroup
			all.Go(func() { writeEvery(ctx, writer, time.Second/time.Duration(writes)) })
			defer all.Wait()
			before := n.Stats()
			err := readAll(ctx, n)
			after := n.Stats()
			hits, misses := after.Hits-before.Hits, after.Misses-before.Misses
			return float64(hits) / float64(hits+misses), err
		})}
	}
}

func writeEvery(ctx context.Context, m *rmap.Map[string, string], pause time.Duration) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for i := 0; ; i += 7 {
		select {
		case <-tick.C:
			_ = m.Put(ctx, field(i), text64) // what fails is not announced
		case <-ctx.Done():
			return
		}
	}
}

// readAll reads 200 entries each millisecond, until ctx ends.
func readAll(ctx context.Context, n *nearcache.Cache[string, string]) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i += 200 {
		for j := range 200 {
			if _, _, err := n.Get(context.WithoutCancel(ctx), field(i+j)); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// staleness is until when, after the writer's reply, a Get still began that
// returned what was there before, of a reader that looks all the time, and lets
// others have its processor that want it: Redis, and who hears of the change.
func staleness(announced bool, quantile float64) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		n, writer := nearCache(t, s, announced)
		at := 0
		return sides{ours: func(d time.Duration) (float64, error) {
			var all []float64
			for began := time.Now(); len(all) == 0 || time.Since(began) < d; at++ {
				x, err := stale(t.Context(), n, writer, strconv.Itoa(at))
				if err != nil {
					return 0, err
				}
				all = append(all, x)
			}
			slices.Sort(all)
			return all[int(quantile*float64(len(all)))], nil
		}}
	}
}

func stale(ctx context.Context, n *nearcache.Cache[string, string], writer *rmap.Map[string, string], v string) (us float64, err error) {
	if err := warm(ctx, n, field(0)); err != nil {
		return 0, err
	}
	if err := writer.Put(ctx, field(0), v); err != nil {
		return 0, err
	}
	replied := time.Now()
	for {
		asked := time.Since(replied)
		got, _, err := n.Get(ctx, field(0))
		if err != nil || got == v {
			return us, err
		}
		us = float64(asked.Nanoseconds()) / 1e3
		standBack()
	}
}
