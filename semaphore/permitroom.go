package semaphore

import (
	"errors"
	"time"

	"github.com/rueidisson/rueidisson/internal/handover"
)

// room is where goroutines of a process wait for permits with leases. One call at a time asks the server for all: that of the
// head of their queue, or that of somebody who gives a permit back.
type room struct {
	waitRoom[*Permit]
	i *issuer

	head    *first
	asking  bool          // a call is under way
	missed  bool          // the head wanted to make one meanwhile
	least   int           // the size of the first request that the last one refused
	ends    time.Duration // when the first lease ends, as that one said; 0: none does
	reach   int           // how many permits the next one asks for
	listens bool          // as the head knew at its last look: the ear is the head's alone
}

func newRoom(i *issuer) *room { return &room{waitRoom: waitRoom[*Permit]{e: i.e}, i: i} }

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
	*r = *newRoom(r.i)
	return true
}

// tryEnter takes the turn if nobody has it.
func (r *room) tryEnter(f *first) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.queue.TryEnter() {
		return false
	}
	r.begins()
	r.head = f
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
	if turn = r.join(w); turn {
		r.head = &first{terms: termsOf(w)}
	}
	return turn
}

// pass gives the turn on. It returns the permit that the head had come to.
func (r *room) pass() *Permit {
	r.mu.Lock()
	defer r.mu.Unlock()
	served := r.head.permit
	if next := r.front(); next != nil {
		r.head = &first{terms: termsOf(next)}
	} else {
		r.head, r.listens = nil, false
		r.empties()
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
	now := r.e.Mono()
	left := longest(r.e) - (now - r.when)
	if r.ends > 0 {
		left = min(left, r.ends-now)
	}
	return left
}

// starved reports whether somebody waits whom nobody may overtake.
func (r *room) starved() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused && (r.head != nil && r.head.permit == nil || r.front() != nil)
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
	may := r.mayHandOn(r.e.Handovers)
	if may {
		r.passes++
	}
	return may
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
		r.asked()
	}
	switch err := errors.Join(got.err, got.short); {
	case errors.Is(err, errNotSet):
		r.last.refused(r.e, errTryNotSet)
	case err != nil:
		r.last.failed(err)
	case got.took != nil:
		r.last.refused(r.e, ErrNotAcquired)
	}
	if got.err != nil || got.short != nil || got.took == nil {
		r.looked = false
		return
	}
	r.refused = taken < len(c.wants)
	r.looked, r.when, r.ends = r.refused && c.heard, r.e.Mono(), 0
	if got.left >= 0 {
		r.ends = r.e.Mono() + time.Duration(got.left)*time.Millisecond
	}
	if r.reach = permits + 1; !r.refused {
		r.reach = min(2*permits, mostIDs)
	}
}
