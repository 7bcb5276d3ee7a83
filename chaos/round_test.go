package chaos

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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
	binary  string       // of the processes
	killed  map[int]bool // in this round
	server  *redistest.Server
	direct  *rueidisson.Client // of the test, which no nemesis reaches
	raw     rueidis.Client
	proxies []*redistest.Proxy
	store   *redistest.Proxy   // before the server of guarded values and stores, which no nemesis reaches
	backing *rueidisson.Client // of the test, on that server
	peer    *rueidisson.Client // of the test, with the watchdog of the processes
	users   []*redistest.Child
	clients map[int]string // ids of the processes' clients
	rounds  int
	name    string // how the names of rounds begin
	aside   *bystander
	sizes   []sizes           // of the processes, when they were started
	used    map[string]object // by name

	patience time.Duration      // for a name to be free when the faults are over; 0: the usual one
	sees     func(cmd []string) // is told of the commands of each round; may be nil
}

func newArena(t testing.TB, version string) *arena {
	t.Helper()
	return newArenaOf(t, version, os.Args[0])
}

// newArenaOf returns an arena whose processes run another binary of this package.
func newArenaOf(t testing.TB, version, binary string) *arena {
	t.Helper()
	a := &arena{t: t, version: version, binary: binary, server: redistest.Start(t, redistest.Version(version)), clients: map[int]string{}, used: map[string]object{}}
	a.raw, a.name = a.server.Client(t), redistest.Name(t)
	a.direct = a.client(a.server.Addr())
	a.peer = a.client(a.server.Addr(), rueidisson.WithWatchdogTimeout(watchdog))
	a.store = redistest.NewProxy(t, redistest.Start(t, redistest.Version(version)).Addr())
	a.backing = a.client(a.store.Target())
	a.aside = newBystander(t, a.server, version)
	a.sizes = make([]sizes, processes)
	for i := range processes {
		a.proxies = append(a.proxies, redistest.NewProxy(t, a.server.Addr()))
		a.users = append(a.users, nil)
		a.start(i)
	}
	return a
}

// client returns a client of the test, which no nemesis reaches.
func (a *arena) client(addr string, opts ...rueidisson.Option) *rueidisson.Client {
	a.t.Helper()
	c, err := redistest.Patient(func() (*rueidisson.Client, error) {
		return rueidisson.New(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true}, opts...)
	})
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
	a.users[i] = redistest.StartChildOf(a.t, a.binary, "user", fmt.Sprintf("CHAOS_PROC=%d", i+1), "CHAOS_SERVER="+a.proxies[i].Addr(),
		"CHAOS_STORE="+a.store.Addr())
	a.clients[i+1] = strings.TrimPrefix(a.users[i].Await("client"), "client ")
	a.sizes[i] = sized(a.users[i])
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
	unjudged   int      // names that were not judged: this process stood still
	doubted    []string // what was found of them
	slowest    time.Duration
	ping       time.Duration // the longest of a bystander
	pause      time.Duration // the longest in which a name was free and a call of an undisturbed process waited for it
	told       time.Duration // the longest from the moment at which the server let a hold go until its holder learned that
	still      time.Duration // for how long a process of the round stood still, not counting those that were stopped
	events     []event
}

// round has the processes use names that are new, while the nemesis breaks something.
func (a *arena) round(o object, n nemesis, d time.Duration, seed uint64) (v verdict) {
	a.t.Helper()
	o = o.over(a.backing, a.peer)
	a.rounds++
	ctx, cancel := context.WithTimeout(context.Background(), 10*redistest.Soon)
	defer cancel()
	var names []string
	for i := range 3 {
		name := fmt.Sprintf("%s-%d-%d", a.name, a.rounds, i)
		names = append(names, name)
		a.used[name] = o
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
	w := &watcher{raw: a.raw, of: o.owners(), names: names}
	var watches sync.WaitGroup
	if w.of != nil {
		watches.Go(func() { w.run(watching) })
	}
	stop := redistest.Metronome()
	stopPings := a.aside.watches(ctx, fmt.Sprintf("%s-beside-%d", a.name, a.rounds), n.sparesServer())
	for i, u := range a.users {
		line, err := json.Marshal(order{o.name, names, filepath.Join(dir, fmt.Sprint(i+1)), d, seed, n.holdOn, n.patient})
		require.NoError(a.t, err)
		u.Send("%s", line)
	}
	killed := map[int]bool{}
	a.killed = killed
	load, over := context.WithTimeout(ctx, d)
	defer over()
	n.breaks(load, &field{rnd: rand.New(rand.NewPCG(seed, 0)), server: a.server, raw: a.raw, proxies: a.proxies, users: a.users, names: names, record: own, kill: func(i int) {
		killed[i] = true
		a.users[i].Kill()
	}})
	<-load.Done()
	for i, u := range a.users {
		if killed[i] {
			continue
		}
		line, _ := u.AwaitFor("", redistest.Soon)
		text, is := strings.CutPrefix(line, "done ")
		still, err := time.ParseDuration(text)
		if !is || err != nil {
			v.violations = append(v.violations, fmt.Sprintf("process %d ended, or does not end the round; it says %q", i+1, line))
			killed[i] = true
			u.Kill()
		}
		v.still = max(v.still, still)
	}
	v.still = max(v.still, stop())
	v.beside(n, stopPings())
	clients := map[int]string{}
	for proc, id := range a.clients {
		clients[proc] = id
	}
	events := a.read(dir)
	v.count(events)
	a.settled(ctx, &v, o, names, dir, events, len(killed) > 0)
	stopWatching()
	watches.Wait()
	for i := range killed {
		a.start(i)
	}
	a.judge(&v, o, events, w, clients)
	v.waits(n, events)
	v.idle(d)
	v.events = events
	for _, p := range append([]*redistest.Proxy{a.store}, a.proxies...) {
		if a.sees != nil {
			for _, cmd := range p.Log() {
				a.sees(cmd)
			}
		}
		p.ResetLog()
	}
	return v
}

// idle has a round in which no operation was completed be a violation, unless a process stood still for much of it.
func (v *verdict) idle(d time.Duration) {
	switch {
	case v.holds+v.done > 0:
	case v.still > d/4:
		v.unjudged++
	default:
		v.violations = append(v.violations, "no operation was completed")
	}
}

// read returns the records of a round.
func (a *arena) read(dir string) (events []event) {
	a.t.Helper()
	for i := range processes + 1 {
		some, _, err := readRecord(filepath.Join(dir, fmt.Sprint(i)))
		if a.killed[i-1] && errors.Is(err, fs.ErrNotExist) {
			continue // it had not begun
		}
		require.NoError(a.t, err)
		events = append(events, some...)
	}
	return events
}

func (v *verdict) count(events []event) {
	for _, e := range events {
		switch e.Kind {
		case asks, begins:
			v.calls++
		case ends:
			if e.Outcome == done {
				v.done++
			}
		case breaks:
			v.faults++
		}
	}
	v.slowest = slowest(events)
	v.violations = append(v.violations, scriptErrors(events)...)
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
		if w.of != nil {
			some, _ := untold(spans, w.seen[name], clients)
			found = append(found, some...)
			v.told = max(v.told, latestWord(spans, w.seen[name], clients))
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
	if o.hashed && !o.several {
		v.pauses(events, all, w)
	}
	v.chances += lateOnes(events, all)
	if !o.leased {
		v.chances = v.faults // each may lose a permit, or give one too many
	}
}

// beside judges what a bystander saw.
func (v *verdict) beside(n nemesis, b beside) {
	v.ping = b.busy.longest
	if found, unjudged := b.findings(); n.sparesServer() {
		v.violations = append(v.violations, found...)
		if unjudged {
			v.unjudged++
		}
	}
}

// pauses judges how long names were free while calls waited for them.
func (v *verdict) pauses(events []event, all map[string][]span, w *watcher) {
	waits, faults := waitsOf(events), faultsOf(events)
	for _, name := range w.names {
		of := slices.DeleteFunc(slices.Clone(waits), func(w wait) bool { return w.name != name })
		d, by := longestPause(freeOf(w.seen[name], all[name]), of, faults)
		v.pause = max(v.pause, d)
		switch {
		case d <= mostPause:
		case v.still > mostPause/4:
			v.unjudged++
		default:
			v.violations = append(v.violations, fmt.Sprintf("%s: it was free for %v, and a call waited for it:\n\t%v", name, d, by))
		}
	}
}

// waits judges what workers were told, and whether they got on.
func (v *verdict) waits(n nemesis, events []event) {
	if n.quick() {
		return
	}
	found, waited := toldTogether(waitsOf(events), faultsOf(events))
	some, seen := starved(events)
	if found = append(found, some...); v.still > apart/4 {
		v.unjudged += len(found)
		return
	}
	v.violations = append(v.violations, found...)
	v.chances += waited + seen
}

// free is how long a name may take to be free when the faults are over: a lease, and a while in which nobody looks.
const free = 2 * (longest + 6*time.Second)

// settled checks that each name can be acquired when the faults are over, and that no permit is lost or too many.
func (a *arena) settled(ctx context.Context, v *verdict, o object, names []string, dir string, events []event, killed bool) {
	limit := redistest.Scaled(cmp.Or(a.patience, free))
	for i, name := range names {
		stop := redistest.Metronome()
		waiting, cancel := context.WithTimeout(ctx, limit)
		var err error
		if o.judge != nil {
			found, chances := o.judge(waiting, a.direct, name, events)
			for o.again && len(found) > 0 && sleep(waiting, 200*time.Millisecond) {
				events = a.read(dir)
				found, chances = o.judge(waiting, a.direct, name, events)
			}
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
			v.doubted = append(v.doubted, err.Error())
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
