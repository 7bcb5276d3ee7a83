package quorum

import (
	"context"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/lock"
)

// Grace is how long answers under way are awaited after their caller has stopped waiting.
const Grace = 50 * time.Millisecond

// Answer is the answer of one member.
type Answer struct {
	I    int // of the member
	Hold *lock.Hold
	Err  error
}

// Round asks several members at once. Its caller need not wait for the last answer. An errgroup
// would wait for all, report only the first error, and start goroutines for which no client's Close
// waits.
type Round struct {
	Answers chan Answer
	late    func(Answer) // takes the answers that come after the caller has left

	mu   sync.Mutex
	left bool
}

// NewRound has room for that many answers, so that no goroutine blocks.
func NewRound(answers int, late func(Answer)) *Round {
	return &Round{Answers: make(chan Answer, answers), late: late}
}

// Ask starts a goroutine of the member's client that asks it.
func (r *Round) Ask(i int, m Member, call func() (*lock.Hold, error)) {
	run := func() {
		hold, err := call()
		r.deliver(Answer{i, hold, err})
	}
	if !m.Engine.Spawn(run) {
		r.deliver(Answer{i, nil, lock.ErrClosed})
	}
}

func (r *Round) deliver(a Answer) {
	r.mu.Lock()
	left := r.left
	if !left {
		r.Answers <- a
	}
	r.mu.Unlock()
	if left {
		r.late(a)
	}
}

// Leave stops waiting for answers: later ones are passed to late.
func (r *Round) Leave() {
	r.mu.Lock()
	r.left = true
	r.mu.Unlock()
	for {
		select {
		case a := <-r.Answers:
			r.late(a)
		default:
			return
		}
	}
}

// All takes n answers. When ctx ends, it waits for the rest for a short grace, and then leaves.
func (r *Round) All(ctx context.Context, n int, take func(Answer)) (complete bool) {
	for ; n > 0; n-- {
		select {
		case a := <-r.Answers:
			take(a)
			continue
		default:
		}
		select {
		case a := <-r.Answers:
			take(a)
		case <-ctx.Done():
			return r.Last(n, take)
		}
	}
	return true
}

// Last takes n answers within a short grace, and then leaves.
func (r *Round) Last(n int, take func(Answer)) (complete bool) {
	timer := time.NewTimer(Grace)
	defer timer.Stop()
	for ; n > 0; n-- {
		select {
		case a := <-r.Answers:
			take(a)
		case <-timer.C:
			r.Leave()
			return false
		}
	}
	return true
}

// Together runs call for each of n, and waits for all. The members' goroutines run all except the
// last, which runs on this one.
func Together(members []Member, call func(i int)) {
	if len(members) == 0 {
		return
	}
	var under sync.WaitGroup
	last := len(members) - 1
	for i, m := range members[:last] {
		under.Add(1)
		run := func() { defer under.Done(); call(i) }
		if !m.Engine.Spawn(run) {
			run() // the client has closed: the call reports it at once
		}
	}
	call(last)
	under.Wait()
}
