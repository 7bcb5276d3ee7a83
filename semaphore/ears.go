package semaphore

import (
	"strconv"

	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/wait"
)

// ears is by which those who wait in one process for one semaphore hear of permits
// that others give.
type ears struct {
	courtesy handover.Courtesy
	ear      *wait.Listener // of the first who waits; under the mutex of whose ears they are
}

// left notes that the last one has left.
func (h *ears) left() {
	if h.ear != nil {
		h.ear.Close()
	}
}

// listen is under that mutex.
func (h *ears) listen(e *locking.Engine) *wait.Listener {
	if h.ear == nil {
		h.ear = wait.NewListener(h.heard, &h.courtesy)
	}
	if !h.ear.Listens() {
		h.courtesy.Listens()
	}
	return h.ear
}

// heard reports whether a message tells of permits that another gave. What is
// below 1 is none of them: Java announces reductions, too.
func (h *ears) heard(payload string) bool {
	n, err := strconv.ParseInt(payload, 10, 64)
	return err == nil && n > 0 && h.courtesy.Message()
}
