package admission

import (
	"sync"
	"time"
)

// Quiet keeps a server that does not answer from filling the log: it allows a line a second.
type Quiet struct {
	mu    sync.Mutex
	until time.Time
	held  int
}

// Speak reports whether a line may be written now, and how many were not since the last one.
func (q *Quiet) Speak(now time.Time) (unlogged int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now.Before(q.until) {
		q.held++
		return 0, false
	}
	unlogged, q.held, q.until = q.held, 0, now.Add(time.Second)
	return unlogged, true
}
