package latch

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/wait"
)

// gate is what those who wait in one process for one name share: one
// subscription, and one look at a time, which is for all who waited when it was
// sent. The first of them, the head, looks on its own goroutine.
type gate struct {
	places.Entry
	e    *locking.Engine
	of   gated
	busy chan struct{} // has a token while a look is under way

	mu   sync.Mutex
	all  []*waiter
	head *waiter
	sent uint64        // looks
	calm bool          // the last of them was answered, and what it did not see will be heard
	ends bool          // but for something that ends by time
	when time.Duration // that answer came
	ear  *wait.Listener
}

// gated has the protocol of the object that a gate waits for.
type gated interface {
	key() core.Key
	channel() string
	// look asks the server once. Left is how long until a look may say more without a
	// message, negative if nobody knows.
	look(ctx context.Context, g *gate) (of verdict, left time.Duration, err error)
}

// verdict is what a look says of one who waits: whether that is over, and how.
type verdict func(w *waiter) (over bool, err error)

// waiter is one who waits.
type waiter struct {
	turn chan struct{} // it becomes the head
	over chan error    // the wait is over
	shut chan struct{} // its first look said that it has to wait

	at     int    // in the gate's all
	before uint64 // looks that were sent before it came
	ended  bool   // there is something in over, or was
	looked bool   // a look was for it

	opened     int64  // of a latch: when it had opened last, at the first look
	armed      int64  // of a latch: when it was armed, at the first look
	generation string // of a barrier
}

func newWaiter() *waiter {
	return &waiter{turn: make(chan struct{}, 1), over: make(chan error, 1), shut: make(chan struct{}, 1)}
}

func newGate(e *locking.Engine, of gated) *gate {
	return &gate{e: e, of: of, busy: make(chan struct{}, 1)}
}

// left notes that nobody waits any more.
func (g *gate) left() {
	if g.ear != nil {
		g.ear.Close() // the hub lets it linger
	}
}

// await waits until a look says that it is over for w, or until ctx ends or the
// client closes.
func (g *gate) await(ctx context.Context, w *waiter) error {
	o := observed{g: g, ctx: ctx}
	err := g.pass(ctx, w, &o)
	o.end(err)
	return err
}

func (g *gate) pass(ctx context.Context, w *waiter, o *observed) error {
	if g.enter(w) {
		return g.asHead(ctx, w, o)
	}
	for {
		select {
		case <-w.turn:
			return g.asHead(ctx, w, o)
		case <-w.shut:
			o.begin()
		case err := <-w.over:
			g.gone(w)
			return err
		case <-ctx.Done():
			return g.leave(w, core.ContextError(ctx))
		case <-g.e.Closing():
			return g.leave(w, ErrClosed)
		}
	}
}

// enter adds w, and reports whether it is the head. A look that is sent from now
// on is for w, too: if there is a head it makes one.
func (g *gate) enter(w *waiter) (head bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w.at, w.before = len(g.all), g.sent
	g.all = append(g.all, w)
	if g.head == nil {
		g.head = w
	} else if g.ear != nil {
		g.ear.Poke()
	}
	return g.head == w
}

// remove takes w out of all.
func (g *gate) remove(w *waiter) {
	last := len(g.all) - 1
	g.all[w.at] = g.all[last]
	g.all[w.at].at = w.at
	g.all[last] = nil
	g.all = g.all[:last]
}

// end ends the wait of w.
func (g *gate) end(w *waiter, err error) {
	g.remove(w)
	w.ended = true
	w.over <- err
}

// leave ends the wait of w, because of err, unless it is over.
func (g *gate) leave(w *waiter, err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.ended {
		err = <-w.over
	} else {
		g.remove(w)
	}
	g.giveOn(w)
	return err
}

// gone removes w, whose wait is over.
func (g *gate) gone(w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.giveOn(w)
}

// giveOn makes another one the head, if w is.
func (g *gate) giveOn(w *waiter) {
	if g.head != w {
		return
	}
	if g.head = nil; len(g.all) > 0 {
		g.head = g.all[0]
		g.head.turn <- struct{}{}
	}
}

// asHead looks for all.
func (g *gate) asHead(ctx context.Context, w *waiter, o *observed) error {
	if g.ended(w) {
		return g.leave(w, nil)
	}
	ear, rest := g.listener(w)
	watch := wait.Watch{
		Key: g.of.key(), Channels: []pubsub.Channel{g.e.Channel(g.of.channel())}, By: ear,
		Look: func(ctx context.Context) (left time.Duration, done bool, err error) {
			left, err = g.look(ctx, ear)
			if done = g.ended(w); !done && err == nil {
				o.begin()
			}
			return left, done, err
		},
	}
	var err error
	if rest > 0 {
		err = g.e.WatchOn(ctx, watch, rest, nil)
	} else {
		err = g.e.Watch(ctx, watch)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrClosed) {
		g.fail(err)
	}
	return g.leave(w, err)
}

// longest is how long a waiter sleeps at most.
const longest = 5 * time.Second

// listener returns the gate's, and how long the new head w sleeps before it looks. The
// last look counts for w if it was sent after w came, until it is too long ago.
func (g *gate) listener(w *waiter) (ear *wait.Listener, rest time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ear == nil {
		g.ear = wait.NewListener(nil, nil)
	}
	if g.calm && !g.ends && w.looked {
		rest = cmp.Or(g.e.LongestSleep, longest) - (g.e.Mono() - g.when)
	}
	return g.ear, rest
}

func (g *gate) ended(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return w.ended
}

// look asks the server once, for all who wait now. If ctx ends, its caller goes
// and the look goes on: what it says counts for the others.
func (g *gate) look(ctx context.Context, ear *wait.Listener) (time.Duration, error) {
	select {
	case g.busy <- struct{}{}:
	case <-ctx.Done():
		return -1, core.ContextError(ctx)
	case <-g.e.Closing():
		return -1, ErrClosed
	}
	hears := ear.Listens()
	number := g.send()
	left, err, _ := send.Await(g.e.Sender, ctx, 0, func() (time.Duration, error) {
		defer func() { <-g.busy }()
		of, left, err := g.of.look(ctx, g)
		if err == nil {
			g.judge(number, of, hears, left >= 0)
		}
		return left, err
	})
	return left, err
}

// send numbers a look.
func (g *gate) send() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sent++
	g.calm = false
	return g.sent
}

// judge applies what a look said to those who waited when it was sent.
func (g *gate) judge(number uint64, of verdict, calm, ends bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calm, g.ends, g.when = calm, ends, g.e.Mono()
	for i := len(g.all) - 1; i >= 0; i-- {
		w := g.all[i]
		if w.before >= number {
			continue
		}
		if over, err := of(w); over {
			g.end(w, err) // which moves one into its place that was looked at
		} else if !w.looked {
			w.looked = true
			w.shut <- struct{}{}
		}
	}
}

// generations returns those that are waited for.
func (g *gate) generations() (all []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range g.all {
		if !slices.Contains(all, w.generation) {
			all = append(all, w.generation)
		}
	}
	return all
}

// fail ends the wait of all whom the last look was for: it has met err for as
// long as one bears that.
func (g *gate) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := len(g.all) - 1; i >= 0; i-- {
		if w := g.all[i]; w.before < g.sent {
			g.end(w, err)
		}
	}
}

// observed tells the observer of one wait.
type observed struct {
	g     *gate
	ctx   context.Context
	waits bool
	since time.Duration
}

// begin tells that it began, once.
func (o *observed) begin() {
	if o.g.e.Observer != nil && !o.waits {
		o.waits, o.since = true, o.g.e.Mono()
		key := o.g.of.key()
		o.g.e.Observer.WaitStarted(o.ctx, key.Kind, key.Name)
	}
}

// end tells how it ended.
func (o *observed) end(err error) {
	if o.waits {
		key := o.g.of.key()
		o.g.e.Observer.WaitEnded(o.ctx, key.Kind, key.Name, o.g.e.Mono()-o.since, err)
	}
}
