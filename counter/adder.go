package counter

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// Adder is a handle on a counter to which a process adds without a round trip: the client adds up what its goroutines add, and
// sends the sum every 100 ms. The number on the server is that of a [Counter] of the same name. Any number of goroutines may
// use an Adder, and all handles of a client on one name share a sum.
//
// Each sum counts once, whatever happens to requests and replies, as with [WithRequestIDs]. A process that is killed loses
// what it added in the last 100 ms, or since the server was there last. Close of the client sends what is left.
type Adder struct {
	common
	h   *hub
	sum atomic.Pointer[localSum] // the one of the last call, which may be gone
}

const (
	// interval is how long a sum waits until it is sent.
	interval = 100 * time.Millisecond
	// longestInterval is how long it waits after it was refused.
	longestInterval = 5 * time.Second
	// closers is how many sums are under way at the same time while a client closes.
	closers = 16
)

// NewAdder returns a handle on the adder of that name.
func NewAdder(c Client, name string) *Adder {
	h, o := newObject(c, "adder", "counter", name, whole.Alone, nil)
	return &Adder{common: common{o}, h: h}
}

// Add adds n, which may be negative, to the sum of this client. It does no I/O, and ctx is only checked.
//
// Cost: none; one script call for each 100 ms in which something was added, for all of the client.
// Errors: [ErrInvalidArgument] if the sum that is not sent yet would leave int64; ctx's error and cause; [ErrClosed].
// Source: RLongAdder.add, increment, decrement.
func (a *Adder) Add(ctx context.Context, n int64) error {
	err := a.o.Usable(ctx)
	for err == nil {
		s := a.sum.Load()
		if s == nil {
			if s, err = a.h.adders.get(a.o.Key); err != nil {
				break
			}
			a.sum.Store(s)
		}
		var there bool
		if there, err = s.add(n); there {
			break
		}
		a.sum.CompareAndSwap(s, nil)
	}
	return a.h.failed(a.o, "add to", err)
}

// Flush sends what this client has added so far.
//
// If the server refuses the sum or cannot be reached, the sum stays, and is sent with later ones. After [ErrOutcomeUnknown]
// the client goes on until it counts, once, for up to 45 s.
//
// Cost: one script call; none if there is nothing to send. Errors: [ErrInvalidArgument] if the number would leave int64;
// [ErrDecode] if the key holds a text that is no integer; ErrOutcomeUnknown, also if ctx ends before the answer; ctx's error
// and cause; [ErrClosed]; Redis' and the network's. Source: ours.
func (a *Adder) Flush(ctx context.Context) error {
	_, _, err := a.flush(ctx)
	return a.h.failed(a.o, "flush", err)
}

// Sum sends what this client has added so far, and returns the number on the server. What other clients have not sent is
// missing: up to 100 ms of their adds, unless the server refuses them. So is a sum that the client sent
// before, while it does not know yet whether that counts.
//
// Cost: one script call, or one command if there is nothing to send. Errors: as [Adder.Flush]. Source: RLongAdder.sum, which
// asks each process.
func (a *Adder) Sum(ctx context.Context) (n int64, err error) {
	n, sent, err := a.flush(ctx)
	if err == nil && !sent {
		n, err = whole.Read(ctx, a.o, integerOf, get)
		err = a.h.explain(context.Background(), a.o.Key, err)
	}
	return n, a.h.failed(a.o, "sum up", err)
}

// Delete deletes the number and what this client has not sent, and reports whether there was a number. What other clients have
// not sent is added to a new number.
//
// Cost and errors: as Delete of the other objects. Source: RLongAdder.reset, which resets the sums of all processes.
func (a *Adder) Delete(ctx context.Context) (there bool, err error) {
	s := a.h.adders.there(a.o.Key)
	if ctx == nil || s == nil {
		return a.o.Delete(ctx)
	}
	select {
	case s.turn <- struct{}{}: // so that nothing is sent meanwhile
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return false, a.h.failed(a.o, "delete", core.ContextError(ctx))
	}
	before := s.unsent()
	if there, err = a.o.Delete(ctx); err == nil {
		s.forget(before)
	}
	return there, err
}

// Rename sends what this client has added so far, and gives the number another name, as Rename of the other objects does.
//
// Cost and errors: as [Adder.Flush] and Rename.
func (a *Adder) Rename(ctx context.Context, to string) (bool, error) {
	if err := a.Flush(ctx); err != nil {
		return false, err
	}
	return a.o.Rename(ctx, to)
}

// flush sends the sum of the client, and returns the number on the server, unless there was nothing to send.
func (a *Adder) flush(ctx context.Context) (n int64, sent bool, err error) {
	if err = a.o.Usable(ctx); err != nil {
		return 0, false, err
	}
	s := a.h.adders.there(a.o.Key)
	if s == nil {
		return 0, false, nil
	}
	type answer struct {
		n    int64
		sent bool
	}
	got, err := send.Writing(a.h.e.Sender, ctx, func() (answer, error) {
		n, sent, err := s.flush(false)
		return answer{n, sent}, err
	})
	return got.n, got.sent, err
}

// adders has the sums of a client, by key. A sum is there while something is to be sent.
type adders struct {
	h    *hub
	once sync.Once

	mu     sync.Mutex
	of     map[string]*localSum
	closed bool
}

// localSum is what a client has added to one key and not sent.
type localSum struct {
	h   *hub
	key string

	turn chan struct{} // one sum is under way at a time

	mu       sync.Mutex
	n        int64         // to be sent
	underWay int64         // may come back, if it is refused
	gone     bool          // another one is in the table, or none
	closed   bool          // the client closes: the last sum is taken
	wait     time.Duration // until it is sent again, after it was refused
	told     bool          // that it was
}

// get returns the sum of a key, and has it sent.
func (all *adders) get(key string) (*localSum, error) {
	all.once.Do(func() { all.h.e.WhenClosing(func() { all.h.e.Spawn(all.close) }) })
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.closed {
		return nil, ErrClosed
	}
	s := all.of[key]
	if s == nil {
		s = &localSum{h: all.h, key: key, turn: make(chan struct{}, 1)}
		if !all.h.e.Due(core.Key{Kind: "adder", Name: key}, interval, s.tick) {
			return nil, ErrClosed // nothing would send it
		}
		all.of[key] = s
	}
	return s, nil
}

// there returns the sum of a key, nil if there is none.
func (all *adders) there(key string) *localSum {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.of[key]
}

// drop takes a sum out of the table, if there is nothing to send.
func (all *adders) drop(s *localSum) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n != 0 || s.underWay != 0 {
		return false
	}
	s.gone = true
	delete(all.of, s.key)
	return true
}

// close sends the last sums. What the server does not take is an error of the client's Close.
func (all *adders) close() {
	all.mu.Lock()
	all.closed = true
	last := make([]*localSum, 0, len(all.of))
	for _, s := range all.of {
		last = append(last, s)
	}
	all.mu.Unlock()
	var sending errgroup.Group
	sending.SetLimit(closers)
	for _, s := range last {
		sending.Go(func() error { // ends with the send
			s.end()
			return nil
		})
	}
	_ = sending.Wait() // which is nil
}

// add adds n, unless the sum is gone.
func (s *localSum) add(n int64) (there bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return true, ErrClosed
	case s.gone:
		return false, nil
	}
	now, fits := plus(s.n, n)
	if _, back := plus(now, s.underWay); !fits || !back {
		return true, errOverflow
	}
	s.n = now
	return true, nil
}

// unsent returns what is not sent.
func (s *localSum) unsent() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// forget drops n of what is not sent.
func (s *localSum) forget(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n -= n
}

// tick sends what was added since the last time, and says when to do that next.
func (s *localSum) tick() time.Duration {
	_, _, err := s.flush(false)
	s.mu.Lock()
	switch {
	case err == nil, send.MayHaveRun(err):
		s.wait, s.told = 0, false
	default:
		s.wait = min(max(2*s.wait, interval), longestInterval)
		if !s.told && !errors.Is(err, ErrClosed) {
			s.told = true
			s.h.e.Logger.Warn("a sum is not taken, and stays", "name", s.key, "err", err)
		}
	}
	wait := max(s.wait, interval)
	s.mu.Unlock()
	if err == nil && s.h.adders.drop(s) {
		return -1
	}
	return wait
}

// flush sends what was added, and returns the number on the server, unless there is nothing to send. What is refused
// comes back. What is unknown counts once without further ado: the sender goes on with it.
func (s *localSum) flush(last bool) (n int64, sent bool, err error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.mu.Lock()
	if last {
		s.closed = true
	}
	part := s.n
	s.n, s.underWay = 0, part
	s.mu.Unlock()
	if part == 0 {
		return 0, false, nil
	}
	n, err = s.h.counted.do(context.Background(), s.key, addition{n: part, last: last})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.underWay = 0
	if err != nil && !send.MayHaveRun(err) {
		s.n += part // which fits: add has seen to it
	}
	return n, err == nil, err
}

// end sends the last sum.
func (s *localSum) end() {
	_, _, err := s.flush(true)
	if err == nil || send.MayHaveRun(err) {
		return
	}
	work := core.Work{Kind: "adder", Name: s.key, Op: "add", Amount: s.unsent()}
	s.h.e.LeftUndone(work, err)
}
