package engine

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errand is something that has to be said to the server until it has answered:
// to give back an owner of which nobody knows whether it holds the lock.
type errand struct {
	key   string
	until time.Time // by then the server has forgotten it by itself
	run   func(ctx context.Context) error
}

// lanes carry errands, one lane and one goroutine per node while there is
// something to do, so that a silent node holds up nobody else's.
type lanes struct {
	mu    sync.Mutex
	queue map[string][]errand
}

const (
	firstBackoff = 50 * time.Millisecond
	mostBackoff  = time.Second
)

// Later runs an errand on key until it succeeds, the server has answered that
// it never will, or until has passed.
func (e *Engine) Later(key string, until time.Time, run func(ctx context.Context) error) {
	node := e.topo.node(e.topo.slot(key))
	e.lanes.mu.Lock()
	defer e.lanes.mu.Unlock()
	if e.lanes.queue == nil {
		e.lanes.queue = make(map[string][]errand)
	}
	todo, running := e.lanes.queue[node]
	e.lanes.queue[node] = append(todo, errand{key, until, run})
	if !running {
		// Not spawn: whoever has an errand is itself a task that Close waits for.
		e.tasks.Go(func() { e.serve(node) })
	}
}

// serve ends when its lane is empty, or one round after the client closed.
func (e *Engine) serve(node string) {
	backoff := firstBackoff
	for {
		todo := e.takeLane(node)
		if todo == nil {
			return
		}
		left := e.runAll(todo)
		e.putBack(node, left)
		if len(left) == 0 {
			backoff = firstBackoff
			continue
		}
		if !e.sleepOpen(backoff) {
			e.lastRound(node)
			return
		}
		backoff = min(2*backoff, mostBackoff)
	}
}

func (e *Engine) takeLane(node string) []errand {
	e.lanes.mu.Lock()
	defer e.lanes.mu.Unlock()
	todo := e.lanes.queue[node]
	if len(todo) == 0 {
		delete(e.lanes.queue, node)
		return nil
	}
	e.lanes.queue[node] = []errand{}
	return todo
}

func (e *Engine) putBack(node string, left []errand) {
	e.lanes.mu.Lock()
	defer e.lanes.mu.Unlock()
	e.lanes.queue[node] = append(left, e.lanes.queue[node]...)
}

// lastRound says everything once more, and no more: also what comes meanwhile
// from calls that Close still waits for.
func (e *Engine) lastRound(node string) {
	for todo := e.takeLane(node); todo != nil; todo = e.takeLane(node) {
		e.runAll(todo)
	}
}

// runAll returns what has to be tried again. A node that does not answer ends
// the round, since the others would meet the same silence; one that refuses
// one key may serve the next.
func (e *Engine) runAll(todo []errand) (left []errand) {
	for i, it := range todo {
		if time.Now().After(it.until) {
			continue
		}
		err := it.run(e.bounded(context.Background()))
		if !Passing(err) {
			e.failedErrand(it, err)
			continue
		}
		if judge(err) == lost || isDial(err) || e.Open() != nil {
			return append(left, todo[i:]...)
		}
		left = append(left, it)
	}
	return left
}

// failedErrand tells of one that will never succeed, such as for an ACL: what
// it was to give back stays until its lease ends. A loss needs no telling.
func (e *Engine) failedErrand(it errand, err error) {
	if err != nil && !errors.Is(err, ErrLost) {
		e.Logger.Warn("giving back failed", "name", it.key, "err", err)
	}
}

// sleepOpen sleeps d; it is false if the client closes meanwhile.
func (e *Engine) sleepOpen(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-e.closing:
		return false
	}
}
