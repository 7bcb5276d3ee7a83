package wait

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Room is what the goroutines of one process share that wait for one name: their queue, a listener, and how the last
// look went. The first of them, the head, looks for all on its own goroutine. H is what a look brings a waiter. An
// object embeds a Room in its local state of the name, which Mu guards, too.
//
//	Enter ── head ──► Lead ── look, listen, look again ──► Take, and the next one is the head
//	  │                ▲
//	  └─ queued ──► Await ──► Take, the turn, or the end of the wait
type Room[H comparable] struct {
	places.Entry
	On       *Waits
	Courtesy handover.Courtesy
	// Heard reports whether a message is a reason to look; nil: each is.
	Heard func(c *handover.Courtesy, payload string) bool

	Mu     sync.Mutex
	Queue  handover.Queue[H]   // behind the head; used under Mu only, so that what is known of the head stays true
	Head   *handover.Waiter[H] // has the turn, or gets it next; nil: nobody waits
	Served bool                // the head has got something
	Looked bool                // the last look was answered, and the listener hears of what it did not see
	When   time.Duration       // that answer came

	got      H
	outage   *send.Outage // of the last head that had to wait
	failure  error        // what the last head met for as long as a wait bears it
	listener *Listener    // of the first waiter that has to wait
}

// Member is one goroutine that waits in a room.
type Member[H comparable] interface {
	// Watch returns the wait of a head, and the channel that it listens to.
	Watch() (of Watch, channel string)
	// Rest returns how long a head that had the turn from another sleeps before it looks, if the last look was
	// answered. Called under Mu.
	Rest() time.Duration
	// Begin tells the observer that the member waits.
	Begin(ctx context.Context)
	// Fail takes the error that ended the wait of the head.
	Fail(err error)
	// Take takes what has come, from another goroutine if handed. Ended is why the wait has ended meanwhile, if it
	// has. Take returns the error of the wait.
	Take(ctx context.Context, got H, handed bool, ended error) error
}

// Enter gives w the turn, or queues it; under Mu. A newcomer of a client that closes is refused at once, together with
// the waiters that Dismiss would come to.
func (r *Room[H]) Enter(w *handover.Waiter[H]) (turn bool) {
	if r.Queue.Enter(w) {
		r.Head, r.Looked = w, false
		return true
	}
	if r.On.Open() != nil {
		r.Queue.Dismiss()
	}
	return false
}

// Lead waits as the head, for m and for the waiters after it. An heir got the turn from another head.
func (r *Room[H]) Lead(ctx context.Context, m Member[H], heir bool) error {
	err := r.watch(ctx, m, heir)
	if err != nil && ctx.Err() == nil {
		m.Fail(err)
	}
	if got, served := r.pass(); served {
		return m.Take(ctx, got, false, err)
	}
	return err
}

// watch looks until the wait of m is over. Where nobody listens, the first look is on its own: most waits need no
// other, and make no listener. An heir rests first.
func (r *Room[H]) watch(ctx context.Context, m Member[H], heir bool) error {
	of, channel := m.Watch()
	left := time.Duration(0)
	r.Mu.Lock()
	heard := r.listener != nil && r.listener.news.Load() // by a head that left before it looked
	if heir && r.Looked && !r.Served && !heard {
		left = m.Rest()
	}
	listens := r.Listens()
	r.Mu.Unlock()
	var err error
	if left <= 0 {
		if listens || r.On.Subscribed(channel) {
			of.By, of.Channels, of.Outage = r.listen(), []pubsub.Channel{r.On.Channel(channel)}, r.bears()
			return r.On.Watch(ctx, of)
		}
		var done bool
		if left, done, err = of.Look(ctx); done {
			return nil
		}
	}
	of.By, of.Channels, of.Outage = r.listen(), []pubsub.Channel{r.On.Channel(channel)}, r.bears()
	if send.Transient(err) && r.HeadServed() { // during the look, when there was no listener to poke
		return nil
	}
	return r.On.WatchOn(ctx, of, left, err)
}

// bears returns the outage of a head that begins to wait, of which those behind it are told when they leave.
func (r *Room[H]) bears() *send.Outage {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.outage = new(send.Outage)
	return r.outage
}

// listen returns the listener of the room, and makes it if there is none.
func (r *Room[H]) listen() *Listener {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if r.listener == nil {
		var heard func(payload string) bool
		if r.Heard != nil {
			heard = func(payload string) bool { return r.Heard(&r.Courtesy, payload) }
		}
		r.listener = NewListener(heard, &r.Courtesy)
	}
	if !r.listener.Listens() {
		r.Courtesy.Listens()
	}
	return r.listener
}

// pass gives the turn on. It returns what the head that goes has got.
func (r *Room[H]) pass() (got H, served bool) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	var none H
	got, served = r.got, r.Served
	r.got, r.Served, r.Head = none, false, r.Front()
	if r.Head == nil {
		r.Looked = false
		if r.listener != nil {
			r.listener.Close() // the hub lets it linger
		}
	}
	r.Queue.Pass()
	return got, served
}

// Await waits behind the head, until something has come to m, it has been the head, or it leaves. Refused, unless nil,
// tells that a look was for m and brought nothing.
func (r *Room[H]) Await(ctx context.Context, w *handover.Waiter[H], m Member[H], refused <-chan struct{}) error {
	for waits := true; waits; {
		select {
		case <-refused:
			m.Begin(ctx)
		case turn := <-w.Turn():
			switch {
			case turn.Refused:
				r.Mu.Lock()
				defer r.Mu.Unlock()
				if r.On.Open() != nil || r.failure == nil {
					return core.ErrClosed
				}
				return r.failure
			case turn.Handed:
				return m.Take(ctx, turn.Hold, true, nil)
			}
			return r.Lead(ctx, m, true)
		case <-ctx.Done():
			waits = false
		}
	}
	r.Mu.Lock()
	turn, came := r.Queue.Leave(w)
	outage := r.outage
	r.Mu.Unlock()
	ended := outage.Because(r.On.Sender, core.ContextError(ctx))
	switch {
	case !came, turn.Refused:
		return ended
	case turn.Handed:
		return m.Take(ctx, turn.Hold, true, ended)
	}
	if got, served := r.pass(); served {
		return m.Take(ctx, got, true, ended)
	}
	return ended
}

// Serve gives got to w. It returns false if w has left, or has got something already; under Mu.
func (r *Room[H]) Serve(w *handover.Waiter[H], got H) bool {
	if w != r.Head {
		return r.Queue.HandTo(w, got)
	}
	if r.Served {
		return false
	}
	r.got, r.Served = got, true
	return true
}

// Fail ends the waits after the head with err: the server has been away for as long as a wait bears that.
func (r *Room[H]) Fail(err error) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.failure = err
	r.Queue.Dismiss()
}

// Dismiss ends the waits after the head when the client closes. These waiters do not wait on the client's channel for that,
// since all of them would meet at its mutex.
func (r *Room[H]) Dismiss() {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Queue.Dismiss()
}

// Front returns the first waiter behind the head; under Mu.
func (r *Room[H]) Front() (front *handover.Waiter[H]) {
	r.Queue.Next(func(w *handover.Waiter[H]) bool {
		front = w
		return false
	})
	return front
}

// HeadServed reports whether the head has got something.
func (r *Room[H]) HeadServed() bool {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.Served
}

// Lasts returns for how long the last look counts; under Mu.
func (r *Room[H]) Lasts() time.Duration {
	return cmp.Or(r.On.LongestSleep, send.LongestSleep) - (r.On.Mono() - r.When)
}

// Listens reports whether the head listens, which asks under Mu.
func (r *Room[H]) Listens() bool { return r.listener != nil && r.listener.Listens() }

// Poke gives the head a reason to look; under Mu.
func (r *Room[H]) Poke() {
	if r.listener != nil {
		r.listener.Poke()
	}
}

// Wake tells the head that it has got something. Unlike Poke it is no reason for the next head to look; under Mu.
func (r *Room[H]) Wake() {
	if r.listener != nil {
		r.listener.wake()
	}
}

// Asks notes that a look is about to be sent, which sees what was heard before; under Mu.
func (r *Room[H]) Asks() {
	if r.listener != nil {
		r.listener.news.Store(false)
	}
}

// Quiet reports whether nobody has listened, so that the room can be that of another name.
func (r *Room[H]) Quiet() bool { return r.listener == nil }

// Observed tells the observer of one wait.
type Observed struct {
	On         *Waits
	Kind, Name string

	waits bool
	began time.Duration
}

// Begin tells that it began, once.
func (o *Observed) Begin(ctx context.Context) {
	if o.On.Observer != nil && !o.waits {
		o.waits, o.began = true, o.On.Mono()
		o.On.Observer.WaitStarted(ctx, o.Kind, o.Name)
	}
}

// End tells how it ended.
func (o *Observed) End(ctx context.Context, err error) {
	if o.waits {
		o.On.Observer.WaitEnded(ctx, o.Kind, o.Name, o.On.Mono()-o.began, err)
	}
}

// Door is where the callers of a process wait for one thing on the server. One of them is the first, and looks whether it
// is there. The others queue after it, in order.
type Door struct {
	places.Entry
	// First takes one value while there is a first caller. A caller that sends one is the first, and receives one when it
	// leaves. It is no semaphore.Weighted, because a wait for it ends with the client, too.
	First  chan struct{}
	Outage send.Outage // what the server has answered of late, to all of them
}

// NewDoor returns a door at which no caller waits.
func NewDoor() *Door { return &Door{First: make(chan struct{}, 1)} }
