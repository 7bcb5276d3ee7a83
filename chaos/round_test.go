package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// arena is a server, and processes that use it through proxies.
type arena struct {
	t       testing.TB
	version string
	server  *redistest.Server
	direct  *rueidisson.Client // of the test, which no nemesis reaches
	raw     rueidis.Client
	proxies []*redistest.Proxy
	store   *redistest.Proxy   // before the server of guarded values and stores, which no nemesis reaches
	backing *rueidisson.Client // of the test, on that server
	users   []*redistest.Child
	clients map[int]string // ids of the processes' clients
	rounds  int
}

func newArena(t testing.TB, version string) *arena {
	t.Helper()
	a := &arena{t: t, version: version, server: redistest.Start(t, redistest.Version(version)), clients: map[int]string{}}
	a.raw = a.server.Client(t)
	a.direct = a.client(a.server.Addr())
	a.store = redistest.NewProxy(t, redistest.Start(t, redistest.Version(version)).Addr())
	a.backing = a.client(a.store.Target())
	for i := range processes {
		a.proxies = append(a.proxies, redistest.NewProxy(t, a.server.Addr()))
		a.users = append(a.users, nil)
		a.start(i)
	}
	return a
}

// client returns a client of the test, with the same watchdog as those of the processes: they share durable subscribers.
func (a *arena) client(addr string) *rueidisson.Client {
	a.t.Helper()
	c, err := open(addr, slog.DiscardHandler)
	require.NoError(a.t, err)
	a.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), redistest.Soon)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}

// start starts a process. The processes have the numbers from 1 on.
func (a *arena) start(i int) {
	a.users[i] = redistest.StartChild(a.t, "user", fmt.Sprintf("CHAOS_PROC=%d", i+1), "CHAOS_SERVER="+a.proxies[i].Addr(),
		"CHAOS_STORE="+a.store.Addr())
	a.clients[i+1] = strings.TrimPrefix(a.users[i].Await("client"), "client ")
}

// mostShown is how many findings of a name are shown.
const mostShown = 3

// verdict has the findings and the counts of a round.
type verdict struct {
	violations []string
	chances    int
	holds      int
	writes     int
	done       int // operations that are no holds
	calls      int
	faults     int
	unjudged   int // names that were not judged: this process stood still
	slowest    time.Duration
	still      time.Duration // for how long a process of the round stood still, not counting those that were stopped
}

// round has the processes use names that are new, while the nemesis breaks something.
func (a *arena) round(o object, n nemesis, d time.Duration, seed uint64) (v verdict) {
	a.t.Helper()
	o = o.over(a.backing)
	a.rounds++
	ctx, cancel := context.WithTimeout(context.Background(), 10*redistest.Soon)
	defer cancel()
	var names []string
	for i := range 3 {
		name := fmt.Sprintf("%s-%d-%d", redistest.Name(a.t), a.rounds, i)
		names = append(names, name)
		if o.set != nil {
			require.NoError(a.t, o.set(ctx, a.direct, name))
		}
	}
	dir := a.t.TempDir()
	own, err := newRecorder(filepath.Join(dir, "0"), 0)
	require.NoError(a.t, err)
	defer own.file.Close()

	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	w := &watcher{raw: a.raw, names: names}
	var watches sync.WaitGroup
	if o.hashed {
		watches.Go(func() { w.run(watching) })
	}
	stop := redistest.Metronome()
	for i, u := range a.users {
		line, err := json.Marshal(order{o.name, names, filepath.Join(dir, fmt.Sprint(i+1)), d, seed, n.holdOn})
		require.NoError(a.t, err)
		u.Send("%s", line)
	}
	killed := map[int]bool{}
	load, over := context.WithTimeout(ctx, d)
	defer over()
	n.breaks(load, &field{rnd: rand.New(rand.NewPCG(seed, 0)), server: a.server, raw: a.raw, proxies: a.proxies, users: a.users, record: own, kill: func(i int) {
		killed[i] = true
		a.users[i].Kill()
	}})
	<-load.Done()
	for i, u := range a.users {
		if !killed[i] {
			line := u.Next()
			text, is := strings.CutPrefix(line, "done ")
			still, err := time.ParseDuration(text)
			if !is || err != nil {
				a.t.Fatalf("process %d says %q", i+1, line)
			}
			v.still = max(v.still, still)
		}
	}
	v.still = max(v.still, stop())
	clients := map[int]string{}
	for proc, id := range a.clients {
		clients[proc] = id
	}
	sleep(ctx, redistest.Scaled(o.rests))
	events := a.collect(dir, &v)
	a.settled(ctx, &v, o, names, events, len(killed) > 0)
	stopWatching()
	watches.Wait()
	for i := range killed {
		a.start(i)
	}
	a.judge(&v, o, events, w, clients)
	for _, p := range append([]*redistest.Proxy{a.store}, a.proxies...) {
		p.ResetLog()
	}
	return v
}

func (a *arena) collect(dir string, v *verdict) (events []event) {
	a.t.Helper()
	for i := range processes + 1 {
		some, _, err := readRecord(filepath.Join(dir, fmt.Sprint(i)))
		require.NoError(a.t, err)
		events = append(events, some...)
	}
	for _, e := range events {
		switch e.Kind {
		case asks, begins:
			v.calls++
		case ends:
			if e.Outcome == done {
				v.done++
			}
		case breaks, delivers:
			v.faults++
		}
	}
	v.slowest = slowest(events)
	return events
}

// judge asks the oracles of holds.
func (a *arena) judge(v *verdict, o object, events []event, w *watcher, clients map[int]string) {
	if o.judge != nil {
		return
	}
	all := spansOf(events)
	for name, spans := range all {
		v.holds += len(spans)
		v.chances += passings(spans)
		found := overlaps(spans, o.limit)
		if o.tokens {
			found = append(found, falling(spans)...)
		}
		if o.hashed {
			some, _ := untold(spans, w.seen[name], clients)
			found = append(found, some...)
		}
		for _, f := range found {
			v.violations = append(v.violations, name+": "+f)
		}
	}
	if o.tokens {
		found, writes, chances := unordered(events)
		v.violations = append(v.violations, found...)
		v.writes, v.chances = writes, v.chances+chances
	}
	v.chances += lateOnes(events, all)
	if !o.leased {
		v.chances = v.faults // each may lose a permit, or give one too many
	}
}

// free is how long a name may take to be free when the faults are over: a lease, and a while in which nobody looks.
const free = 2 * (longest + 6*time.Second)

// settled checks that each name can be acquired when the faults are over, and that no permit is lost or too many.
func (a *arena) settled(ctx context.Context, v *verdict, o object, names []string, events []event, killed bool) {
	limit := redistest.Scaled(free)
	for i, name := range names {
		stop := redistest.Metronome()
		waiting, cancel := context.WithTimeout(ctx, limit)
		var err error
		if o.judge != nil {
			found, chances := o.judge(waiting, a.direct, name, events)
			if v.chances += chances; len(found) > 0 {
				err = fmt.Errorf("%d findings, the first ones:\n\t%s", len(found), strings.Join(found[:min(len(found), mostShown)], "\n\t"))
			}
		} else if o.free != nil {
			err = a.conserved(waiting, o, name, events, killed)
		} else {
			err = a.acquired(waiting, o, name, names[(i+1)%len(names)])
		}
		cancel()
		switch still := stop(); {
		case err == nil:
		case still > limit/8:
			v.unjudged++
			a.t.Logf("%s is not judged: this process stood still for %v: %v", name, still, err)
		default:
			v.violations = append(v.violations, fmt.Sprintf("%s: after the faults: %v", name, err))
		}
	}
}

// acquired acquires a name and releases it. An object of several names takes the other one, too.
func (a *arena) acquired(ctx context.Context, o object, name, other string) error {
	t := terms{rnd: rand.New(rand.NewPCG(1, 1)), names: []string{name}, alone: true}
	if o.several {
		t.names = append(t.names, other)
	}
	h, err := o.acquire(ctx, a.direct, t)
	if err != nil {
		return err
	}
	return h.free(ctx)
}

// conserved waits until all permits are free. A process that was killed keeps what has no lease, and a release of unknown outcome
// may have been done or not.
func (a *arena) conserved(ctx context.Context, o object, name string, events []event, killed bool) error {
	least := int64(permits)
	if !o.leased {
		for _, e := range events {
			if e.Kind == released && e.Name == name && e.Outcome != "" {
				least--
			}
		}
		if killed {
			least = 0
		}
	}
	for {
		n, err := o.free(ctx, a.direct, name)
		if err == nil && n >= least && n <= permits {
			return nil
		}
		if err == nil && n > permits || !sleep(ctx, 10*time.Millisecond) {
			return fmt.Errorf("%d permits are free, expected %d to %d (%v)", n, least, permits, err)
		}
	}
}
