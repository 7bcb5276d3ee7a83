package engine

import (
	"time"

	"github.com/rueidisson/rueidisson/internal/due"
)

// dueAtOnce is how many runs of a kind are under way to a node at the same time.
const dueAtOnce = 16

// Due has run called in d, or earlier if key is due earlier already, and then
// whenever it says that it is due next. One goroutine keeps the time for all of a
// client's work that is due later, and runs none of it: a run goes to those of its
// kind on its node, dueAtOnce at the same time. So a run that waits for a silent
// server delays nothing of another kind or node. Close ends it, and waits for what
// is under way. Due reports false once Close has stopped waiting.
func (e *Engine) Due(key Key, d time.Duration, run due.Run) bool {
	e.dueOnce.Do(func() {
		open := func() bool { return e.Open() == nil }
		e.dueWork = due.NewWorkers(dueAtOnce, e.spawn, open, func(f func()) { f() })
		e.due.Spawn, e.due.Closing = e.spawn, e.closing
		e.due.Do = func(key Key, f func()) {
			e.dueWork.Give(e.topo.node(e.topo.slot(key.Name))+" "+key.Kind, f)
		}
	})
	return e.due.In(key, d, run)
}

// NotDue takes key out of the work that is due later. A run under way goes on,
// and is the last.
func (e *Engine) NotDue(key Key) { e.due.Leave(key) }
