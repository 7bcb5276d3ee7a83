package semaphore

import (
	"errors"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/places"
)

// room is what those who wait in one process for permits of one semaphore share.
// One call at a time asks the server for all: that of the head of their queue, or
// that of somebody who gives a permit back.
type room struct {
	places.Entry
	i *issuer
	ears

	mu      sync.Mutex
	queue   handover.Queue[*Permit] // used under mu only, so that what is known of its head stays true
	head    *first
	asking  bool          // a call is under way
	missed  bool          // the head wanted to make one meanwhile
	refused bool          // the last one did not serve all, so that nobody may overtake
	looked  bool          // the last call was answered, and the listener hears of what it did not see
	when    time.Duration // that answer came
	least   int           // the size of the first request that it refused
	ends    time.Duration // when the first lease ends, as that one said; 0: none does
	reach   int           // how many permits the next one asks for
	listens bool          // as the head knew at its last look: the ear is the head's alone
	passes  int           // permits that went from one of this process to the next since another could have them
	since   time.Duration // when that was
	failure error         // what the last head met for as long as a wait bears it
	word    word
}

// end returns the error of a wait that WithWait ended with err.
func (r *room) end(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.word.end(r.i.e, err)
}

// first is whoever has the turn, or gets it next.
type first struct {
	terms
	permit *Permit // once it is served
}

// leastReach is how many are asked for at least, if so many wait.
const leastReach = 4

// reuse makes r ready for another semaphore, if nobody has listened with it.
func (r *room) reuse() bool {
	if r.ear != nil {
		return false
	}
	*r = room{i: r.i}
	return true
}

// listener is made by the first who waits.
func (r *room) listener() *engine.Listener {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.listen(r.i.e)
}

// lead takes the turn if nobody has it.
func (r *room) lead(f *first) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.queue.TryEnter() {
		return false
	}
	r.head, r.refused, r.looked, r.word = f, false, false, word{}
	return true
}

// deaf reports whether nobody listens here. It is asked by the head.
func (r *room) deaf() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ear == nil || !r.ear.Listens()
}

// enter takes the turn if nobody has it, and queues w else.
func (r *room) enter(w *handover.Waiter[*Permit]) (turn bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if turn = r.queue.Enter(w); turn {
		r.head, r.refused, r.looked, r.word = &first{terms: termsOf(w)}, false, false, word{}
	}
	return turn
}

// fail ends the waits of those behind the head: the server has been away for as long
// as a wait bears that.
func (r *room) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failure = err
	r.queue.Dismiss()
}

// refusal returns why those were dismissed who waited behind the head.
func (r *room) refusal() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

// leave takes w out of the queue, unless something has come to it.
func (r *room) leave(w *handover.Waiter[*Permit]) (turn handover.Turn[*Permit], came bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queue.Leave(w)
}

// next returns the first of those who wait behind the head.
func (r *room) next() (next *handover.Waiter[*Permit]) {
	r.queue.Next(func(w *handover.Waiter[*Permit]) bool {
		next = w
		return false
	})
	return next
}

// pass gives the turn on. It returns the permit that the head had come to.
func (r *room) pass() *Permit {
	r.mu.Lock()
	defer r.mu.Unlock()
	served := r.head.permit
	if next := r.next(); next != nil {
		r.head = &first{terms: termsOf(next)}
	} else {
		r.head, r.refused, r.looked, r.listens = nil, false, false, false
		if r.ear != nil {
			r.ear.Close() // the hub lets it linger
		}
	}
	r.queue.Pass()
	return served
}

// served reports whether the head has its permit.
func (r *room) served() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.head.permit != nil
}

// termsOf returns what a waiter wants.
func termsOf(w *handover.Waiter[*Permit]) terms { return *w.Terms.(*terms) }

// rest returns how long a new head sleeps before it looks: until the first lease ends
// or the last answer is too long ago. An answer that refused a larger request says
// nothing to it.
func (r *room) rest() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.looked || r.head.permit != nil || r.head.n < r.least {
		return 0
	}
	now := r.i.e.Mono()
	left := longest(r.i.e) - (now - r.when)
	if r.ends > 0 {
		left = min(left, r.ends-now)
	}
	return left
}

// starved reports whether somebody waits whom nobody may overtake.
func (r *room) starved() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused && (r.head != nil && r.head.permit == nil || r.next() != nil)
}

// crowd is those whom one call asks for.
type crowd struct {
	head   *first
	behind []*handover.Waiter[*Permit]
	wants  []want
	heard  bool // the listener listened before
	giver  bool // by somebody who gives a permit back

	permits int // that are wanted, in all
}

// add has a call ask for one more waiter.
func (c *crowd) add(w want) {
	w.waits = true
	c.wants, c.permits = append(c.wants, w), c.permits+w.size()
}

// enlist begins a call for those who wait, unless nobody does or one is under
// way. A giver's permit goes to the next of this process by it, so that it is
// bounded as hand-overs are: others get their turn.
func (r *room) enlist(giver bool) (c crowd) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asking || r.head == nil || r.head.permit != nil || giver && !r.mayGoOn() {
		r.missed = r.missed || r.asking && !giver
		return c
	}
	if !giver {
		r.listens = r.ear != nil && r.ear.Listens()
	}
	r.asking, r.missed = true, false
	c.giver, c.head, c.heard = giver, r.head, r.listens
	c.add(r.i.want(r.head.terms))
	r.queue.Next(func(w *handover.Waiter[*Permit]) bool {
		if c.permits >= max(r.reach, leastReach) {
			return false
		}
		c.behind = append(c.behind, w)
		c.add(r.i.want(termsOf(w)))
		return true
	})
	return c
}

// mayGoOn counts a permit that goes to the next of this process.
func (r *room) mayGoOn() bool {
	e := r.i.e
	if r.passes >= e.Handovers || e.Mono()-r.since >= e.HandoverTime || e.Open() != nil {
		return false
	}
	r.passes++
	return true
}

// want returns a request for permits on those terms.
func (i *issuer) want(t terms) want {
	w := want{id: i.newID(), lease: t.lease, label: t.label}
	if t.lease == 0 {
		w.lease, w.kept = i.e.WatchdogTimeout, true
	}
	if t.n > 1 {
		w.more = make([]string, t.n-1)
		for n := range w.more {
			w.more[n] = i.newID()
		}
	}
	return w
}

// deal ends a call: what was taken goes to those it was taken for. It returns the
// permits of who has gone.
func (r *room) deal(of *permitNames, c crowd, got permitAnswer) (spare []*Permit) {
	permits := make([]*Permit, len(c.wants))
	for n, w := range c.wants {
		if n < len(got.took) && got.took[n] == 1 {
			permits[n] = of.permit(w, got.Answer)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	taken, sum := 0, 0
	for n, p := range permits {
		switch {
		case p == nil:
			continue
		case n == 0 && r.head == c.head && r.head.permit == nil:
			r.head.permit = p
		case n == 0, !r.queue.HandTo(c.behind[n-1], p):
			spare = append(spare, p)
		}
		taken++
		sum += c.wants[n].size()
	}
	if taken < len(c.wants) {
		r.least = c.wants[taken].size()
	}
	r.dealt(c, got, taken, sum)
	return spare
}

// dealt takes notice of how a call went, which has served so many waiters with so many
// permits in all.
func (r *room) dealt(c crowd, got permitAnswer, taken, permits int) {
	r.asking = false
	if r.ear != nil && (r.missed || c.giver && (taken == 0 || r.head != nil && r.head.permit != nil)) {
		r.ear.Poke()
	}
	if taken > 0 && !c.giver {
		r.passes, r.since = 0, r.i.e.Mono()
	}
	switch err := errors.Join(got.err, got.short); {
	case errors.Is(err, errNotSet):
		r.word.refused(r.i.e, errNoneSet)
	case err != nil:
		r.word.failed(err)
	case got.took != nil:
		r.word.refused(r.i.e, ErrNotAcquired)
	}
	if got.err != nil || got.short != nil || got.took == nil {
		r.looked = false
		return
	}
	r.refused = taken < len(c.wants)
	r.looked, r.when, r.ends = r.refused && c.heard, r.i.e.Mono(), 0
	if got.left >= 0 {
		r.ends = r.i.e.Mono() + time.Duration(got.left)*time.Millisecond
	}
	if r.reach = permits + 1; !r.refused {
		r.reach = min(2*permits, mostIDs)
	}
}

// gave has the head look, after this process gave a permit to the server alone.
func (r *room) gave(woken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.passes, r.since = 0, r.i.e.Mono()
	if r.ear != nil && !woken {
		r.ear.Poke()
	}
}
