package turn

import (
	"context"
	"crypto/rand"
	"errors"
	"hash/maphash"
	mathrand "math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
)

// Site is where a value is on the server.
type Site[V any] interface {
	// Read returns the value.
	Read(ctx context.Context) (V, error)
	// Change writes to if the value still is old, and reports whether it did; else it returns what is there. With a claim
	// it looks in the same step whether another turn goes first, and tells the claim by [Claim.May].
	Change(ctx context.Context, old, to V, c *Claim) (there V, done bool, err error)
	// Claim returns the key of the claims.
	Claim() string
}

// Config says how the turns of one kind of object are taken. K names a value; handles that write in different ways have
// different names.
type Config[K comparable, V any] struct {
	Engine *locking.Engine
	// Within runs a turn by [Turn.Run] under what it needs, such as a lock. Nil runs it as it is.
	Within func(ctx context.Context, key K, t *Turn[V]) error
	// Unheard is told of a panic that no caller gets: its caller has left, or it rests on what was not written.
	Unheard func(key K, err error)
}

// Turns is the turns of one client. It keeps nothing for a value that no function waits for.
type Turns[K comparable, V any] struct {
	cfg   Config[K, V]
	table *combine.Table[K, *Change[V], struct{}]
	names names

	seed     maphash.Seed
	Contests [Contests]Contest
}

// New returns the turns of a client.
func New[K comparable, V any](cfg Config[K, V]) *Turns[K, V] {
	ts := &Turns[K, V]{cfg: cfg, names: names{born: rand.Text()}, seed: maphash.MakeSeed()}
	ts.table = combine.New(combine.Config[K, *Change[V], struct{}]{
		Send: func(key K, _ int, batch []*combine.Call[*Change[V], struct{}]) error {
			changes := make([]*Change[V], len(batch))
			for i, c := range batch {
				changes[i] = c.Ask
			}
			ts.Take(context.Background(), key, changes...)
			return nil
		},
		Spawn: cfg.Engine.Spawn, Closed: core.ErrClosed,
	})
	return ts
}

// Do has c take part in the next turn of the value.
func (ts *Turns[K, V]) Do(ctx context.Context, key K, c *Change[V]) error {
	_, err := ts.table.Do(ctx, key, c)
	switch {
	case err == nil, errors.Is(err, combine.ErrAborted) && c.settled: // some function ended that goroutine
		err = c.Outcome()
	case ctx.Err() != nil && !c.leave():
		err = core.Left(err)
	}
	return err
}

// Look returns how many changes wait for the next turn of a value, and how many turns of it are under way.
func (ts *Turns[K, V]) Look(key K) (waiting, flying int) { return ts.table.Look(key) }

// Contest returns the contest of a value. Values share them.
func (ts *Turns[K, V]) Contest(key K) *Contest {
	return &ts.Contests[maphash.Comparable(ts.seed, key)%Contests]
}

// Take takes a turn of its own, and gives each change its outcome, also when a function ends this
// goroutine: then nothing was written, and it is done again without that one.
func (ts *Turns[K, V]) Take(ctx context.Context, key K, changes ...*Change[V]) {
	t := &Turn[V]{e: ts.cfg.Engine, at: changes[0].At, changes: changes, contest: ts.Contest(key), names: &ts.names}
	settled := false
	defer func() {
		exited := slices.ContainsFunc(changes, func(c *Change[V]) bool { return c.exited })
		if settled || !exited {
			return
		}
		if t.Again(); slices.ContainsFunc(changes, func(c *Change[V]) bool { return c.fate.Load() == waiting }) {
			ts.Take(ctx, key, changes...)
		} else {
			ts.settle(key, changes, nil)
		}
	}()
	var err error
	if ts.cfg.Within != nil {
		err = ts.cfg.Within(ctx, key, t)
	} else {
		_, err = t.Run(ctx, nil)
	}
	ts.settle(key, changes, err)
	settled = true
}

// settle gives each change its outcome. A function whose error or panic rests on
// what was not written in the end has the error of the write. A panic that no caller
// gets is told to Unheard.
func (ts *Turns[K, V]) settle(key K, changes []*Change[V], err error) {
	for _, c := range changes {
		var panicked *PanicError
		void := err != nil && c.rests
		if errors.As(c.err, &panicked) && (void || c.fate.Load() == goneTwo) {
			ts.cfg.Unheard(key, c.err)
		}
		if c.err == nil || void {
			c.err = err
		}
		c.settled = true
	}
}

// Turn is one turn: the value is read once, all functions that wait are applied in their order, each to what the one before
// it has made, and what comes of it is written if the value still is what was read.
type Turn[V any] struct {
	e       *locking.Engine
	at      Site[V]
	changes []*Change[V]
	contest *Contest
	names   *names
}

// Run reads, applies and writes until no other client was faster. Why returns a reason to write nothing, or nil; it may be nil.
func (t *Turn[V]) Run(ctx context.Context, why func() error) (wrote bool, err error) {
	r := &race[V]{Contest: t.contest, t: t, began: t.e.Mono()}
	old, err := r.read(ctx)
	for try := 0; err == nil; try++ {
		now, writes := t.apply(old)
		if !writes {
			r.leave()
			return false, nil
		}
		if why != nil {
			if err = why(); err != nil {
				break
			}
		}
		done := false
		if old, done, err = r.change(ctx, old, now); done {
			return true, nil
		}
		if err == nil {
			r.lost()
			t.Again()
			if r.lasts == 0 {
				Pause(try)
			}
		}
	}
	r.leave()
	return false, err
}

// apply calls the functions of the callers that are there, and reports whether one of
// them writes.
func (t *Turn[V]) apply(old V) (now V, writes bool) {
	now = old
	for _, c := range t.changes {
		if c.fate.CompareAndSwap(waiting, running) { // else its caller has gone, or it was called
			c.rests = writes
			now = c.run(now)
			writes = writes || c.writes
		}
	}
	return now, writes
}

// Again has all functions called anew, except those that have ended their goroutine: another write came first, or nothing
// was written.
func (t *Turn[V]) Again() {
	for _, c := range t.changes {
		if !c.exited {
			c.fate.CompareAndSwap(running, waiting)
		}
	}
}

// WhileAnybodyWaits returns a context that ends when all callers have gone.
func (t *Turn[V]) WhileAnybodyWaits(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	var left atomic.Int64
	left.Store(int64(len(t.changes)))
	stops := make([]func() bool, len(t.changes))
	for i, c := range t.changes {
		stops[i] = context.AfterFunc(c.Context, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

// longestPause bounds how long a turn waits that others of the fleet were
// faster than.
const longestPause = 5 * time.Millisecond

// Pause lets the others finish that are at the same value.
func Pause(try int) {
	if try == 0 {
		return
	}
	time.Sleep(mathrand.N(min(50*time.Microsecond<<min(try, 10), longestPause)))
}
