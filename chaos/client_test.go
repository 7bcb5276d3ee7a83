package chaos

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

const (
	processes = 4
	workers   = 8
	// watchdog is the lease of holds that are renewed. A send has a sixth of it, at least 250 ms.
	watchdog = 1500 * time.Millisecond
	// longest is the longest fixed lease, and shortest the shortest.
	longest  = 2 * time.Second
	shortest = 60 * time.Millisecond
)

// order tells a process what to do in a round.
type order struct {
	Object  string
	Names   []string
	Record  string // path
	For     time.Duration
	Seed    uint64
	HoldOn  bool // holds are kept beyond their lease
	Patient bool // calls wait until the round is over
}

// user uses objects in a process of its own. It follows the orders of the test until the test hangs up.
func user(p *redistest.Parent) {
	proc, err := strconv.Atoi(os.Getenv("CHAOS_PROC"))
	if err == nil {
		err = use(p, proc)
	}
	if err != nil {
		p.Say("failed %v", err)
	}
}

// size asks a process how many goroutines it has, and how large its heap is.
const size = "size"

// open opens the clients of entries.
func open(log slog.Handler, entries ...entry) (clients []*rueidisson.Client, err error) {
	for _, e := range entries {
		c, err := e.open(rueidisson.WithWatchdogTimeout(watchdog), rueidisson.WithLogger(slog.New(log)))
		if err != nil {
			return nil, err
		}
		clients = append(clients, c)
	}
	return clients, nil
}

// losses is a log that notes in the record of the round what the client says may be lost, and which scripts failed.
type losses struct {
	slog.Handler
	to *atomic.Pointer[recorder]
}

func (l losses) Enabled(context.Context, slog.Level) bool { return true }

func (l losses) Handle(_ context.Context, line slog.Record) error {
	e := event{Kind: warns, Outcome: line.Message}
	line.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "name":
			e.Name = a.Value.String()
		case "err":
			e.Error = a.Value.String()
		}
		return true
	})
	if scriptError.MatchString(e.Error) {
		e.Kind = fails
	}
	if r := l.to.Load(); r != nil && (e.Kind == fails || strings.Contains(line.Message, "may be lost")) {
		r.put(e)
	}
	return nil
}

func use(p *redistest.Parent, proc int) error {
	log := losses{slog.DiscardHandler, &atomic.Pointer[recorder]{}}
	var entries []entry
	if err := json.Unmarshal([]byte(os.Getenv("CHAOS_ENTRIES")), &entries); err != nil {
		return err
	}
	members, err := open(log, entries...)
	if err != nil {
		return err
	}
	stores, err := open(slog.DiscardHandler, alone(os.Getenv("CHAOS_STORE")))
	if err != nil {
		return err
	}
	p.Say("client %s", members[0].ID())
	for line, ok := p.Hear(); ok; line, ok = p.Hear() {
		if line == size {
			p.Say("%s %d %d", size, runtime.NumGoroutine(), redistest.HeapInUse())
			continue
		}
		var o order
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			return err
		}
		stop := redistest.Metronome()
		if err := follow(members, stores[0], proc, o, log.to); err != nil {
			return err
		}
		p.Say("done %v", stop())
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, client := range append(members, stores...) {
		if err := client.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	return nil
}

func follow(members []*rueidisson.Client, store *rueidisson.Client, proc int, o order, log *atomic.Pointer[recorder]) error {
	r, err := newRecorder(o.Record, proc) // open until the next round: the log goes on
	if err != nil {
		return err
	}
	if was := log.Swap(r); was != nil {
		defer was.file.Close()
	}
	i := indexOf(o.Object)
	if i < 0 {
		return fmt.Errorf("unknown object %q", o.Object)
	}
	round, cancel := context.WithTimeout(context.Background(), o.For)
	defer cancel()
	var all sync.WaitGroup
	for n := range workers {
		w := &worker{c: members[0], members: members, store: store, r: r, of: objects[i], o: o, number: n, rnd: rand.New(rand.NewPCG(o.Seed, uint64(proc*workers+n)))}
		all.Go(func() {
			for round.Err() == nil {
				w.turn(round)
			}
		})
	}
	all.Wait()
	closeShared()
	return nil
}

// handles are what the workers of this process share in a round, by kind and name.
var handles sync.Map

// shared returns the handle of that kind and name, which the first worker makes that needs it.
func shared[T any](kind, name string, open func() T) T {
	of, _ := handles.LoadOrStore([2]string{kind, name}, sync.OnceValue(func() any { return open() }))
	return of.(func() any)().(T)
}

// closeShared closes what has to be closed of them.
func closeShared() {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	handles.Range(func(key, of any) bool {
		switch h := of.(func() any)().(type) {
		case interface{ Close() }:
			h.Close()
		case interface {
			Close(ctx context.Context) error
		}:
			_ = h.Close(ctx) // what is left is for the judge
		}
		handles.Delete(key)
		return true
	})
}

func indexOf(object string) int {
	for i, o := range objects {
		if o.name == object {
			return i
		}
	}
	return -1
}

// worker is a goroutine of a process.
type worker struct {
	c       *rueidisson.Client
	members []*rueidisson.Client // of all entries: c is the first
	store   *rueidisson.Client   // on a server that no nemesis reaches
	r       *recorder
	of      object
	o       order
	number  int
	rnd     *rand.Rand
	holds   int64
	at      map[string]int64 // the next latch of each name
}

// turn acquires a hold, keeps it for a while, and releases it. Its context ends at any instant.
func (w *worker) turn(round context.Context) {
	w.holds++
	t := terms{rnd: w.rnd, members: w.members, names: w.o.Names}
	if w.rnd.IntN(4) > 0 {
		t.lease = w.between(shortest, w.between(shortest, longest))
	}
	patience := w.between(0, 300*time.Millisecond)
	if w.rnd.IntN(2) == 0 {
		patience = w.between(0, 4*time.Second)
	}
	if w.o.Patient {
		patience = w.o.For
	}
	ctx, cancel := context.WithTimeout(round, patience)
	defer cancel()
	if w.of.do != nil {
		w.of.do(ctx, w, round, t.name())
		sleep(round, 4*time.Millisecond)
		return
	}
	asked := event{Kind: asks}
	if !w.of.several {
		asked.Name = t.name()
		t.names = []string{asked.Name}
	}
	w.put(asked)
	h, err := w.of.acquire(ctx, w.c, t)
	if err != nil {
		w.put(event{Kind: refused, Name: asked.Name, Outcome: err.Error(), Busy: busy(err)})
		return
	}
	w.keep(round, h, t.lease)
	w.write(h)
	w.put(event{Kind: releases})
	freeing, stop := context.WithTimeout(context.Background(), w.between(50*time.Millisecond, 2*time.Second))
	defer stop()
	outcome := ""
	if err := h.free(freeing); err != nil {
		outcome = err.Error()
	}
	w.each(h, event{Kind: released, Outcome: outcome})
}

// keep notes how long the hold is trusted. A hold is kept for a moment, or, when the round says so, longer than its lease.
func (w *worker) keep(round context.Context, h held, lease time.Duration) {
	d := w.between(0, 20*time.Millisecond)
	if w.o.HoldOn && w.rnd.IntN(3) == 0 {
		d = w.between(0, cmp.Or(lease, watchdog)*3/2)
	}
	for end := now() + int64(d); ; {
		at := now()
		if h.err() != nil {
			w.each(h, event{Kind: lost})
			return
		}
		w.each(h, event{Kind: trusts, At: at, Shared: h.shared, Token: h.token, ID: h.id})
		if at > end || round.Err() != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// busy reports whether an error is an answer of the server: what the caller wants is not there.
func busy(err error) bool {
	for _, answer := range []error{lock.ErrNotAcquired, queue.ErrEmpty, queue.ErrFull, reliable.ErrEmpty, reliable.ErrFull} {
		if errors.Is(err, answer) {
			return true
		}
	}
	return false
}

// write writes the guarded value of a lock with fencing tokens, also when the hold is lost: the guard has to refuse that if a later
// hold has written.
func (w *worker) write(h held) {
	if !w.of.tokens {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	e := event{Name: h.names[0], Token: h.token, Kind: writing}
	w.put(e)
	err := w.store.FenceGuard(h.names[0]+":value", h.names[0]).Set(ctx, h.fence, fmt.Sprint(w.number))
	e.Kind = wrote
	switch {
	case errors.Is(err, lock.ErrStale):
		e.Outcome = stale
	case err != nil:
		e.Outcome = err.Error()
	}
	w.put(e)
}

// each writes an event of each name of a hold.
func (w *worker) each(h held, e event) {
	for _, name := range h.names {
		e.Name = name
		w.put(e)
	}
}

func (w *worker) put(e event) {
	e.Worker, e.Hold = w.number, w.holds
	w.r.put(e)
}

func (w *worker) between(least, most time.Duration) time.Duration {
	return least + time.Duration(w.rnd.Int64N(int64(most-least)+1))
}
