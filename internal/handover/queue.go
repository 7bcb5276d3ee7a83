// Package handover orders the waiters of one process for one name.
//
// At any time at most one of them has the turn: the head, which talks to the
// server on behalf of all, or a holder. Whoever has the turn gives it on, with
// Hand (the hold itself goes to the next waiter, without a round trip) or with
// Pass (the next waiter becomes head). Turns go round in arrival order.
package handover

import "sync"

// Turn is what a waiter waits for: a hold, or the role of head.
type Turn[T any] struct {
	Hold   T
	Handed bool // false: head
}

// Waiter is one place in a queue. It serves one Enter at a time.
type Waiter[T any] struct {
	// Takes says whether this waiter accepts a hold that is handed over.
	Takes bool

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
type Queue[T any] struct {
	mu          sync.Mutex
	taken       bool // somebody has the turn
	front, back *Waiter[T]
	waiting     int
}

// TryEnter takes the turn if nobody has it.
func (q *Queue[T]) TryEnter() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.taken {
		return false
	}
	q.taken = true
	return true
}

// Enter takes the turn if nobody has it, and else queues w behind the others.
func (q *Queue[T]) Enter(w *Waiter[T]) (head bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.taken {
		q.taken = true
		return true
	}
	w.prev, w.queued = q.back, true
	if q.back == nil {
		q.front = w
	} else {
		q.back.next = w
	}
	q.back = w
	q.waiting++
	return false
}

// Leave takes w out of the queue. If its turn had come already, w has it, and
// the caller must give it on.
func (q *Queue[T]) Leave(w *Waiter[T]) (turn Turn[T], came bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.queued {
		q.unlink(w)
		return turn, false
	}
	return <-w.turn, true // buffered, and sent under the mutex
}

// Hand gives the turn to the next waiter together with hold. It does nothing
// and returns false if nobody waits, or if the next one does not take holds:
// nobody behind it may overtake it.
func (q *Queue[T]) Hand(hold T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.front == nil || !q.front.Takes {
		return false
	}
	q.give(Turn[T]{Hold: hold, Handed: true})
	return true
}

// Pass makes the next waiter head, or leaves the queue idle.
func (q *Queue[T]) Pass() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.front == nil {
		q.taken = false
		return
	}
	q.give(Turn[T]{})
}

// Leads reports whether w is the next one.
func (q *Queue[T]) Leads(w *Waiter[T]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.front == w
}

// Waiting is how many are queued behind the one that has the turn.
func (q *Queue[T]) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}

func (q *Queue[T]) give(turn Turn[T]) {
	w := q.front
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
}
