package locking

import (
	"context"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/send"
)

// fairLine is the waiters of one process for one Queued lock. Each has a place of
// its own in the server's queue; what they share is a channel, and what has to
// be said for all of them.
type fairLine struct {
	e       *Engine
	p       Queued
	outage  *send.Outage  // of the name
	opening chan struct{} // with one place: whoever has it subscribes
	sends   chan struct{} // with mostSends places: whoever has one asks for its first place

	mu          sync.Mutex
	sub         *pubsub.Subscription // while somebody waits
	byOwner     map[string]*queueEntry
	front, back *queueEntry // in the order of their arrival; the front keeps the places of all
	queued      int         // of them have a place on the server
	keeping     heartbeatState
}

// fairLineOf returns the line of l's name, which the first who waits makes.
func (l *local) fairLineOf(e *Engine, p Queued) *fairLine {
	if l.subscriber.Load() == nil {
		l.subscriber.CompareAndSwap(nil, &subscriber{line: &fairLine{
			e: e, p: p, outage: l.outage(), opening: make(chan struct{}, 1), sends: make(chan struct{}, mostSends), byOwner: make(map[string]*queueEntry),
		}})
	}
	return l.fairLine()
}

// fairLine returns that of the waiters of l's name, nil if there were none.
func (l *local) fairLine() *fairLine {
	if r := l.subscriber.Load(); r != nil {
		return r.line
	}
	return nil
}

// queueEntry is one waiter of a line.
type queueEntry struct {
	owner string
	lease time.Duration
	every time.Duration
	poke  chan struct{}
	late  bool // a send may still arrive; its waiter's own
	java  *pubsub.Subscription

	// Guarded by the line's mutex.
	prev, next *queueEntry
	in         bool          // in the line
	queued     bool          // the server has said that it has a place
	since      time.Duration // since when
	told       bool          // to ask again
	asking     bool
	held       *Held // granted by a release of this process
}

// join puts w into the line, behind the others.
func (l *fairLine) join(w *queueEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.in, w.prev = true, l.back
	l.byOwner[w.owner] = w
	if l.back == nil {
		l.front = w
	} else {
		l.back.next = w
	}
	l.back = w
}

// part takes w out of the line, and returns what it was granted meanwhile.
func (l *fairLine) part(w *queueEntry) *Held {
	l.mu.Lock()
	held := w.held
	w.held = nil
	l.unlink(w)
	var sub *pubsub.Subscription
	if l.front == nil {
		sub, l.sub, l.keeping = l.sub, nil, heartbeatState{}
	}
	l.mu.Unlock()
	if sub != nil {
		sub.Close()
	}
	return held
}

func (l *fairLine) unlink(w *queueEntry) {
	if !w.in {
		return
	}
	w.in = false
	delete(l.byOwner, w.owner)
	if w.queued {
		l.queued--
	}
	if w.next == nil {
		l.back = w.prev
	} else {
		w.next.prev = w.prev
	}
	if w.prev == nil {
		l.front = w.next
	} else {
		w.prev.next = w.next
	}
	if w.prev == nil && l.front != nil {
		nudge(l.front.poke) // it keeps the places from now on
	}
	w.prev, w.next = nil, nil
}

func nudge(poke chan struct{}) {
	select {
	case poke <- struct{}{}:
	default:
	}
}

// listens reports whether the process hears whose turn it is.
func (l *fairLine) listens() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sub != nil
}

// listen subscribes, if nobody has. It is called by a place in the line.
func (l *fairLine) listen(ctx context.Context) error {
	if l.listens() {
		return nil
	}
	select {
	case l.opening <- struct{}{}:
		defer func() { <-l.opening }()
	case <-ctx.Done():
		return core.ContextError(ctx)
	}
	if l.listens() {
		return nil
	}
	sub, err := l.e.Subscribe(ctx, l.p.Turns(), l.event)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sub = sub
	return nil
}

// event handles an event of the hub.
func (l *fairLine) event(ev pubsub.Event) {
	if ev.Kind == pubsub.Resumed { // messages were missed, and places perhaps lost
		l.mu.Lock()
		defer l.mu.Unlock()
		l.keeping.doubt()
		if l.front != nil {
			nudge(l.front.poke)
		}
		return
	}
	if owner := l.p.Wake(ev.Payload); owner != "" && !l.tell(owner) {
		l.skip(owner)
	}
}

// tell lets the waiter ask again; it is false if there is none.
func (l *fairLine) tell(owner string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.byOwner[owner]
	if w == nil {
		return false
	}
	w.told = true
	nudge(w.poke)
	return true
}

// skip takes a waiter out of the queue that is not there any more, so that it
// is not waited for.
func (l *fairLine) skip(owner string) {
	l.e.Spawn(func() {
		l.e.CleanUpLater(l.p.Key().Name, time.Now().Add(send.RequestMemory), func(ctx context.Context) error {
			return l.p.Skip(ctx, owner)
		})
	})
}

// sent lets the next one ask for its first place.
func (l *fairLine) sent() { <-l.sends }

// asks reports whether w is to ask the server, or what it was granted.
func (l *fairLine) asks(w *queueEntry) (ask bool, held *Held) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ask, w.told = w.told, false
	w.asking = ask && w.held == nil
	return w.asking, w.held
}

// refused notes that w has a place on the server.
func (l *fairLine) refused(w *queueEntry, tried Tried) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keeping.clock(tried.Clock, tried.Started)
	if !w.queued {
		w.queued, w.since = true, l.e.Now().Mono
		l.queued++
		if k := &l.keeping; k.due == 0 { // it is the first place
			*k = heartbeatState{
				due: w.since + keepEvery, said: w.since, walked: w.since, looked: w.since, slack: firstSlack,
				doubts: k.doubts, server: k.server, latest: k.latest,
			}
		}
	}
}

// mostCandidates is how many waiters a release offers the lock to: those that
// stand first here stand first there, but for some who came at the same time.
const mostCandidates = 3

// candidates returns who may be granted the lock by a release of this process. With
// replicas to wait for, a lock is acquired.
func (l *fairLine) candidates() (waiters []*queueEntry, next []Candidate) {
	if l == nil || l.e.ReplicaAcks > 0 {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := l.front; w != nil && len(next) < mostCandidates; w = w.next {
		if w.queued && w.every > 0 && w.held == nil {
			waiters, next = append(waiters, w), append(next, Candidate{Owner: w.owner, Lease: w.lease})
		}
	}
	return waiters, next
}

// deliver gives w what it was granted. It is false if w has gone, or has taken
// the lock by itself.
func (l *fairLine) deliver(w *queueEntry, held *Held) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !w.in || w.held != nil {
		return false
	}
	w.held = held
	l.outage.Answered()
	nudge(w.poke)
	return true
}

// given returns what w was granted, and has not taken; it asks the server no more.
func (l *fairLine) given(w *queueEntry) *Held {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.asking = false
	return w.held
}

func (l *fairLine) slack() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(l.keeping.slack, firstSlack)
}
