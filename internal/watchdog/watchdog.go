// Package watchdog keeps leases alive and ends those that it cannot.
//
// One goroutine and a heap serve every lease of a client. A lease is trusted
// until
//
//	trustedUntil = attemptStarted + length - margin
//
// where attemptStarted is taken before the request left, as the server may
// have counted from any later moment; and margin is Margin(length). Trust is
// local: at trustedUntil the lease ends, whatever the network is doing.
//
// Renewals that fall due together go out as one batch. An attempt that is not
// answered by its deadline counts as failed and is repeated inside the lease.
// An answer counts from the start of its own attempt, also if another was begun
// meanwhile. Who sends them waits for none longer than until that deadline.
package watchdog

import (
	"container/heap"
	"errors"
	"sync"
	"time"
)

// ErrRanOut is the cause of a lease that was not renewed in time.
var ErrRanOut = errors.New("the lease ran out before a renewal was answered")

// ErrGone is the cause of a lease that the server no longer knows.
var ErrGone = errors.New("the server no longer knows the hold")

// Tick is how soon after a suspended machine wakes up its leases are checked
// against the wall clock. A paused process needs no tick: its timers go on.
const Tick = 100 * time.Millisecond

const never = time.Duration(1<<63 - 1)

// Attempt is one renewal that was asked for.
type Attempt struct {
	*Lease
	Ask    time.Duration // the time to live to ask for
	Misses int           // attempts before this one that were not answered; from the first on, use another connection
	flight uint32
}

// Renewer sends renewals. Renew returns at once; each attempt is answered by
// one call of Renewed, Gone or Missed, or counts as missed after timeout.
type Renewer interface {
	Renew(batch []Attempt, timeout time.Duration)
}

// Watchdog is the loop. Its zero value is not usable; see Start.
type Watchdog struct {
	now     Clock
	renewer Renewer

	mu     sync.Mutex
	leases leaseHeap
	armed  time.Duration // when the loop will wake by itself
	added  bool          // something came since the loop last looked
	closed bool
	kick   chan struct{}
	done   chan struct{}
}

// Start returns a watchdog whose goroutine runs until Close.
func Start(now Clock, renewer Renewer) *Watchdog {
	w := &Watchdog{now: now, renewer: renewer, armed: never, kick: make(chan struct{}, 1), done: make(chan struct{})}
	go w.run() // ended by Close
	return w
}

// Close stops the loop and waits for it. Leases are neither renewed nor ended
// by time any more, except by their own Check.
func (w *Watchdog) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.poke()
	<-w.done
}

// Add puts a lease under the watchdog's care.
func (w *Watchdog) Add(l *Lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l.place(w.now())
	heap.Push(&w.leases, l)
	w.added = true
	w.arm(l.next)
}

// Remove takes a lease out of care. An attempt that is under way may still be
// answered; after Finish that changes nothing any more.
func (w *Watchdog) Remove(l *Lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.index >= 0 {
		heap.Remove(&w.leases, int(l.index))
	}
}

// Len returns how many leases are in care.
func (w *Watchdog) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.leases)
}

// Each calls f for every lease in care, in no order.
func (w *Watchdog) Each(f func(*Lease)) {
	w.mu.Lock()
	all := append([]*Lease(nil), w.leases...)
	w.mu.Unlock()
	for _, l := range all {
		f(l)
	}
}

// Renewed answers an attempt whose request left at started.
func (w *Watchdog) Renewed(a Attempt, started Instant) {
	a.answered(a.flight, started, a.Ask)
	w.reschedule(a.Lease)
}

// Gone answers an attempt: the server does not know the hold any more.
func (w *Watchdog) Gone(a Attempt) {
	w.Remove(a.Lease)
	a.Lose(ErrGone)
}

// Missed gives up on an attempt. The next one follows after a pause. One that a newer attempt has replaced changes nothing.
func (w *Watchdog) Missed(a Attempt) {
	a.missed(a.flight, w.now().Mono+retryAfter(a.length))
	w.reschedule(a.Lease)
}

// Hurry makes the next renewal of l due now.
func (w *Watchdog) Hurry(l *Lease) {
	l.hurry()
	w.reschedule(l)
}

// Grown records a longer time to live, see Lease.Grown.
func (w *Watchdog) Grown(l *Lease, started Instant, d time.Duration) {
	l.Grown(started, d)
	w.reschedule(l)
}

// Outlast makes a hard end no earlier than d after now, and returns what to ask
// the server for: a lease that has such an end grows in steps of its length,
// any other at once.
func (w *Watchdog) Outlast(l *Lease, now Instant, d time.Duration) (ask time.Duration) {
	ask = l.outlast(now, d)
	w.reschedule(l)
	return ask
}

func (w *Watchdog) reschedule(l *Lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.index < 0 {
		return
	}
	w.place(l, w.now())
	w.arm(l.next)
}

func (w *Watchdog) place(l *Lease, now Instant) {
	l.place(now)
	heap.Fix(&w.leases, int(l.index))
}

// arm wakes the loop only if it would sleep past at: in steady state adding a
// lease costs no goroutine switch.
func (w *Watchdog) arm(at time.Duration) {
	if at < w.armed {
		w.armed = at
		w.poke()
	}
}

func (w *Watchdog) poke() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

func (w *Watchdog) run() {
	defer close(w.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	last := w.now()
	for {
		select {
		case <-timer.C:
		case <-w.kick:
		}
		now := w.now()
		sleep, open := w.round(last, now)
		if !open {
			return
		}
		last = now
		if sleep == never {
			timer.Stop()
		} else {
			timer.Reset(sleep)
		}
	}
}

// round does all that is due and says how long to sleep.
func (w *Watchdog) round(last, now Instant) (sleep time.Duration, open bool) {
	if (now.Wall-last.Wall)-(now.Mono-last.Mono) > time.Millisecond { // the wall clock went on while the monotonic one stood
		w.catchUp(now)
	}
	lost, batches := w.collect(now)
	for _, l := range lost {
		l.Lose(ErrRanOut)
	}
	for timeout, batch := range batches {
		w.renewer.Renew(batch, timeout)
	}
	return w.rest(now)
}

// catchUp puts every lease where the wall clock says it belongs, and asks for
// all renewals at once: what a suspended machine can still save, it has to.
func (w *Watchdog) catchUp(now Instant) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.leases {
		l.hurry()
		l.place(now)
	}
	heap.Init(&w.leases)
}

// collect takes what is due off the heap: leases that ran out, and renewals,
// grouped by the timeout of their attempt.
func (w *Watchdog) collect(now Instant) (lost []*Lease, batches map[time.Duration][]Attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.leases) > 0 && w.leases[0].next <= now.Mono {
		l := w.leases[0]
		if w.lookAt(l, now, &batches) {
			heap.Pop(&w.leases)
			lost = append(lost, l)
		} else {
			w.place(l, now)
		}
	}
	return lost, batches
}

// lookAt warns, starts an attempt if one is due, and reports whether l ran out.
func (w *Watchdog) lookAt(l *Lease, now Instant, batches *map[time.Duration][]Attempt) (ranOut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return true
	}
	l.warn(now) // also if it has run out: a process may have been paused over both
	if l.until.Reached(now) {
		return true
	}
	if l.due > now.Mono {
		return false
	}
	timeout := attemptTimeout(l.length)
	if l.flying {
		l.misses++ // the attempt before was never answered
	}
	l.flight++
	l.flying, l.due = true, now.Mono+timeout
	if *batches == nil {
		*batches = make(map[time.Duration][]Attempt)
	}
	(*batches)[timeout] = append((*batches)[timeout], Attempt{Lease: l, Ask: l.ask(now), Misses: int(l.misses), flight: l.flight})
	return false
}

func (w *Watchdog) rest(now Instant) (sleep time.Duration, open bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = never
	if len(w.leases) > 0 {
		w.armed = min(w.leases[0].next, now.Mono+Tick)
	} else if w.added {
		// Short holds come and go between two looks. Staying awake for a tick
		// more spares each of them the wake-up of this loop.
		w.armed = now.Mono + Tick
	}
	w.added = false
	if w.armed == never {
		return never, !w.closed
	}
	return max(0, w.armed-w.now().Mono), !w.closed
}

// attemptTimeout leaves room for several attempts between the first renewal,
// at a third of the lease, and its end.
func attemptTimeout(length time.Duration) time.Duration {
	return min(max(length/10, 20*time.Millisecond), 3*time.Second)
}

func retryAfter(length time.Duration) time.Duration {
	return min(max(length/30, 5*time.Millisecond), time.Second)
}

type leaseHeap []*Lease

func (h leaseHeap) Len() int           { return len(h) }
func (h leaseHeap) Less(i, j int) bool { return h[i].next < h[j].next }
func (h leaseHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = int32(i), int32(j)
}

func (h *leaseHeap) Push(x any) {
	l := x.(*Lease)
	l.index = int32(len(*h))
	*h = append(*h, l)
}

func (h *leaseHeap) Pop() any {
	old := *h
	l := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	l.index = -1
	return l
}
