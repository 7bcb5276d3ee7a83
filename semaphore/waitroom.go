package semaphore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/wait"
)

// waitRoom is shared by the goroutines of one process that wait for permits of one name, of either
// kind. H is the type that is handed to them.
type waitRoom[H comparable] struct {
	wait.Room[H]

	refused bool          // the last look did not serve all: calls must not overtake
	passes  int           // hand-overs since other processes last had their turn
	since   time.Duration // the time of that
	last    lastAnswer
}

// heard reports whether a message tells of permits that another process gave. A number below 1 does
// not: Java announces reductions, too.
func heard(c *handover.Courtesy, payload string) bool {
	n, err := strconv.ParseInt(payload, 10, 64)
	return err == nil && n > 0 && c.Message()
}

// enter gives w the turn, or queues it; under Mu.
func (r *waitRoom[H]) enter(w *handover.Waiter[H]) (turn bool) {
	if turn = r.Enter(w); turn {
		r.refused, r.last = false, lastAnswer{}
	}
	return turn
}

// starved reports whether there is a waiter that calls must not overtake.
func (r *waitRoom[H]) starved() bool {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.refused && (r.Head != nil && !r.Served || r.Front() != nil)
}

// asked starts the bounds of hand-overs anew; under Mu.
func (r *waitRoom[H]) asked() { r.passes, r.since = 0, r.On.Mono() }

// mayHandOn reports whether permits may be handed over inside this process once more, if times
// hand-overs are allowed; under Mu.
func (r *waitRoom[H]) mayHandOn(times int) bool {
	return r.passes < times && r.On.Mono()-r.since < r.On.HandoverTime && r.On.Open() == nil
}

// gave makes the head look, after this process gave permits to the server.
func (r *waitRoom[H]) gave(woken bool) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.asked()
	if !woken {
		r.Poke()
	}
}

// releasing is a release that is under way, for the courtesy of the waiters here.
type releasing struct {
	courtesy   *handover.Courtesy // nil: there is none
	subscribed bool
	before     handover.Mark
}

// releasing notes what is known before a release is sent.
func (r *waitRoom[H]) releasing(channel string) releasing {
	return releasing{&r.Courtesy, r.On.Subscribed(channel), r.Courtesy.Mark()}
}

// done takes the number of subscribers that heard of the release. It reports whether this process
// has heard it already: then its own message came before the reply, and has woken the head as a
// message of another process would.
func (l releasing) done(reached int) (woken bool) {
	if l.courtesy == nil {
		return false
	}
	woken = l.subscribed && l.courtesy.HeardSince(l.before)
	l.courtesy.Released(reached, l.subscribed, l.before)
	return woken
}

// fail ends all waits of the process for the name if err is an outage.
func (r *waitRoom[H]) fail(err error) {
	if send.Transient(err) {
		r.Fail(err)
	}
}

// end returns the error of a wait that WithWait ended with err.
func (r *waitRoom[H]) end(err error) error {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.last.end(r.On, err)
}

// lastAnswer is the last outcome of an exchange about a name, for the waiters of this process.
// Under Mu of their room.
type lastAnswer struct {
	refusal error         // the error of a TryAcquire by the last answer; nil: none came yet
	when    time.Duration // the time of that answer
	failure error         // of an exchange since
}

// heard records the outcome of an exchange: err, or an answer that granted too few.
func (l *lastAnswer) heard(on *wait.Waits, err error) {
	switch {
	case err == nil:
		*l = lastAnswer{refusal: ErrNotAcquired, when: on.Mono()}
	case errors.Is(err, errNotSet):
		*l = lastAnswer{refusal: errTryNotSet, when: on.Mono()}
	default:
		l.failure = err
	}
}

// end returns the error of a wait that WithWait ended with err. A refusal counts for as
// long as a waiter sleeps, unless an exchange has failed since.
func (l *lastAnswer) end(on *wait.Waits, err error) error {
	switch {
	case l.failure != nil && !errors.Is(err, send.ErrUnreached):
		return fmt.Errorf("%w: %w: %w", err, send.ErrUnreached, l.failure)
	case l.failure != nil, l.refusal == nil, on.Mono()-l.when > cmp.Or(on.LongestSleep, send.LongestSleep):
		return err
	}
	return l.refusal
}

// errTryNotSet is the error of a TryAcquire where no permits are set.
var errTryNotSet = fmt.Errorf("%w: %w", errNotSet, ErrNotAcquired)

// errWaitOver is the cause of a wait that WithWait ended.
var errWaitOver = errors.New("the wait is over")

// stillThere reports whether the caller takes permits that came when its wait ended. A caller whose
// WithWait has just ended does, and so does one that lost its turn.
func stillThere(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, errWaitOver) || errors.Is(cause, errPassedOver)
}

// standBack lets other processes go first, see handover.Courtesy.
func standBack(ctx context.Context, e *locking.Engine, courtesy *handover.Courtesy) error {
	pause := courtesy.Pause()
	if pause == 0 {
		return nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return core.ContextError(ctx)
	case <-e.Closing():
		return ErrClosed
	}
	courtesy.Paused()
	return nil
}
