package multilock

import (
	"context"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/lock"
)

// grace is how long answers under way are awaited after their caller has stopped waiting.
const grace = 50 * time.Millisecond

// answer is the answer of one member.
type answer struct {
	i    int // of the member
	hold *lock.Hold
	err  error
}

// round asks several members at once. Its caller need not wait for the last answer. An errgroup
// would wait for all, report only the first error, and start goroutines for which no client's Close
// waits.
type round struct {
	answers chan answer
	late    func(answer) // takes the answers that come after the caller has left

	mu   sync.Mutex
	left bool
}

// newRound has room for that many answers, so that no goroutine blocks.
func newRound(answers int, late func(answer)) *round {
	return &round{answers: make(chan answer, answers), late: late}
}

// ask starts a goroutine of the member's client that asks it.
func (r *round) ask(i int, m member, call func() (*lock.Hold, error)) {
	run := func() {
		hold, err := call()
		r.deliver(answer{i, hold, err})
	}
	if !m.e.Spawn(run) {
		r.deliver(answer{i, nil, ErrClosed})
	}
}

func (r *round) deliver(a answer) {
	r.mu.Lock()
	left := r.left
	if !left {
		r.answers <- a
	}
	r.mu.Unlock()
	if left {
		r.late(a)
	}
}

// leave stops waiting for answers: later ones are passed to late.
func (r *round) leave() {
	r.mu.Lock()
	r.left = true
	r.mu.Unlock()
	for {
		select {
		case a := <-r.answers:
			r.late(a)
		default:
			return
		}
	}
}

// all takes n answers. When ctx ends, it waits for the rest for a short grace, and then leaves.
func (r *round) all(ctx context.Context, n int, take func(answer)) (complete bool) {
	for ; n > 0; n-- {
		select {
		case a := <-r.answers:
			take(a)
			continue
		default:
		}
		select {
		case a := <-r.answers:
			take(a)
		case <-ctx.Done():
			return r.last(n, take)
		}
	}
	return true
}

func (r *round) last(n int, take func(answer)) (complete bool) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for ; n > 0; n-- {
		select {
		case a := <-r.answers:
			take(a)
		case <-timer.C:
			r.leave()
			return false
		}
	}
	return true
}

// together runs call for each of n, and waits for all. The members' goroutines run all except the
// last, which runs on this one.
func together(members []member, call func(i int)) {
	if len(members) == 0 {
		return
	}
	var under sync.WaitGroup
	last := len(members) - 1
	for i, m := range members[:last] {
		under.Add(1)
		run := func() { defer under.Done(); call(i) }
		if !m.e.Spawn(run) {
			run() // the client has closed: the call reports it at once
		}
	}
	call(last)
	under.Wait()
}
