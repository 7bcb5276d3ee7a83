package semaphore

import (
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/locking"
)

// lastAnswer is what the last exchange about a name said to those who wait for it in this
// process. It is used under the mutex of their place or room.
type lastAnswer struct {
	refusal error         // what the last answer means for a TryAcquire; nil: none came yet
	when    time.Duration // that answer came
	failure error         // of an exchange since
}

// refused notes an answer that granted too few.
func (w *lastAnswer) refused(e *locking.Engine, err error) {
	*w = lastAnswer{refusal: err, when: e.Mono()}
}

// failed notes an exchange without an answer.
func (w *lastAnswer) failed(err error) { w.failure = err }

// end returns the error of a wait that WithWait ended with err. A refusal counts for as
// long as a waiter sleeps, unless an exchange has failed since.
func (w *lastAnswer) end(e *locking.Engine, err error) error {
	switch {
	case w.failure != nil && !errors.Is(err, w.failure):
		return fmt.Errorf("%w (last answer: %w)", err, w.failure)
	case w.failure != nil, w.refusal == nil, e.Mono()-w.when > longest(e):
		return err
	}
	return w.refusal
}
