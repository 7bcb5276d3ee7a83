package combine

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// ErrAborted is what callers get whose exchange ended in a panic on another
// goroutine: whether it was made is unknown.
var ErrAborted = errors.New("the exchange was aborted")

// Config is what a table combines.
type Config[K comparable, Q, A any] struct {
	// Send is one exchange about key for batch: one call or more, in arrival order.
	// No other exchange about key has the number flight at that moment; it is below
	// Flights, except for what is sent when the owner closes, which has numbers of
	// its own. Send fills in each Answer; its error is every caller's. It bounds
	// itself, since it serves several callers and gets nobody's context. It must not
	// keep the batch or its calls.
	Send func(key K, flight int, batch []*Call[Q, A]) error
	// Sent is told how many calls an exchange is for, before it is made. Nil means that nobody wants to know. It is called
	// by many goroutines, so it must be quick, and must not call the table.
	Sent func(calls int)
	// Cut says how many of the waiting calls, from the front, may go out as one:
	// 1 to len(waiting). The others go next. Nil means all. It is called under a
	// mutex, so it must be quick, and must not call the table.
	Cut func(waiting []*Call[Q, A]) int
	// Left is told, after an exchange that succeeded, of each caller that had gone
	// before the answer came. It may call Post. Nil means that nothing is to be given
	// back.
	Left func(key K, ask Q, answer A)
	// Spawn runs f on a goroutine that the owner's Close waits for. False means that
	// the owner is closed, and that f does not run. Like Cut, it may be called under
	// a mutex.
	Spawn func(f func()) bool
	// Gone returns the error of a caller whose context ended, by why, while its call was under way. Nil means why itself, as
	// for one whose call was not sent.
	Gone func(why error) error
	// Closed is what callers get when Spawn refuses.
	Closed error
	// Flights is how many exchanges about one key may be under way at once, at most
	// 64. Less than one means one.
	Flights int
	// Crowd is how many waiting calls leave at once, however short it is since the
	// last departure, while fewer than Flights are under way. 0 means that none do.
	Crowd int
}

// shards is how many mutexes the keys of a table share.
const shards = 64

// Table combines the calls on each of its keys. It is safe for concurrent use.
type Table[K comparable, Q, A any] struct {
	cfg   Config[K, Q, A]
	seed  maphash.Seed
	epoch time.Time
	trip  atomic.Int64 // smoothed round trip, of all keys

	shipped atomic.Int64 // how often ship has numbered an exchange

	lines  sync.Pool
	calls  sync.Pool
	shards [shards]shard[K, Q, A]
}

type shard[K comparable, Q, A any] struct {
	mu    sync.Mutex
	lines map[K]*line[K, Q, A]
	_     [48]byte // a cache line each
}

// New returns a table without calls.
func New[K comparable, Q, A any](cfg Config[K, Q, A]) *Table[K, Q, A] {
	cfg.Flights = min(max(cfg.Flights, 1), mostFlights)
	t := &Table[K, Q, A]{cfg: cfg, seed: maphash.MakeSeed(), epoch: time.Now()}
	t.lines.New = func() any { return newLine(t) }
	t.calls.New = func() any { return &Call[Q, A]{done: make(chan struct{}, 1)} }
	for i := range t.shards {
		t.shards[i].lines = make(map[K]*line[K, Q, A])
	}
	return t
}

// Do makes one call and returns its answer, or the error of the exchange that it
// was part of. The wait ends with ctx, by an error that wraps its error and its
// cause; a context that has ended already sends nothing.
func (t *Table[K, Q, A]) Do(ctx context.Context, key K, ask Q) (A, error) {
	if w, is := ctx.Value(WaiterKey{}).(Waiter); is {
		w.Away()
		defer w.Back()
	}
	if ctx.Done() == nil {
		return t.stay(key, ask)
	}
	if ctx.Err() != nil {
		var none A
		return none, contextError(ctx)
	}
	c := t.call(ask, leaving)
	if l, launch := t.join(key, c); launch {
		l.launch(nil)
	}
	return t.await(ctx, key, c)
}

// Post makes a call whose answer nobody awaits: it joins the next batch of key. It
// reports false, and sends nothing, if the owner is closed.
func (t *Table[K, Q, A]) Post(key K, ask Q) bool {
	c := t.call(ask, posted)
	l, launch := t.join(key, c)
	return !launch || l.launch(c)
}

// stay is Do for a caller that waits as long as it takes.
func (t *Table[K, Q, A]) stay(key K, ask Q) (A, error) {
	c := t.call(ask, staying)
	s := t.shard(key)
	s.mu.Lock()
	l := s.lines[key]
	if l == nil {
		l = t.open(s, key)
		flight := l.number()
		s.mu.Unlock()
		return l.alone(flight, c)
	}
	launch := l.push(c)
	s.mu.Unlock()
	if launch {
		l.launch(nil)
	}
	<-c.done
	return t.answer(c)
}

// join queues c on the line of key. It reports whether a flight is to be
// launched for it, which is counted already.
func (t *Table[K, Q, A]) join(key K, c *Call[Q, A]) (l *line[K, Q, A], launch bool) {
	s := t.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	l = s.lines[key]
	if l != nil {
		return l, l.push(c)
	}
	l = t.open(s, key)
	l.add(c)
	return l, true
}

// await waits for the answer to c, or for ctx.
func (t *Table[K, Q, A]) await(ctx context.Context, key K, c *Call[Q, A]) (A, error) {
	select {
	case <-c.done:
		return t.answer(c)
	case <-ctx.Done():
	}
	var none A
	if t.withdraw(key, c) {
		t.free(c)
		return none, contextError(ctx)
	}
	if c.leave() {
		err := contextError(ctx)
		if t.cfg.Gone != nil {
			err = t.cfg.Gone(err)
		}
		return none, err
	}
	<-c.done
	return t.answer(c)
}

// withdraw takes c out of its line, if it waits there still.
func (t *Table[K, Q, A]) withdraw(key K, c *Call[Q, A]) bool {
	s := t.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.queued {
		return false
	}
	s.lines[key].remove(c)
	return true
}

// answer reads a call that is settled, and is done with it.
func (t *Table[K, Q, A]) answer(c *Call[Q, A]) (A, error) {
	answer, err := c.Answer, c.err
	t.free(c)
	if err != nil {
		var none A
		return none, err
	}
	return answer, nil
}

func (t *Table[K, Q, A]) call(ask Q, manner manner) *Call[Q, A] {
	c := t.calls.Get().(*Call[Q, A])
	c.Ask, c.manner = ask, manner
	if manner == leaving {
		c.fate.Store(open)
	}
	return c
}

// free gives back a call that nobody else knows any more.
func (t *Table[K, Q, A]) free(c *Call[Q, A]) {
	var (
		noAsk    Q
		noAnswer A
	)
	c.Ask, c.Answer, c.err = noAsk, noAnswer, nil
	t.calls.Put(c)
}

func (t *Table[K, Q, A]) shard(key K) *shard[K, Q, A] {
	return &t.shards[maphash.Comparable(t.seed, key)%shards]
}

// open starts the line of key, with one flight under way.
func (t *Table[K, Q, A]) open(s *shard[K, Q, A], key K) *line[K, Q, A] {
	l := t.lines.Get().(*line[K, Q, A])
	l.key, l.shard = key, s
	l.flying = 1
	l.last = t.now()
	s.lines[key] = l
	return l
}

// cut returns how many of the waiting calls go out as one.
func (t *Table[K, Q, A]) cut(waiting []*Call[Q, A]) int {
	if t.cfg.Cut == nil {
		return len(waiting)
	}
	return min(max(t.cfg.Cut(waiting), 1), len(waiting))
}

// now returns the monotonic time since the table was made.
func (t *Table[K, Q, A]) now() time.Duration { return time.Since(t.epoch) }
