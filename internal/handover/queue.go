// Package handover orders the waiters of one process for one name.
//
// At any time at most one of them has the turn: the head, which talks to the
// server on behalf of all, or a holder. Whoever has the turn gives it on, with
// Hand (the hold itself goes to the next waiter, without a round trip) or with
// Pass (the next waiter becomes head). Turns go round in arrival order.
//
// Several may have parts of one turn, that of a shared hold: those who waited
// for one next to each other, and those who Join while nobody is queued. Each
// gives its part on with Pass, and the last of them gives on the turn. One of
// them at a time may ask the server for another shared hold beside the first,
// which takes no more: it Leads, until it Settles.
package handover

import (
	"sync"
	"time"
)

// Turn is what a waiter waits for: a hold, or the role of head.
type Turn[T any] struct {
	Hold    T
	Handed  bool // false: head
	Refused bool // neither, and no part of the turn: there is nothing to be had at once
}

// Waiter is one place in a queue. It serves one Enter at a time.
type Waiter[T any] struct {
	// Takes says whether this waiter accepts a hold that is handed over.
	Takes bool
	// Kind is what it waits for, where a queue is for several kinds: a hold of
	// another is not handed to it.
	Kind string
	// Shared says that it wants a hold that others may have at the same time.
	Shared bool
	// Once says that it waits for no more than the answer which is under way.
	Once bool
	// Size is how much it wants, of what can be had in several sizes. The queue
	// does not look at it.
	Size int64
	// Since is when it began to wait. The queue does not look at it.
	Since time.Duration
	// Terms are what else it wants. The queue does not look at them.
	Terms any
	// Watch is set by Enter if nobody watches over those who wait: the waiter
	// sees to it, see Queue.Front.
	Watch bool

	turn       chan Turn[T]
	prev, next *Waiter[T]
	queued     bool
}

// NewWaiter returns a waiter.
func NewWaiter[T any](takes bool) *Waiter[T] {
	return &Waiter[T]{Takes: takes, turn: make(chan Turn[T], 1)}
}

// Turn delivers the waiter's turn, once.
func (w *Waiter[T]) Turn() <-chan Turn[T] { return w.turn }

// Queue is the order of waiters. Its zero value is an idle queue.
type Queue[T comparable] struct {
	mu          sync.Mutex
	front, back *Waiter[T]
	shared      T     // the hold of the present turn, if it is open
	open        bool  // newcomers may join it
	sharing     bool  // the turn is that of shared holds
	leading     bool  // somebody with a part of the turn asks the server
	hopeful     bool  // for a shared hold, and was not refused yet
	ending      bool  // the only part is being given on
	watched     bool  // somebody will ask for the front
	parts       int32 // of the present turn; 0: nobody has it
	waiting     int32
	alone       int32 // those of them who want a hold for themselves
}

// TryEnter takes the turn if nobody has it.
func (q *Queue[T]) TryEnter() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.parts > 0 {
		return false
	}
	q.begin()
	return true
}

// begin starts a turn.
func (q *Queue[T]) begin() { q.parts, q.leading = 1, true }

// Join takes a part in the shared hold of the present turn, if there is one and
// nobody is queued: a newcomer does not overtake.
func (q *Queue[T]) Join() (hold T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.open || q.front != nil {
		return hold, false
	}
	q.parts++
	return q.shared, true
}

// Full says that hold takes no newcomers any more.
func (q *Queue[T]) Full(hold T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open && q.shared == hold {
		q.open = false
	}
}

// Lead takes a part of the turn of shared holds, in order to ask the server for
// another one beside them, if nobody does so or is queued.
func (q *Queue[T]) Lead() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.sharing || q.leading || q.ending || q.front != nil {
		return false
	}
	q.parts++
	q.leading = true
	return true
}

// Enter takes the turn if nobody has it, and else queues w behind the others.
func (q *Queue[T]) Enter(w *Waiter[T]) (head bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.parts == 0 {
		q.begin()
		return true
	}
	q.link(w)
	return false
}

// EnterOnce enters a waiter that waits for no more than an answer which is
// under way. It does nothing, and ok is false, if nobody asks for a shared hold
// with some hope, or somebody who wants one for itself alone would be overtaken.
func (q *Queue[T]) EnterOnce(w *Waiter[T]) (head, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.parts == 0:
		q.begin()
		return true, true
	case !q.hopeful || q.alone > 0:
		return false, false
	}
	q.link(w)
	return false, true
}

func (q *Queue[T]) link(w *Waiter[T]) {
	w.Watch, q.watched = !q.watched, true
	q.add(w)
	q.advance()
}

// add puts w at the back.
func (q *Queue[T]) add(w *Waiter[T]) {
	w.prev, w.queued = q.back, true
	if q.back == nil {
		q.front = w
	} else {
		q.back.next = w
	}
	q.back = w
	q.waiting++
	if !w.Shared {
		q.alone++
	}
}

// advance lets the next one in the order ask for another shared hold beside
// those that there are, if it wants one and nobody asks.
func (q *Queue[T]) advance() {
	if q.sharing && !q.leading && !q.ending && q.front != nil && q.front.Shared {
		q.parts++
		q.leading = true
		q.give(q.front, Turn[T]{})
	}
}

// Hope says that whoever leads asks for a shared hold, and that there may be
// one at once.
func (q *Queue[T]) Hope() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.hopeful = true
}

// Refuse says that there is none, to those who wait for that answer and no
// longer.
func (q *Queue[T]) Refuse() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.hopeful = false
	for w := q.front; w != nil; {
		next := w.next
		if w.Once {
			q.give(w, Turn[T]{Refused: true})
		}
		w = next
	}
}

// Dismiss refuses all who wait.
func (q *Queue[T]) Dismiss() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.front != nil {
		q.give(q.front, Turn[T]{Refused: true})
	}
}

// Settle says that whoever leads asks no more: it has a hold, or gives up. It
// keeps its part of the turn.
func (q *Queue[T]) Settle() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.leading, q.hopeful = false, false
	q.advance()
}

// Leave takes w out of the queue. If its turn had come already, w has it, and
// the caller must give it on.
func (q *Queue[T]) Leave(w *Waiter[T]) (turn Turn[T], came bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.queued {
		q.unlink(w)
		q.advance()
		return turn, false
	}
	return <-w.turn, true // there, or about to be: see Pick
}

// Hand gives the turn to the next waiter together with hold. It does nothing
// and returns false if nobody waits, or if the next one does not take holds, or
// not of this kind: nobody behind it may overtake it.
func (q *Queue[T]) Hand(hold T) bool { return q.HandKind("", hold) }

// HandKind is Hand of a hold of that kind.
func (q *Queue[T]) HandKind(kind string, hold T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.front == nil || !q.front.Takes || q.front.Shared || q.front.Kind != kind {
		return false
	}
	q.give(q.front, Turn[T]{Hold: hold, Handed: true})
	return true
}

// Share opens the turn for a shared hold: all waiters at the front who want one
// get a part of the turn and the hold, up to the first who does not, and from
// then on others may Join. It returns how many there were. Whoever shares keeps
// its own part.
func (q *Queue[T]) Share(hold T) (given int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shared, q.open, q.sharing = hold, true, true
	for ; q.front != nil && q.front.Takes && q.front.Shared; given++ {
		q.give(q.front, Turn[T]{Hold: hold, Handed: true})
	}
	q.parts += int32(given)
	return given
}

// Apart says that the hold of the turn is shared, but takes nobody else.
func (q *Queue[T]) Apart() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sharing = true
}

// Shares reports whether the next one is one that takes a shared hold.
func (q *Queue[T]) Shares() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.front != nil && q.front.Takes && q.front.Shared
}

// Sharers reports whether anybody waits for a shared hold.
func (q *Queue[T]) Sharers() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting > q.alone
}

// Held reports whether somebody of the turn of shared holds has one: whoever asks
// for another one beside them does not.
func (q *Queue[T]) Held() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.sharing && (q.parts > 1 || !q.leading)
}

// Yield lets all who wait for a shared hold go before everybody else, and puts w
// behind them, whose the turn is alone: the first of them becomes head. It does
// nothing and returns false if there are none.
func (q *Queue[T]) Yield(w *Waiter[T]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == q.alone {
		return false
	}
	var others []*Waiter[T]
	for x := q.front; x != nil; {
		next := x.next
		if !x.Shared {
			q.unlink(x)
			others = append(others, x)
		}
		x = next
	}
	q.link(w)
	for _, x := range others {
		q.add(x)
	}
	q.give(q.front, Turn[T]{})
	return true
}

// OldestSharer is since when the first of those waits who want a shared hold.
func (q *Queue[T]) OldestSharer() (since time.Duration, some bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == q.alone {
		return 0, false
	}
	w := q.front
	for !w.Shared {
		w = w.next
	}
	return w.Since, true
}

// Overtake lets all who wait for a shared hold go before everybody else, and the first
// of them ask for one, while the turn is that of shared holds. Else it does nothing and
// returns false.
func (q *Queue[T]) Overtake() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.sharing || q.ending || q.waiting == q.alone {
		return false
	}
	var others []*Waiter[T]
	for x := q.front; x != nil; {
		next := x.next
		if !x.Shared {
			q.unlink(x)
			others = append(others, x)
		}
		x = next
	}
	for _, x := range others {
		q.add(x)
	}
	q.advance()
	return true
}

// HandTo gives hold to w, wherever it stands, without the turn, which whoever
// calls it has and keeps. It does nothing and returns false if w has left, or
// has been given something already.
func (q *Queue[T]) HandTo(w *Waiter[T], hold T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !w.queued {
		return false
	}
	q.give(w, Turn[T]{Hold: hold, Handed: true})
	return true
}

// Pick takes the first of those who wait out of the queue, if it wants so much and
// takes holds. Whoever picks it is to Hand it one at once, which may be done
// without the mutex of whose the queue is: to wake somebody takes longer than all
// the rest.
func (q *Queue[T]) Pick(size int64) *Waiter[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.front
	if w == nil || !w.Takes || w.Size != size {
		return nil
	}
	q.unlink(w)
	return w
}

// Hand gives a hold to a waiter that was picked.
func (w *Waiter[T]) Hand(hold T) { w.turn <- Turn[T]{Hold: hold, Handed: true} }

// Next shows those who wait, in their order, until f returns false. F is called
// with the queue locked: it is quick and calls nothing of it.
func (q *Queue[T]) Next(f func(w *Waiter[T]) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for w := q.front; w != nil && f(w); w = w.next {
	}
}

// Pass gives a part of the turn on. With the last one, the next waiter becomes
// head, or the queue idle.
func (q *Queue[T]) Pass() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ending = false
	if q.parts--; q.parts > 0 {
		q.advance()
		return
	}
	var none T
	q.shared, q.open, q.sharing, q.leading, q.hopeful = none, false, false, false, false
	if q.front != nil {
		q.begin()
		q.give(q.front, Turn[T]{})
	}
}

// Last reports whether nobody else has a part of the turn. It is for who has
// one and is about to Pass it on: nobody gets another part before that.
func (q *Queue[T]) Last() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.parts > 1 {
		return false
	}
	q.ending, q.open = true, false
	return true
}

// Front is since when the next one waits, for whoever watches over the queue. If
// nobody waits, then nobody watches any more.
func (q *Queue[T]) Front() (since time.Duration, some bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.watched = q.front != nil; !q.watched {
		return 0, false
	}
	return q.front.Since, true
}

// Waiting returns how many are queued behind the one that has the turn.
func (q *Queue[T]) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return int(q.waiting)
}

func (q *Queue[T]) give(w *Waiter[T], turn Turn[T]) {
	q.unlink(w)
	w.turn <- turn
}

func (q *Queue[T]) unlink(w *Waiter[T]) {
	if w.prev == nil {
		q.front = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.back = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.queued = nil, nil, false
	q.waiting--
	if !w.Shared {
		q.alone--
	}
}
