package mapcache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/due"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

const (
	// period is how long the latch is a sweeper's after a batch, and how long it
	// rests at least when it has swept all that was due. What expires meanwhile
	// goes at the end of that.
	period = 800 * time.Millisecond

	// batch is how many entries go at once: the server does nothing else meanwhile.
	batch = 200

	// share is how many times as long as a batch took the next one waits.
	share = 4

	// lateness is how long at most who was denied the latch comes behind its end: a
	// process of Redisson's comes some milliseconds behind it, would have it for
	// another five seconds, and drops a hundred entries.
	lateness = 10 * time.Millisecond

	// Reweigh is how long after a write a cache with a bound by bytes is looked at, as what is
	// counted of them may be wrong.
	Reweigh = 2 * time.Second

	// longestRest is how long a map is left alone of which the next to end is
	// further away: another process may have written what ends earlier, and be gone.
	longestRest = 30 * time.Minute

	// listening is longestRest where somebody listens: what ends may be written by
	// processes that sweep seldom.
	listening = time.Second

	// workers is how many maps of a node are swept at once, and one more of those that could
	// not be swept the last time.
	workers = 4

	longestBackoff = time.Minute

	// mostAhead is how far the clock of this process may be ahead of the server's. Beyond that
	// it would sweep what lives for the others of the fleet.
	mostAhead = 5 * time.Second
)

// errAhead is why a process sweeps nothing.
var errAhead = errors.New("the clock of this process is ahead of the server's: it sweeps nothing")

// never is when a map is due that has no reason to.
const never = math.MaxInt64

// Sweeper sees to it that what has expired goes, in the maps that this client
// has written such entries to, or listens to. A map enters it with the first of
// them and leaves when there are none, so names that were used once leave
// nothing behind.
type Sweeper struct {
	e    *locking.Engine
	tell func(core.Sweep)

	maps sync.Map // core.Key -> *visited

	warned atomic.Int64 // when it was logged that the clock is ahead, by Mono

	mu      sync.Mutex
	healthy *due.Workers[*visited]
	ailing  *due.Workers[*visited] // on maps that could not be swept the last time
}

// seen is what is swept: a cache, or what has a visit of its own.
type seen struct {
	key   core.Key
	names Names
	own   func() Visit
}

// visited is one map. Its fields are guarded by the sweeper's mutex; those of a
// visit are its worker's.
type visited struct {
	seen
	at        atomic.Int64 // when it is due, ms; written with the mutex
	announced atomic.Bool  // one of those who say what ends there announces
	away      bool         // it waits for a worker, or is with one
	listeners int

	cursor   string // of putting entries in order
	rounds   int    // of that, since something was evicted for it or the bound was kept
	failures int
}

// NewSweeper returns the sweeper of a client, of which there is one. Told,
// unless it is nil, is called after each visit.
func NewSweeper(e *locking.Engine, told func(core.Sweep)) *Sweeper {
	if told == nil {
		told = func(core.Sweep) {}
	}
	s := &Sweeper{e: e, tell: told}
	open := func() bool { return e.Open() == nil }
	s.healthy = due.NewWorkers(workers, e.Spawn, open, s.work)
	s.ailing = due.NewWorkers(1, e.Spawn, open, s.work)
	if e.Clock != nil {
		e.Clock.Moved(s.hurry)
	}
	return s
}

// Expect says that something of the map ends at that time, ms. It is said behind
// the write, or a visit that comes before it would forget it.
func (s *Sweeper) Expect(names *Names, at int64) {
	s.expectOf(cache(names), at)
}

func cache(names *Names) seen {
	return seen{key: core.Key{Kind: "map cache", Name: names.Hash}, names: *names}
}

// Visit is what a visit to something that is no cache has found.
type Visit struct {
	Gone int64
	More bool  // that is due
	Next int64 // when the next is due, ms; Never
	Err  error
}

// Never is when nothing is due.
const Never = never

// ExpectOf says that something ends at that time, ms, of what is no cache. Visit
// drops a bounded part of what is due there.
func (s *Sweeper) ExpectOf(key core.Key, at int64, visit func() Visit) {
	s.expectOf(seen{key: key, names: Names{Hash: key.Name}, own: visit}, at)
}

func (s *Sweeper) expectOf(what seen, at int64) {
	if there, ok := s.maps.Load(what.key); ok && there.(*visited).knows(&what) && there.(*visited).at.Load() <= at {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expect(s.visited(what), at)
}

// Listen keeps the map visited until stop is called.
func (s *Sweeper) Listen(names *Names) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.visited(cache(names))
	v.listeners++
	s.expect(v, s.e.Wall())
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		v.listeners--
	})
}

// Len returns how many maps there are.
func (s *Sweeper) Len() (n int) {
	s.maps.Range(func(any, any) bool { n++; return true })
	return n
}

func (s *Sweeper) visited(what seen) *visited {
	there, ok := s.maps.Load(what.key)
	if !ok {
		v := &visited{seen: what}
		v.announced.Store(what.names.Announced)
		v.at.Store(never)
		s.maps.Store(v.key, v)
		return v
	}
	v := there.(*visited)
	v.knows(&what)
	return v
}

// knows notes whether what goes there is announced, and is true.
func (v *visited) knows(what *seen) bool {
	if what.names.Announced && !v.announced.Load() {
		v.announced.Store(true)
	}
	return true
}

// publish returns how the scripts publish.
func (s *Sweeper) publish(v *visited) string {
	n := Names{Hash: v.names.Hash, Announced: v.announced.Load()}
	return n.Publish(s.e.Publish(), "")
}

func (s *Sweeper) expect(v *visited, at int64) {
	if at < v.at.Load() {
		v.at.Store(at)
		s.schedule(v)
	}
}

// schedule has v visited when it is due; one that is being visited is when that
// is over.
func (s *Sweeper) schedule(v *visited) {
	if !v.away {
		left := time.Duration(v.at.Load()-s.e.Wall()) * time.Millisecond
		s.e.Due(v.key, max(left, 0), func() time.Duration { s.send(v); return -1 })
	}
}

// hurry makes all that is known due at once.
func (s *Sweeper) hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.maps.Range(func(_, there any) bool {
		v := there.(*visited)
		v.at.Store(min(v.at.Load(), s.e.Wall()))
		s.schedule(v)
		return true
	})
}

// send gives v to a worker, unless it is with one already: its time may come while it goes there.
func (s *Sweeper) send(v *visited) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if there, _ := s.maps.Load(v.key); v.away || there != v {
		return
	}
	to := s.healthy
	if v.failures > 0 {
		to = s.ailing
	}
	v.away = true
	to.Give(s.e.Node(v.names.Hash), v)
}

func (s *Sweeper) work(v *visited) {
	s.mu.Lock()
	v.at.Store(never) // who writes from now on says so anew
	s.mu.Unlock()
	s.back(v, s.visit(v))
}

// back puts v where it is due next; negative: nobody needs it.
func (s *Sweeper) back(v *visited, next time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v.away = false
	if v.listeners > 0 && (next < 0 || next > listening) {
		next = listening
	}
	if next >= 0 {
		v.at.Store(min(v.at.Load(), s.e.Wall()+int64((next+time.Millisecond-1)/time.Millisecond)))
	}
	if v.at.Load() == never {
		s.maps.Delete(v.key)
		return
	}
	s.schedule(v)
}

// visit sweeps a batch, and works on the bound if it is wanted. It says when the
// map is due next.
func (s *Sweeper) visit(v *visited) (next time.Duration) {
	if v.own != nil {
		return s.visitOwn(v)
	}
	began := time.Now()
	got, err := s.sweep(v)
	if err == nil && got.ahead > 0 {
		return s.isAhead(v, got.ahead)
	}
	swept := core.Sweep{Cache: v.names.Hash, Expired: max(got.gone, 0), Busy: got.gone < 0, Err: err}
	if err == nil && !swept.Busy && got.order != 0 {
		swept.Evicted, swept.Err = s.order(v, got.order)
	}
	swept.Took = time.Since(began)
	s.tell(swept)
	if !got.told {
		s.remind(v)
	}
	switch {
	case swept.Err != nil:
		return s.failed(v, swept.Err)
	case swept.Busy:
		v.failures = 0
		return got.busy + rand.N(lateness)
	case got.order != 0 && v.vain(swept.Evicted) && !got.more:
		v.failures = 0
		return max(share*swept.Took, period)
	case got.more || got.order != 0:
		v.failures = 0
		return share * swept.Took
	}
	v.failures, v.rounds = 0, 0
	return s.rest(got.next)
}

// isAhead leaves the map to processes whose clocks are right, and looks again later. It is
// logged once in a minute.
func (s *Sweeper) isAhead(v *visited, by time.Duration) time.Duration {
	err := fmt.Errorf("%w, by %v", errAhead, by)
	s.tell(core.Sweep{Cache: v.names.Hash, Err: err})
	now := s.e.Mono()
	if last := s.warned.Load(); (last == 0 || now-time.Duration(last) > longestBackoff) && s.warned.CompareAndSwap(last, int64(now)) {
		s.e.Logger.Warn("expired entries of caches are not swept", "err", err)
	}
	v.failures++
	return longestBackoff - rand.N(longestBackoff/4)
}

// visitOwn sweeps a batch of what is no cache.
func (s *Sweeper) visitOwn(v *visited) (next time.Duration) {
	began := time.Now()
	got := v.own()
	took := time.Since(began)
	s.tell(core.Sweep{Cache: v.names.Hash, Expired: got.Gone, Took: took, Err: got.Err})
	switch {
	case got.Err != nil:
		return s.failed(v, got.Err)
	case got.More:
		v.failures = 0
		return share * took
	}
	v.failures = 0
	return s.rest(got.Next)
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

// rest returns how long a map is left alone whose next entry ends at that time, ms.
func (s *Sweeper) rest(at int64) time.Duration {
	if at == never {
		return -1
	}
	return min(max(time.Duration(min(at-s.e.Wall(), longestRest.Milliseconds()))*time.Millisecond, period), longestRest)
}

// failed returns how long a map is left alone that could not be swept. A key of
// another type is not what was left there.
func (s *Sweeper) failed(v *visited, err error) time.Duration {
	s.e.Logger.Debug("sweeping", "name", v.names.Hash, "err", err)
	if send.Permanent(err) {
		return -1
	}
	v.failures++
	d := min(period<<min(v.failures, 10), longestBackoff)
	return d - rand.N(d/4)
}

// answer is what sweep.lua says.
type answer struct {
	ahead time.Duration // the clock of this process is, by so much, and nothing was swept
	gone  int64         // negative: another process sweeps
	busy  time.Duration // for so long
	more  bool
	next  int64 // ms; never
	order int64
	told  bool // whoever listens is told of what is written
}

// latched is period as the script takes it.
var latched = strconv.FormatInt(period.Milliseconds(), 10)

func (s *Sweeper) sweep(v *visited) (a answer, err error) {
	n := &v.names
	proves := "0"
	if !s.e.CountsAll() {
		proves = "1"
	}
	ahead := strconv.FormatInt(mostAhead.Milliseconds(), 10)
	if s.e.Clock != nil { // one that somebody moves by hand says what time it is
		ahead = ""
	}
	keys := []string{n.Hash, n.Times, n.Rests, n.Accesses, n.Options, n.latch}
	got, err := s.e.Run(context.Background(), sweepScript, keys,
		[]string{s.e.ClientID, s.clock(), s.publish(v), latched, strconv.Itoa(batch), proves, ahead})
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
		a.ahead = time.Duration(rest) * time.Millisecond
		return a, nil
	}
	if err != nil || a.gone < 0 {
		a.busy = time.Duration(max(rest, 0)) * time.Millisecond
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
		a.next, err = Due(text)
	}
	return a, err
}

// Due returns a time, ms, as it is written in a sorted set; empty: none.
func Due(text string) (int64, error) {
	if text == "" {
		return never, nil
	}
	at, err := strconv.ParseFloat(text, 64)
	if err == nil && math.IsNaN(at) {
		err = fmt.Errorf("%q is no time", text)
	}
	if err != nil {
		return 0, err
	}
	return int64(min(max(at, 0), 9e15)), nil
}

func (s *Sweeper) clock() string { return strconv.FormatInt(s.e.Wall(), 10) }

// remind has who writes tell those who listen, again where somebody has deleted
// the options.
func (s *Sweeper) remind(v *visited) {
	s.mu.Lock()
	listeners := v.listeners
	s.mu.Unlock()
	if listeners > 0 {
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
	return send.Number(s.e.Run(context.Background(), evictScript, n.All(), []string{strconv.Itoa(batch), s.clock(), s.publish(v)}))
}

// unordered is the answer of sweep.lua for a bounded map that has entries in no
// order.
const unordered = 2
