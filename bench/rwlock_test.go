package bench

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rwlock"
)

var rwRows = []row{
	{"read lock, own keys, 1 goroutine", "us/pair", goal{atMost: 1.15}, against("read", "read scripts", ownOf(1))},
	{"write lock, own keys, 1 goroutine", "us/pair", goal{atMost: 1.15}, against("write", "write scripts", ownOf(1))},
	{"reads of one key, 64 goroutines", "reads/s", goal{atLeast: 15}, against("read", "read scripts", sharedBy(64))},
	{"reads of one key, 4 processes x 16", "reads/s", goal{atLeast: 3}, readsOfProcesses},
	{"server's time of a read unlock, 1,000 readers by 10", "us", goal{atMost: 1.5}, readUnlocks},
	{"1 preferring writer among 64 readers of 1 ms in 4 clients, median wait", "ms", goal{atMost: 10}, writerAmongReaders},
	{"64 readers and 8 preferring writers of 1 ms in 4 clients, longest read wait", "ms", goal{atMost: 100}, readersAmongWriters},
}

// rwOurs is one side of our lock.
type rwOurs struct {
	ours
	side func(*rwlock.Lock) *rwlock.Side
}

func newRW(side func(*rwlock.Lock) *rwlock.Side) func(addr string) (impl, error) {
	return func(addr string) (impl, error) {
		c, err := rueidisson.New(connection(addr))
		return rwOurs{ours{c}, side}, err
	}
}

func (o rwOurs) locker(name string) locker {
	l := o.side(o.c.RWLock(name))
	return func(ctx context.Context) (unlock, error) {
		hold, err := l.Lock(ctx)
		if err != nil {
			return nil, err
		}
		return func() error { return hold.Unlock(ctx) }, nil
	}
}

// rwFloor is the same two scripts of a side, bare: each goroutine has an owner.
type rwFloor struct {
	c                rueidis.Client
	acquire, release *rueidis.Lua
	write            bool
}

func newRWFloor(side string) func(addr string) (impl, error) {
	return func(addr string) (impl, error) {
		c, err := rueidis.NewClient(connection(addr))
		return rwFloor{c, rueidis.NewLuaScript(rwScript(side + "_acquire")), rueidis.NewLuaScript(rwScript(side + "_release")), side == "write"}, err
	}
}

func rwScript(name string) string {
	text, err := os.ReadFile("../rwlock/lua/" + name + ".lua")
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (f rwFloor) close() { f.c.Close() }

func (f rwFloor) locker(name string) locker {
	client := uuid.NewString()
	owner := client + ":" + strconv.Itoa(1<<62)
	tag := ":{" + name + "}"
	gone, claims, waiting, turn := "rueidisson_gone"+tag, "rueidisson_rw_writers"+tag, "rueidisson_rw_readers"+tag, "rueidisson_rw_turn"+tag
	mark, channel := "{"+name+"}:"+owner+":rwlock_timeout:1", "redisson_rwlock"+tag
	take, taken := []string{name, gone, claims, mark, waiting, turn}, []string{lease, owner, client, "1"}
	give, given := []string{name, mark}, []string{owner, channel, "publish"}
	if f.write {
		take, taken = []string{name, gone, claims, turn}, []string{lease, owner + ":write", client, "0"}
		give, given = []string{name, waiting, turn}, []string{owner + ":write", channel, "publish", "20"}
	}
	return func(ctx context.Context) (unlock, error) {
		if err := f.acquire.Exec(ctx, f.c, take, taken).Error(); !rueidis.IsRedisNil(err) {
			return nil, fmt.Errorf("%w: %v", errBusy, err)
		}
		return func() error {
			n, err := f.release.Exec(ctx, f.c, give, given).AsInt64()
			if err == nil && n < 0 {
				err = errNotHeld
			}
			return err
		}, nil
	}
}

// against compares two implementations as of has them work.
func against(name, base string, of func(i impl, name string) measure) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		return sides{ours: of(connect(t, name, s.Addr()), name), base: of(connect(t, base, s.Addr()), "floor of "+name)}
	}
}

func ownOf(goroutines int) func(impl, string) measure {
	return func(i impl, name string) measure { return microseconds(onOwnKeys(i, name, goroutines).rate) }
}

func sharedBy(goroutines int) func(impl, string) measure {
	return func(i impl, name string) measure { return onOneKey(i, name, goroutines).rate }
}

func readsOfProcesses(t *testing.T, s *redistest.Server) sides {
	return sides{
		ours: startFleet(t, "read", s.Addr(), 4, 16, 0).rate, base: startFleet(t, "read scripts", s.Addr(), 4, 16, 0).rate, long: true,
	}
}

// readUnlocks is what a release of one of many readers takes the server.
func readUnlocks(t *testing.T, s *redistest.Server) sides {
	f := connect(t, "read scripts", s.Addr())
	beside := func(readers int) measure {
		name := "readers-" + strconv.Itoa(readers)
		return func(time.Duration) (float64, error) {
			const measured = 200
			var all []unlock
			for range readers {
				release, err := f.locker(name)(t.Context())
				if err != nil {
					return 0, err
				}
				all = append(all, release)
			}
			us := 0.0
			for range measured {
				release, err := f.locker(name)(t.Context())
				if err != nil {
					return 0, err
				}
				s.ResetStats()
				if err := release(); err != nil {
					return 0, err
				}
				took, err := evalTime(t, s)
				if err != nil {
					return 0, err
				}
				us += took
			}
			for _, release := range all {
				if err := release(); err != nil {
					return 0, err
				}
			}
			return us / measured, nil
		}
	}
	return sides{ours: beside(1000), base: beside(10)}
}

// evalTime is the server's time for scripts since its statistics were reset, us.
func evalTime(t *testing.T, s *redistest.Server) (float64, error) {
	c := s.Client(t)
	defer c.Close()
	text, err := c.Do(t.Context(), c.B().Info().Section("commandstats").Build()).ToString()
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(text, "cmdstat_evalsha:calls=")
	_, after, _ = strings.Cut(after, "usec=")
	number, _, _ := strings.Cut(after, ",")
	return strconv.ParseFloat(number, 64)
}

// waits are those of one kind, in order.
type waits struct {
	mu  sync.Mutex
	all []time.Duration
}

func (w *waits) add(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, d)
}

// at is a quantile.
func (w *waits) at(q float64) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.all) == 0 {
		return time.Hour
	}
	slices.Sort(w.all)
	return w.all[min(len(w.all)-1, int(q*float64(len(w.all))))]
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// crowdOf has readers, and preferring writers that begin every pause, take turns
// through four clients.
func crowdOf(t *testing.T, s *redistest.Server, readers, writers int, pause time.Duration) func(d time.Duration) (reads, writes *waits, err error) {
	var locks []*rwlock.Lock
	for range 4 {
		c, err := rueidisson.New(connection(s.Addr()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ours{c}.close() })
		locks = append(locks, c.RWLock("crowd", rwlock.WithWriterPreference()))
	}
	return func(d time.Duration) (*waits, *waits, error) {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		defer cancel()
		reads, writes := new(waits), new(waits)
		var all sync.WaitGroup
		run := func(side lock.Locker, w *waits, pause time.Duration) {
			for ctx.Err() == nil {
				began := time.Now()
				hold, err := side.Lock(ctx)
				if err != nil {
					return
				}
				w.add(time.Since(began))
				time.Sleep(time.Millisecond)
				_ = hold.Unlock(ctx)
				time.Sleep(pause)
			}
		}
		for g := range readers {
			all.Go(func() { run(locks[g%4].Read(), reads, 0) })
		}
		for g := range writers {
			all.Go(func() { run(locks[g%4].Write(), writes, pause) })
		}
		all.Wait()
		return reads, writes, nil
	}
}

func writerAmongReaders(t *testing.T, s *redistest.Server) sides {
	crowd, note := crowdOf(t, s, 64, 1, 20*time.Millisecond), ""
	return sides{
		ours: once(func(d time.Duration) (float64, error) {
			reads, writes, err := crowd(longer(d))
			note = fmt.Sprintf("its longest wait %.1f ms, %d writes; %d reads", millis(writes.at(1)), len(writes.all), len(reads.all))
			return millis(writes.at(0.5)), err
		}),
		note: func() string { return note },
	}
}

func readersAmongWriters(t *testing.T, s *redistest.Server) sides {
	crowd, note := crowdOf(t, s, 64, 8, 0), ""
	return sides{
		ours: once(func(d time.Duration) (float64, error) {
			reads, writes, err := crowd(longer(d))
			note = fmt.Sprintf("p99 %.1f ms of %d reads; %d writes, median %.1f ms, longest %.1f ms (bound 1000)",
				millis(reads.at(0.99)), len(reads.all), len(writes.all), millis(writes.at(0.5)), millis(writes.at(1)))
			return millis(reads.at(1)), err
		}),
		note: func() string { return note },
	}
}
