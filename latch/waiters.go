package latch

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/wait"
)

// waiters is shared by the goroutines of one process that wait for one name: a [wait.Room], and one
// look at a time, which is for all that waited when it was sent. Unlike a permit, an opening is for
// all waiters: a look ends the waits of all that it is for at once, at any place in the queue, and
// hands nothing over.
type waiters struct {
	wait.Room[outcome]
	e    *locking.Engine
	of   protocol
	busy chan struct{} // has a token while a look is under way

	sent uint64 // looks
	ends bool   // what the last one did not see may come by time, without a message
}

// outcome is how a wait ended.
type outcome struct{ err error }

// protocol is that of the object that is waited for.
type protocol interface {
	key() core.Key
	channel() string
	// look asks the server once. Left is how long until a look may say more without a
	// message, negative if nobody knows.
	look(ctx context.Context, g *waiters) (of verdict, left time.Duration, err error)
}

// verdict is the result of a look for one waiter: whether its wait is over, and how.
type verdict func(w *waiter) (over bool, err error)

// waiter is one goroutine that waits.
type waiter struct {
	wait.Observed
	g       *waiters
	turn    *handover.Waiter[outcome]
	refused chan struct{} // its first look said that it has to wait; nil: nobody observes that

	before uint64 // looks that were sent before it came
	looked bool   // a look was for it

	opened     int64  // of a latch: when it had opened last, at the first look
	armed      int64  // of a latch: when it was armed, at the first look
	generation string // of a barrier
}

var _ wait.Member[outcome] = (*waiter)(nil)

func newWaiter() *waiter {
	w := &waiter{turn: handover.NewWaiter[outcome](true)}
	w.turn.Terms = w
	return w
}

func newWaiters(e *locking.Engine, of protocol) *waiters {
	return &waiters{Room: wait.Room[outcome]{On: e.Waits}, e: e, of: of, busy: make(chan struct{}, 1)}
}

// makeWaiters has a table make the waiters of a name for what is waited for there.
func makeWaiters(e *locking.Engine, in *places.Places[string, *waiters], of func(name string) protocol) {
	in.Make = func(name string) *waiters { return newWaiters(e, of(name)) }
	e.WhenClosing(func() { in.Each(func(g *waiters) { g.Dismiss() }) })
}

// await waits among those of a name until a look says that it is over, or until ctx ends or the client closes.
func await(ctx context.Context, in *places.Places[string, *waiters], name, generation string) error {
	g := in.Get(name)
	defer in.Put(name, g)
	w := newWaiter()
	w.generation = generation
	return g.await(ctx, w)
}

func (g *waiters) await(ctx context.Context, w *waiter) (err error) {
	key := g.of.key()
	w.Observed = wait.Observed{On: g.e.Waits, Kind: key.Kind, Name: key.Name}
	if g.e.Observer != nil {
		w.refused = make(chan struct{}, 1)
	}
	if g.enter(w) {
		err = g.Lead(ctx, w, false)
	} else {
		err = g.Await(ctx, w.turn, w, w.refused)
	}
	w.End(ctx, err)
	return err
}

// enter adds w, and reports whether it is the head. A look that is sent from now
// on is for w, too: if there is a head it makes one.
func (g *waiters) enter(w *waiter) (head bool) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	w.g, w.before = g, g.sent
	if head = g.Enter(w.turn); !head {
		g.Poke()
	}
	return head
}

// each shows those whose waits are not over, the head first; under Mu.
func (g *waiters) each(f func(w *waiter)) {
	if g.Head != nil && !g.Served {
		f(g.Head.Terms.(*waiter))
	}
	g.Queue.Next(func(w *handover.Waiter[outcome]) bool {
		f(w.Terms.(*waiter))
		return true
	})
}

// Watch returns the wait of the head.
func (w *waiter) Watch() (of wait.Watch, channel string) {
	return wait.Watch{Key: w.g.of.key(), Look: w.look}, w.g.of.channel()
}

// Rest returns how long a new head sleeps before it looks. The last look counts for it if it was sent after w came.
func (w *waiter) Rest() time.Duration {
	if w.g.ends || !w.looked {
		return 0
	}
	return w.g.Lasts()
}

// Take returns how the wait ended, also if ctx has ended meanwhile.
func (w *waiter) Take(_ context.Context, got outcome, _ bool, _ error) error { return got.err }

// Fail ends the waits of all whom the last look was for: it has failed with err for the longest
// time that is tolerated. Waiters that came since look for themselves.
func (w *waiter) Fail(err error) {
	if errors.Is(err, ErrClosed) {
		return // the client tells all waiters that it closes
	}
	w.g.Mu.Lock()
	defer w.g.Mu.Unlock()
	w.g.apply(w.g.sent, func(*waiter) (bool, error) { return true, err })
}

// look asks the server once, for all present waiters. If ctx ends, its caller returns and the look
// continues: its result counts for the others.
func (w *waiter) look(ctx context.Context) (left time.Duration, done bool, err error) {
	g := w.g
	if g.HeadServed() {
		return 0, true, nil
	}
	select {
	case g.busy <- struct{}{}:
	case <-ctx.Done():
		return -1, false, core.ContextError(ctx)
	case <-g.e.Closing():
		return -1, false, ErrClosed
	}
	g.Mu.Lock()
	g.sent++
	g.Looked = false
	g.Asks()
	number, hears := g.sent, g.Listens()
	g.Mu.Unlock()
	left, err, _ = send.Await(g.e.Sender, ctx, 0, func() (time.Duration, error) {
		defer func() { <-g.busy }()
		of, left, err := g.of.look(ctx, g)
		if err == nil {
			g.Mu.Lock()
			defer g.Mu.Unlock()
			g.Looked, g.ends, g.When = hears, left >= 0, g.e.Mono()
			g.apply(number, of)
		}
		return left, err
	})
	if done = g.HeadServed(); !done && err == nil {
		w.Begin(ctx)
	}
	return left, done, err
}

// apply applies what the look of that number said to those who waited when it was sent; under Mu.
func (g *waiters) apply(number uint64, of verdict) {
	type end struct {
		w *waiter
		outcome
	}
	var ended []end
	g.each(func(w *waiter) {
		if w.before >= number {
			return
		}
		if over, err := of(w); over {
			ended = append(ended, end{w, outcome{err}})
		} else if !w.looked {
			w.looked = true
			if w.refused != nil {
				w.refused <- struct{}{}
			}
		}
	})
	for _, one := range ended {
		g.Serve(one.w.turn, one.outcome)
	}
}

// generations returns those that are waited for.
func (g *waiters) generations() (all []string) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.each(func(w *waiter) {
		if !slices.Contains(all, w.generation) {
			all = append(all, w.generation)
		}
	})
	return all
}
