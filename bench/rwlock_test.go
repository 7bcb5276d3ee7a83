package bench

import (
	"context"
	"encoding/json"
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
	{"reads of one key, 64 goroutines", "reads/s", goal{}, against("read", "read scripts", sharedBy(64))},
	{"reads of one key, 64 goroutines, CPU of the client", "us/read", goal{atMost: 1.7, why: "the server is nearly idle: the client's processor decides"}, timeOfClient("read", 64)},
	{"reads of one key, 4 processes x 16", "reads/s", goal{atLeast: 3}, readsOfProcesses},
	{"server's time of a read unlock, 1,000 readers by 10", "us", goal{atMost: 1.5}, readUnlocks},
	{"1 preferring writer among 64 readers of 1 ms in 4 processes, median wait", "ms", goal{atMost: 10}, writerAmongReaders},
	{"64 readers and 8 preferring writers of 1 ms in 4 processes, longest read wait", "ms", goal{atMost: 100}, readersAmongWriters},
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
	open             context.Context // of releases: one that a window leaves behind could come after the next acquire
	end              context.CancelFunc
}

func newRWFloor(side string) func(addr string) (impl, error) {
	return func(addr string) (impl, error) {
		c, err := rueidis.NewClient(connection(addr))
		open, end := context.WithCancel(context.Background())
		acquire, release := rueidis.NewLuaScript(rwScript(side+"_acquire")), rueidis.NewLuaScript(rwScript(side+"_release"))
		return rwFloor{c, acquire, release, side == "write", open, end}, err
	}
}

func rwScript(name string) string {
	text, err := os.ReadFile("../rwlock/lua/" + name + ".lua")
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (f rwFloor) close() {
	f.end()
	f.c.Close()
}

func (f rwFloor) locker(name string) locker {
	client := uuid.NewString()
	owner := client + ":" + strconv.Itoa(1<<62)
	tag := ":{" + name + "}"
	gone, claims, waiting, turn := "rueidisson_gone"+tag, "rueidisson_rw_writers"+tag, "rueidisson_rw_readers"+tag, "rueidisson_rw_turn"+tag
	mark, channel := "{"+name+"}:"+owner+":rwlock_timeout:1", "redisson_rwlock"+tag
	take, taken := []string{name, gone, claims, mark, waiting, turn}, []string{lease, owner, client, "1"}
	give, given := []string{name, mark}, []string{owner, channel, "publish"}
	if f.write {
		take, taken = []string{name, gone, claims, turn, waiting}, []string{lease, owner + ":write", client, "0", "0"}
		give, given = []string{name, waiting, turn}, []string{owner + ":write", channel, "publish", "20"}
	}
	return func(ctx context.Context) (unlock, error) {
		if err := f.acquire.Exec(ctx, f.c, take, taken).Error(); !rueidis.IsRedisNil(err) {
			return nil, fmt.Errorf("%w: %v", errBusy, err)
		}
		return func() error {
			n, err := f.release.Exec(f.open, f.c, give, given).AsInt64()
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

// waits are those of one kind.
type waits struct {
	mu  sync.Mutex
	all []time.Duration
}

func (w *waits) add(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, d)
}

// waited are waits as a process tells of them, in milliseconds.
type waited struct {
	N                    int
	Median, P99, Longest float64
	Pause                float64 // the longest time in which nobody of the process got the lock
}

func (w *waits) waited() waited {
	slices.Sort(w.all)
	at := func(q float64) float64 {
		if len(w.all) == 0 {
			return 0
		}
		return float64(w.all[min(len(w.all)-1, int(q*float64(len(w.all))))]) / float64(time.Millisecond)
	}
	return waited{N: len(w.all), Median: at(0.5), P99: at(0.99), Longest: at(1)}
}

// among is the waits of several processes as one: of the medians that of the
// process that had most.
func among(all []waited) (sum waited) {
	most := 0
	for _, w := range all {
		sum.N += w.N
		sum.P99, sum.Longest, sum.Pause = max(sum.P99, w.P99), max(sum.Longest, w.Longest), max(sum.Pause, w.Pause)
		if w.N > most {
			most, sum.Median = w.N, w.Median
		}
	}
	return sum
}

// turnTaker is a process whose readers, and preferring writers, take turns on one
// lock, all for a millisecond; a writer rests for a pause behind its turn. It does so for
// each duration that it hears.
func turnTaker(p *redistest.Parent) {
	c, err := rueidisson.New(connection(env("BENCH_ADDR")))
	if err != nil {
		p.Say("%v", err)
		return
	}
	l := c.RWLock(env("BENCH_KEY"))
	pause, _ := time.ParseDuration(env("BENCH_PAUSE"))
	p.Say("ready")
	for line, ok := p.Hear(); ok; line, ok = p.Hear() {
		d, _ := time.ParseDuration(line)
		reads, writes, still := takeTurns(l, d, pause)
		both := []waited{reads.waited(), writes.waited()}
		both[0].Pause = float64(still) / float64(time.Millisecond)
		text, _ := json.Marshal(both)
		p.Say("waits %s", text)
	}
}

// takeTurns returns the waits of both sides, and the longest time in which nobody got the
// lock.
func takeTurns(l *rwlock.Lock, d, pause time.Duration) (reads, writes *waits, still time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	reads, writes = new(waits), new(waits)
	var all sync.WaitGroup
	var mu sync.Mutex
	last := time.Now()
	got := func() {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		still, last = max(still, now.Sub(last)), now
	}
	run := func(side lock.Locker, w *waits, pause time.Duration) {
		for ctx.Err() == nil {
			began := time.Now()
			hold, err := side.Lock(ctx)
			if err != nil {
				return
			}
			w.add(time.Since(began))
			got()
			time.Sleep(time.Millisecond)
			_ = hold.Unlock(ctx)
			time.Sleep(pause)
		}
	}
	for range number("BENCH_READERS") {
		all.Go(func() { run(l.Read(), reads, 0) })
	}
	for range number("BENCH_WRITERS") {
		all.Go(func() { run(l.Write(), writes, pause) })
	}
	all.Wait()
	return reads, writes, still
}

// crowdOf is four processes of 16 readers each, and of writers as many as it says.
func crowdOf(t *testing.T, s *redistest.Server, writers [4]int, pause time.Duration) func(d time.Duration) (reads, writes waited, err error) {
	var all []*redistest.Child
	for _, n := range writers {
		all = append(all, redistest.StartChild(t, "turns", "BENCH_ADDR="+s.Addr(), "BENCH_KEY=crowd",
			"BENCH_READERS=16", "BENCH_WRITERS="+strconv.Itoa(n), "BENCH_PAUSE="+pause.String()))
	}
	for _, c := range all {
		c.Await("ready")
	}
	return func(d time.Duration) (reads, writes waited, err error) {
		for _, c := range all {
			c.Send("%v", d)
		}
		var r, w []waited
		for _, c := range all {
			var of [2]waited
			text := strings.TrimPrefix(c.Await("waits"), "waits ")
			if err := json.Unmarshal([]byte(text), &of); err != nil {
				return reads, writes, fmt.Errorf("%w: %q", err, text)
			}
			r, w = append(r, of[0]), append(w, of[1])
		}
		return among(r), among(w), nil
	}
}

func writerAmongReaders(t *testing.T, s *redistest.Server) sides {
	crowd, note := crowdOf(t, s, [4]int{1}, 20*time.Millisecond), ""
	return sides{
		ours: once(func(d time.Duration) (float64, error) {
			reads, writes, err := crowd(longer(d))
			note = fmt.Sprintf("its longest wait %.1f ms (bound 100), %d writes; %d reads, longest pause %.1f ms",
				writes.Longest, writes.N, reads.N, reads.Pause)
			return writes.Median, err
		}),
		note: func() string { return note },
	}
}

func readersAmongWriters(t *testing.T, s *redistest.Server) sides {
	crowd, note := crowdOf(t, s, [4]int{2, 2, 2, 2}, 0), ""
	return sides{
		ours: once(func(d time.Duration) (float64, error) {
			reads, writes, err := crowd(longer(d))
			note = fmt.Sprintf("p99 %.1f ms of %d reads; %d writes, median %.1f ms, longest %.1f ms (bound 1000); longest pause %.1f ms",
				reads.P99, reads.N, writes.N, writes.Median, writes.Longest, reads.Pause)
			return reads.Longest, err
		}),
		note: func() string { return note },
	}
}
