package chaos

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	"github.com/rueidisson/rueidisson/lock"
)

// arena is a topology, and processes that use it through proxies.
type arena struct {
	t       testing.TB
	at      topology
	version string
	binary  string       // of the processes
	killed  map[int]bool // in this round
	site    site
	server  *redistest.Server
	members []*rueidisson.Client // of the test, which no nemesis reaches: one for each client of a process
	direct  *rueidisson.Client   // the first of them
	raw     rueidis.Client
	admins  map[*redistest.Server]rueidis.Client
	lines   [][]*redistest.Proxy // of each process: before each server
	proxies []*redistest.Proxy   // all of them
	store   *redistest.Proxy     // before the server of guarded values and stores, which no nemesis reaches
	backing *rueidisson.Client   // of the test, on that server
	peer    *rueidisson.Client   // of the test, with the watchdog of the processes
	users   []*redistest.Child
	clients map[int]string // ids of the processes' clients
	rounds  int
	name    string            // how the names of rounds begin
	aside   *bystander        // nil: there are several servers
	sizes   []sizes           // of the processes, when they were started
	used    map[string]object // by the names of rounds in which no server forgot anything
	samples []stock           // after the rounds of a long run
	unknown int               // rounds without one

	patience time.Duration      // for a name to be free when the faults are over; 0: the usual one
	sees     func(cmd []string) // is told of the commands of each round; may be nil
}

// newArena starts one server.
func newArena(t testing.TB, version string) *arena {
	t.Helper()
	return newArenaOn(t, topologies[0], version, os.Args[0])
}

// newArenaOn starts a topology, and processes of a binary of this package.
func newArenaOn(t testing.TB, at topology, version, binary string) *arena {
	t.Helper()
	a := &arena{
		t: t, at: at, version: version, binary: binary, site: at.start(t, version), name: redistest.Name(t),
		clients: map[int]string{}, admins: map[*redistest.Server]rueidis.Client{}, used: map[string]object{},
	}
	a.server, a.raw = a.site.servers[0], a.site.raw(t)
	for _, e := range a.site.entries {
		a.members = append(a.members, a.client(e))
	}
	a.direct, a.peer = a.members[0], a.client(a.site.entries[0], rueidisson.WithWatchdogTimeout(watchdog))
	a.store = redistest.NewProxy(t, redistest.Start(t, redistest.Version(version)).Addr())
	a.backing = a.client(alone(a.store.Target()))
	if at.name == onSingle { // its oracles are about one server
		a.aside = newBystander(t, a.server, version)
	}
	a.sizes = make([]sizes, processes)
	for i := range processes {
		var line []*redistest.Proxy
		for _, s := range a.site.servers {
			line = append(line, redistest.NewProxy(t, s.Addr()))
		}
		a.lines, a.proxies = append(a.lines, line), append(a.proxies, line...)
		a.users = append(a.users, nil)
		a.start(i)
	}
	return a
}

// admin returns a client of one server, which no nemesis reaches.
func (a *arena) admin(s *redistest.Server) rueidis.Client {
	if a.admins[s] == nil {
		a.admins[s] = s.Client(a.t)
	}
	return a.admins[s]
}

// client returns a client of the test, which no nemesis reaches.
func (a *arena) client(e entry, opts ...rueidisson.Option) *rueidisson.Client {
	a.t.Helper()
	c, err := e.open(opts...)
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
	var entries []entry
	for _, e := range a.site.entries {
		e.Through = redistest.Detours(a.lines[i]...)
		entries = append(entries, e)
	}
	line, err := json.Marshal(entries)
	require.NoError(a.t, err)
	a.users[i] = redistest.StartChildOf(a.t, a.binary, "user", fmt.Sprintf("CHAOS_PROC=%d", i+1), "CHAOS_ENTRIES="+string(line), "CHAOS_STORE="+a.store.Addr())
	a.clients[i+1] = strings.TrimPrefix(a.users[i].Await("client"), "client ")
	a.sizes[i] = sized(a.users[i])
}

// field returns what a nemesis may break in a round with these names. Of several masters it is one of them.
func (a *arena) field(o object, names []string, seed uint64, own *recorder, kill func(i int)) *field {
	f := &field{rnd: rand.New(rand.NewPCG(seed, 0)), t: a.t, site: &a.site, names: names, keys: names, lines: a.lines, users: a.users, record: own, kill: kill}
	if o.keys != nil {
		f.keys = nil
		for _, name := range names {
			f.keys = append(f.keys, o.keys(name)...)
		}
	}
	f.key = f.keys[f.rnd.IntN(len(f.keys))]
	f.server = a.site.master(f, f.key)
	f.raw = a.admin(f.server)
	if a.site.sentinel == nil && a.site.cluster == nil {
		f.proxies = a.proxies
		return f
	}
	for _, line := range a.lines { // those that are in use
		f.proxies = append(f.proxies, line[slices.Index(a.site.servers, f.server)])
	}
	return f
}

// mostShown is how many findings of a name are shown.
const mostShown = 3

// What oracles judge. A nemesis after which not all is promised says what still is.
const (
	exclusion = "exclusion"               // holds do not overlap, tokens rise
	aLease    = "exclusion after a lease" // they overlap for a lease at most
	onTime    = "on time"                 // a hold is lost before the server gives the name away
	fencing   = "fencing"                 // a guarded value keeps the order of tokens
	waiters   = "waiters"                 // those who wait are given what is free, and are told of failures; each worker gets on
	others    = "others"                  // a bystander is not disturbed
	progress  = "progress"                // what is free can be acquired after the faults
	contents  = "contents"                // numbers and elements of an object are right
)

// verdict has the findings and the counts of a round.
type verdict struct {
	promises   []string // what is judged; nil: everything
	violations []string
	counted    []string // what was found and is not promised
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

func (v *verdict) judges(what string) bool {
	return v.promises == nil || slices.Contains(v.promises, what)
}

// finds notes what oracles have found: it is a violation if the round promises it.
func (v *verdict) finds(what string, found ...string) {
	if v.judges(what) {
		v.violations = append(v.violations, found...)
	} else {
		v.counted = append(v.counted, found...)
	}
}

// round has the processes use names that are new, while the nemesis breaks something.
func (a *arena) round(o object, n nemesis, d time.Duration, seed uint64) (v verdict) {
	a.t.Helper()
	o = o.over(a.backing, a.peer)
	a.rounds++
	d, v.promises = max(d, n.lasts), n.promises
	ctx, cancel := context.WithTimeout(context.Background(), 10*redistest.Soon)
	defer cancel()
	reign := a.reign(ctx)
	names := a.names(ctx, o, n)
	dir := a.t.TempDir()
	own, err := newRecorder(filepath.Join(dir, "0"), 0)
	require.NoError(a.t, err)
	defer own.file.Close()

	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	w := &watcher{raw: a.raw, of: o.owners(), names: names, ahead: a.site.ahead}
	var watches sync.WaitGroup
	if w.of != nil {
		watches.Go(func() { w.run(watching) })
	}
	stop := redistest.Metronome()
	stopPings := a.bystands(ctx, n)
	for i, u := range a.users {
		line, err := json.Marshal(order{o.name, names, filepath.Join(dir, fmt.Sprint(i+1)), d, seed, n.holdOn, n.patient})
		require.NoError(a.t, err)
		u.Send("%s", line)
	}
	killed := map[int]bool{}
	a.killed = killed
	load, over := context.WithTimeout(ctx, d)
	defer over()
	n.breaks(load, a.field(o, names, seed, own, func(i int) {
		killed[i] = true
		a.users[i].Kill()
	}))
	<-load.Done()
	v.still = max(a.rest(&v, killed), stop())
	v.beside(n, stopPings())
	clients := maps.Clone(a.clients)
	if now := a.reign(ctx); v.promises == nil && !slices.Equal(reign, now) {
		v.promises = stillPromised // the machine is slow
		v.unjudged += len(names)
		a.t.Logf("%s under %s: a replica took over, and no nemesis had it do that: %q, then %q", o.name, n.name, reign, now)
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
	if a.aside != nil {
		v.waits(n, events)
	}
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
		v.finds(progress, "no operation was completed")
	}
}

// names returns the names of a round, with what they need.
func (a *arena) names(ctx context.Context, o object, n nemesis) (names []string) {
	a.t.Helper()
	for i := range 3 {
		name := fmt.Sprintf("%s-%d-%d", a.name, a.rounds, i)
		names = append(names, name)
		if n.promises == nil {
			a.used[name] = o
		}
		if o.set != nil {
			require.NoError(a.t, o.set(ctx, a.direct, name))
		}
	}
	return names
}

// rest waits until the processes that live have done what they were told. It returns for how long one of them stood still. One that
// ends by itself is a violation.
func (a *arena) rest(v *verdict, killed map[int]bool) (longest time.Duration) {
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
		longest = max(longest, still)
	}
	return longest
}

// bystands has the bystander watch a round, if there is one.
func (a *arena) bystands(ctx context.Context, n nemesis) (stop func() beside) {
	if a.aside == nil {
		return func() beside { return beside{} }
	}
	return a.aside.watches(ctx, fmt.Sprintf("%s-beside-%d", a.name, a.rounds), n.sparesServer())
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

// about returns findings with the name that they are about.
func about(name string, found []string) (all []string) {
	for _, f := range found {
		all = append(all, name+": "+f)
	}
	return all
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
		v.finds(exclusion, about(name, overlaps(spans, o.limit))...)
		if o.tokens {
			v.finds(exclusion, about(name, falling(spans))...)
		}
		if w.of != nil {
			some, _ := untold(spans, w.seen[name], clients)
			v.finds(onTime, about(name, some)...)
			v.told = max(v.told, latestWord(spans, w.seen[name], clients))
		}
		v.finds(aLease, about(name+", more than a lease after there were two masters", overlaps(bothSides(spans, events), o.limit))...)
	}
	if o.tokens {
		found, writes, chances := unordered(events)
		v.finds(fencing, found...)
		v.writes, v.chances = writes, v.chances+chances
	}
	if a.aside != nil && o.hashed && !o.several {
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
		v.finds(others, found...)
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
			v.finds(waiters, fmt.Sprintf("%s: it was free for %v, and a call waited for it:\n\t%v", name, d, by))
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
	v.finds(waiters, found...)
	v.chances += waited + seen
}

// free is how long a name may take to be free when the faults are over: a lease, and a while in which nobody looks.
const free = 2 * (longest + 6*time.Second)

// settled checks that each name can be acquired when the faults are over, and that no permit is lost or too many.
func (a *arena) settled(ctx context.Context, v *verdict, o object, names []string, dir string, events []event, killed bool) {
	limit, what := redistest.Scaled(cmp.Or(a.patience, free)), contents
	if o.judge == nil && o.free == nil {
		what = progress
	} else if !v.judges(contents) {
		limit = redistest.Scaled(2 * longest) // nothing that is waited for need come
	}
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
		case still > limit/8 && v.judges(what):
			v.unjudged++
			v.doubted = append(v.doubted, err.Error())
			a.t.Logf("%s is not judged: this process stood still for %v: %v", name, still, err)
		default:
			v.finds(what, fmt.Sprintf("%s: after the faults: %v", name, err))
		}
	}
}

// acquired acquires a name and releases it. An object of several names takes the other one, too.
func (a *arena) acquired(ctx context.Context, o object, name, other string) error {
	t := terms{rnd: rand.New(rand.NewPCG(1, 1)), members: a.members, names: []string{name}, alone: true}
	if o.several {
		t.names = append(t.names, other)
	}
	h, err := o.acquire(ctx, a.direct, t)
	if err != nil {
		return err
	}
	if err := h.free(ctx); err != nil || o.reads == nil {
		return err
	}
	return shares(ctx, o.reads(a.direct, name), o.reads(a.peer, name))
}

// shares has a reader acquire what a reader of another process holds.
func shares(ctx context.Context, one, other lock.Locker) error {
	first, err := one.Lock(ctx)
	if err != nil {
		return err
	}
	second, err := other.Lock(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("a reader beside another one: %w", err), first.Unlock(context.WithoutCancel(ctx)))
	}
	return errors.Join(first.Unlock(ctx), second.Unlock(ctx))
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
