package mapcache

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/sweep"
)

const (
	// batch is how many entries go at once: the server does nothing else meanwhile.
	batch = 200

	// Reweigh is how long after a write a cache with a bound by bytes is looked at, as what is
	// counted of them may be wrong.
	Reweigh = 2 * time.Second
)

// Sweeper sweeps the caches to which this client has written entries that expire, or to which it listens.
type Sweeper struct {
	e  *locking.Engine
	of *sweep.Sweeper
	*sweep.Latch
}

// NewSweeper returns what sweeps the caches of a client, by the sweeper of the client.
func NewSweeper(e *locking.Engine, of *sweep.Sweeper) *Sweeper {
	return &Sweeper{e, of, sweep.NewLatch(e, "caches")}
}

// visited is one cache. A worker of the sweeper has it to itself, but for announced.
type visited struct {
	s         *Sweeper
	names     Names
	announced atomic.Bool // a writer of what ends there announces

	cursor string // of putting entries in order
	rounds int    // of that, since something was evicted for it or the bound was kept
}

func sweepKey(names *Names) core.Key { return core.Key{Kind: "map cache", Name: names.Hash} }

// Len returns the number of objects that wait for a sweep.
func (s *Sweeper) Len() int { return s.of.Len() }

// target returns what is visited of a cache.
func (s *Sweeper) target(known sweep.Target, names *Names) sweep.Target {
	v, is := known.(*visited)
	if !is {
		v = &visited{s: s, names: *names}
	}
	if names.Announced && !v.announced.Load() {
		v.announced.Store(true)
	}
	return v
}

// Expect has a cache visited at that time, ms, see [sweep.Sweeper.Expect].
func (s *Sweeper) Expect(names *Names, at int64) {
	s.of.Expect(sweepKey(names), at, func(known sweep.Target) sweep.Target { return s.target(known, names) })
}

// Listen keeps the cache visited until stop is called.
func (s *Sweeper) Listen(names *Names) (stop func()) {
	return s.of.Listen(sweepKey(names), func(known sweep.Target) sweep.Target { return s.target(known, names) })
}

// publish returns how the scripts publish.
func (s *Sweeper) publish(v *visited) string {
	n := Names{Hash: v.names.Hash, Announced: v.announced.Load()}
	return n.Publish(s.e.Publish(), "")
}

// Visit sweeps a batch, and works on the bound if it is wanted.
func (v *visited) Visit() (got sweep.Visit) {
	s, began := v.s, time.Now()
	swept, err := s.sweep(v)
	got.Cache = v.names.Hash
	if err == nil && swept.ahead > 0 {
		got.Wait, got.Err = s.Early(swept.ahead)
		return got
	}
	got.Expired, got.Busy, got.Err = max(swept.gone, 0), swept.gone < 0, err
	if err == nil && !got.Busy && swept.order != 0 {
		got.Evicted, got.Err = s.order(v, swept.order)
	}
	got.Took = time.Since(began)
	if !swept.told {
		s.remind(v)
	}
	switch {
	case got.Err != nil:
	case got.Busy:
		got.Wait = sweep.Denied(swept.busy)
	case swept.order != 0 && v.vain(got.Evicted) && !swept.more:
		got.More, got.Wait = true, sweep.Period
	case swept.more || swept.order != 0:
		got.More = true
	default:
		v.rounds, got.Next = 0, swept.next
	}
	return got
}

// vain reports whether work on the bound has come round and found nothing to do:
// an entry with the name of the tag is in no order, whatever is done.
func (v *visited) vain(evicted int64) bool {
	switch {
	case evicted > 0:
		v.rounds = 0
	case v.cursor == "0" || v.cursor == "":
		v.rounds++
	}
	return v.rounds > 1
}

// answer is what sweep.lua says.
type answer struct {
	ahead int64 // the clock of this process is, by so many ms, and nothing was swept
	gone  int64 // negative: another process sweeps
	busy  int64 // for so many ms
	more  bool
	next  int64 // ms; sweep.Never
	order int64
	told  bool // whoever listens is told of what is written
}

func (s *Sweeper) sweep(v *visited) (a answer, err error) {
	n := &v.names
	proves := "0"
	if !s.e.CountsAll() {
		proves = "1"
	}
	keys := []string{n.Hash, n.Times, n.Rests, n.Accesses, n.Options, n.latch}
	got, err := s.e.Run(context.Background(), sweepScript, keys,
		[]string{s.e.ClientID, s.Clock(), s.publish(v), sweep.Kept, strconv.Itoa(batch), proves, s.MostAhead()})
	if err != nil {
		return a, err
	}
	parts, err := got.ToArray()
	if err != nil {
		return a, err
	}
	if a.gone, err = parts[0].AsInt64(); err != nil {
		return a, err
	}
	rest, err := parts[1].AsInt64()
	if err == nil && a.gone == -2 {
		a.ahead = rest
		return a, nil
	}
	if err != nil || a.gone < 0 {
		a.busy = rest
		return a, err
	}
	a.more = rest == 1
	if a.order, err = parts[3].AsInt64(); err != nil {
		return a, err
	}
	told, err := parts[4].AsInt64()
	if err != nil {
		return a, err
	}
	a.told = told == 1
	text, err := parts[2].ToString()
	if err == nil {
		a.next, err = sweep.Due(text)
	}
	return a, err
}

// remind has who writes tell those who listen, again where somebody has deleted
// the options.
func (s *Sweeper) remind(v *visited) {
	if s.of.Listened(sweepKey(&v.names)) {
		_, err := Tell(context.Background(), s.e, &v.names)
		s.e.Logger.Debug("listening", "name", v.names.Hash, "err", err)
	}
}

var hset = scripts.NewCommand("HSET", scripts.Safe)

// Tell has who writes to a cache tell of it, for ever: nobody takes that back, as
// nobody knows who else listens.
func Tell(ctx context.Context, e *locking.Engine, n *Names) (send.Answer, error) {
	return e.Run(ctx, hset, []string{n.Options}, []string{"has-listeners", "1"})
}

// order works on the bound: entries that are in no order are put into it, or
// some that are too many go.
func (s *Sweeper) order(v *visited, what int64) (evicted int64, err error) {
	n := &v.names
	if what == unordered {
		if v.cursor == "" {
			v.cursor = "0"
		}
		got, err := s.e.Run(context.Background(), seedScript, []string{n.Hash, n.Accesses}, []string{v.cursor, strconv.Itoa(batch)})
		if err == nil {
			v.cursor, err = got.ToString()
		}
		return 0, err
	}
	return send.Number(s.e.Run(context.Background(), evictScript, n.All(), []string{strconv.Itoa(batch), s.Clock(), s.publish(v)}))
}

// unordered is the answer of sweep.lua for a bounded map that has entries in no
// order.
const unordered = 2
