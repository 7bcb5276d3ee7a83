package semaphore

import (
	"context"
	"errors"
	"time"

	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/wait"
)

// permitWaiters is shared by the goroutines of a process that wait for permits with leases of one
// name. One call at a time asks the server for all: that of the head of their queue, or that of a
// goroutine that releases a permit.
type permitWaiters struct {
	waitRoom[*Permit]
	i *permitShared

	asking  bool          // a call is under way
	missed  bool          // the head wanted to make one meanwhile
	least   int           // the size of the first request that the last one refused
	ends    time.Duration // when the first lease ends, by the last answer; 0: none does
	reach   int           // how many permits the next call asks for
	listens bool          // by the last look of the head: only the head listens
}

func newPermitWaiters(i *permitShared) *permitWaiters {
	return &permitWaiters{waitRoom: waitRoom[*Permit]{Room: wait.Room[*Permit]{On: i.e.Waits, Heard: heard}}, i: i}
}

// permitWaiter is one goroutine that waits for a permit.
type permitWaiter struct {
	wait.Observed
	i     *permitShared
	of    *permitNames
	r     *permitWaiters
	terms terms
	alone handover.Waiter[*Permit] // of one that is the head at once

	permit *Permit
}

var _ wait.Member[*Permit] = (*permitWaiter)(nil)

// leastReach is how many permits are asked for at least, if there are as many waiters.
const leastReach = 4

// acquire waits for permits, and returns the first of them. Close waits for it, and for what it may
// leave to do.
func (i *permitShared) acquire(ctx context.Context, of *permitNames, t terms) (*Permit, error) {
	if !i.e.Tasks.Begin() {
		return nil, ErrClosed
	}
	defer i.e.Tasks.Done()
	i.waiting.Add(1)
	defer i.waiting.Add(-1)
	r := i.places.Get(of.key)
	defer i.places.Put(of.key, r)
	w := &permitWaiter{Observed: wait.Observed{On: i.e.Waits, Kind: permitLabel, Name: of.key}, i: i, of: of, r: r, terms: t}

	r.Mu.Lock()
	turn := &w.alone
	if r.Head != nil {
		turn = handover.NewWaiter[*Permit](true)
	}
	turn.Terms = &w.terms
	first := r.enter(turn)
	if first {
		r.listens = false
	}
	r.Mu.Unlock()
	var err error
	if first {
		err = r.Lead(ctx, w, false)
	} else {
		w.Begin(ctx)
		err = r.Await(ctx, turn, w, nil)
	}
	w.End(ctx, err)
	if err != nil {
		return nil, ended(err, r.end)
	}
	w.permit.observe(ctx)
	return w.permit, nil
}

// try asks once, unless a goroutine of this process waits. Close waits for it.
func (i *permitShared) try(ctx context.Context, of *permitNames, t terms) (*Permit, error) {
	if !i.e.Tasks.Begin() {
		return nil, ErrClosed
	}
	defer i.e.Tasks.Done()
	if i.waiting.Load() > 0 {
		r := i.places.Get(of.key)
		starved := r.starved()
		i.places.Put(of.key, r)
		if starved {
			return nil, ErrNotAcquired
		}
	}
	ask := permitAsk{of: of, wants: []want{i.want(t)}}
	got, err := i.table.Do(ctx, of.key, ask)
	if err == nil {
		err = errors.Join(got.err, got.short)
	}
	switch {
	case errors.Is(err, errNotSet):
		return nil, errTryNotSet
	case err != nil:
		return nil, err
	case got.took[0] == 0:
		return nil, ErrNotAcquired
	}
	p := of.permit(ask.wants[0], got.Answer)
	p.observe(ctx)
	return p, nil
}

// want returns a request for permits on those terms.
func (i *permitShared) want(t terms) want {
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

// Watch returns the wait of the head: it looks until there is a permit.
func (w *permitWaiter) Watch() (of wait.Watch, channel string) {
	return wait.Watch{Key: w.of.Key(), Look: w.look}, w.of.channel
}

// Rest returns how long a new head sleeps before it looks: until the first lease ends or the last
// answer is too old. An answer that refused a larger request does not count.
func (w *permitWaiter) Rest() time.Duration {
	r := w.r
	if w.terms.n < r.least {
		return 0
	}
	left := r.Lasts()
	if r.ends > 0 {
		left = min(left, r.ends-r.On.Mono())
	}
	return left
}

// Fail ends the waits of the waiters after the head if err is an outage.
func (w *permitWaiter) Fail(err error) { w.r.fail(err) }

// Take takes the permit, or releases it if the caller has gone.
func (w *permitWaiter) Take(ctx context.Context, p *Permit, _ bool, ended error) error {
	if ended != nil && !stillThere(ctx) {
		p.discard()
		return ended
	}
	w.permit = p
	return nil
}

// look asks the server once, after standing back for other processes.
func (w *permitWaiter) look(ctx context.Context) (left time.Duration, done bool, err error) {
	r := w.r
	if r.HeadServed() {
		return 0, true, nil
	}
	if err := standBack(ctx, w.i.e, &r.Courtesy); err != nil {
		return -1, false, err
	}
	l := r.list(false)
	if len(l.wants) == 0 { // another call asks for it, and will wake it
		return -1, r.HeadServed(), nil
	}
	got, err := w.i.table.Do(ctx, w.of.key, permitAsk{of: w.of, wants: l.wants})
	if err == nil {
		err = errors.Join(got.err, got.short)
	}
	for _, p := range r.distribute(w.of, l, got) {
		p.discard()
	}
	notSet := errors.Is(err, errNotSet)
	if err != nil && !notSet {
		return -1, false, err
	}
	if done = r.HeadServed(); !done {
		w.Begin(ctx)
	}
	if got.left < 0 || notSet {
		return -1, done, nil
	}
	return time.Duration(got.left) * time.Millisecond, done, nil
}

// permitList is the waiters that one call asks for.
type permitList struct {
	all   []*handover.Waiter[*Permit] // the head first
	wants []want                      // of each
	hears bool                        // the head listened before
	giver bool                        // the call is that of a goroutine that releases a permit
}

// list begins a call for the waiters, unless there are none or a call is under way. A giver's
// permit is passed to the next waiter of this process by it, so it is bounded as hand-overs are:
// other processes get their turn.
func (r *permitWaiters) list(giver bool) (l permitList) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if r.asking || r.Head == nil || r.Served || giver && !r.mayHandOn(r.On.Handovers) {
		r.missed = r.missed || r.asking && !giver
		return l
	}
	if giver {
		r.passes++
	} else {
		r.listens = r.Listens()
	}
	r.asking, r.missed = true, false
	r.Asks()
	l.giver, l.hears = giver, r.listens
	permits := 0
	add := func(w *handover.Waiter[*Permit]) {
		want := r.i.want(*w.Terms.(*terms))
		want.waits = true
		l.all, l.wants = append(l.all, w), append(l.wants, want)
		permits += want.size()
	}
	add(r.Head)
	r.Queue.Next(func(w *handover.Waiter[*Permit]) bool {
		if permits >= max(r.reach, leastReach) {
			return false
		}
		add(w)
		return true
	})
	return l
}

// distribute ends a call: it gives the taken permits to their waiters. It returns the permits of
// waiters that have gone.
func (r *permitWaiters) distribute(of *permitNames, l permitList, got permitAnswer) (spare []*Permit) {
	permits := make([]*Permit, len(l.wants))
	for n, w := range l.wants {
		if n < len(got.took) && got.took[n] == 1 {
			permits[n] = of.permit(w, got.Answer)
		}
	}
	r.Mu.Lock()
	defer r.Mu.Unlock()
	taken, sum := 0, 0 // waiters, and permits in all
	for n, p := range permits {
		if p == nil {
			continue
		}
		if !r.Serve(l.all[n], p) {
			spare = append(spare, p)
		}
		taken++
		sum += l.wants[n].size()
	}
	if taken < len(l.wants) {
		r.least = l.wants[taken].size()
	}
	r.asking = false
	switch {
	case r.missed || l.giver && taken == 0:
		r.Poke()
	case l.giver && r.Served:
		r.Wake()
	}
	if taken > 0 && !l.giver {
		r.asked()
	}
	err := errors.Join(got.err, got.short)
	if err != nil || got.took != nil {
		r.last.heard(r.On, err)
	}
	if err != nil || got.took == nil {
		r.Looked = false
		return spare
	}
	r.refused = taken < len(l.wants)
	r.Looked, r.When, r.ends = r.refused && l.hears, r.On.Mono(), 0
	if got.left >= 0 {
		r.ends = r.When + time.Duration(got.left)*time.Millisecond
	}
	if r.reach = sum + 1; !r.refused {
		r.reach = min(2*sum, mostIDs)
	}
	return spare
}
