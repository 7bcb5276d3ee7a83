package send

import (
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
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
func (s *Sender) Due(key core.Key, d time.Duration, run due.Run) bool {
	s.dueOnce.Do(func() {
		open := func() bool { return s.Open() == nil }
		s.dueWork = due.NewWorkers(dueAtOnce, s.Spawn, open, func(f func()) { f() })
		s.due.Spawn, s.due.Closing = s.Spawn, s.Closing()
		s.due.Do = func(key core.Key, f func()) {
			s.dueWork.Give(s.Topo.Node(s.Topo.Slot(key.Name))+" "+key.Kind, f)
		}
	})
	return s.due.In(key, d, run)
}

// NotDue takes key out of the work that is due later. A run under way goes on,
// and is the last.
func (s *Sender) NotDue(key core.Key) { s.due.Leave(key) }
