package engine

import (
	"time"

	"github.com/rueidisson/rueidisson/internal/due"
)

// Due has run called in d, or earlier if key is due earlier already, and then
// whenever it says that it is due next. All of a client's work that is due later
// is done behind each other on one goroutine, which is there while there is some;
// so run bounds itself. Close ends it, and waits for what is under way. Due
// reports false once Close has stopped waiting.
func (e *Engine) Due(key Key, d time.Duration, run due.Run) bool {
	e.dueOnce.Do(func() { e.due.Spawn, e.due.Closing = e.spawn, e.closing })
	return e.due.In(key, d, run)
}

// NotDue takes key out of the work that is due later. A run under way goes on,
// and is the last.
func (e *Engine) NotDue(key Key) { e.due.Leave(key) }
