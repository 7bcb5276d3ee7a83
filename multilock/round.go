package multilock

import (
	"context"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/lock"
)

// grace is how long answers under way may still come after their caller has
// gone.
const grace = 50 * time.Millisecond

// answer is what one member said.
type answer struct {
	i    int // of the member
	hold *lock.Hold
	err  error
}

// round asks several members at once. Nobody need wait for its last answer. An errgroup waits for all, reports the first
// error alone, and starts goroutines that no client's Close waits for.
type round struct {
	answers chan answer
	late    func(answer) // takes what comes when nobody waits any more

	mu   sync.Mutex
	left bool
}

// newRound has room for that many answers, so that nobody who answers waits.
func newRound(answers int, late func(answer)) *round {
	return &round{answers: make(chan answer, answers), late: late}
}

// ask has a goroutine of the member's client ask it.
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

// leave waits for no more answers: those that come go the late way.
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

// all takes n answers. With the end of ctx the rest gets a short grace, and is
// left then.
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

// together runs call for each of n, and waits for all. The members' goroutines
// take what there is beside the last, which runs on this one.
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
			run() // the client has closed: it says so at once
		}
	}
	call(last)
	under.Wait()
}
