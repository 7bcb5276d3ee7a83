package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Outage is what the exchanges of a process about one name have come to of late.
// All who wait for the name share one: an outage is told to them together, and
// none is told that it was refused unless the server has refused. The zero value
// is ready for use.
type Outage struct {
	failing atomic.Bool // whether times is above 0

	mu      sync.Mutex
	since   time.Duration // of the first failure since the last answer
	failed  time.Duration // of the last failure
	refused time.Duration // of the last refusal by the server
	times   int           // failures since the last answer
	why     error         // the last failure
	no      bool          // whether the server has refused at all
}

// Refused notes that the server has answered, and that what is waited for is not
// there.
func (o *Outage) Refused(e *Engine) {
	now := e.Now().Mono
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answered()
	o.refused, o.no = now, true
}

// Answered notes that the server has answered.
func (o *Outage) Answered() {
	if o == nil || !o.failing.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answered()
}

func (o *Outage) answered() {
	o.times, o.why = 0, nil
	o.failing.Store(false)
}

// Failed notes that an exchange has failed. It returns for how long they have,
// and how long to pause. Those of a slot that moves do not count: what comes
// after them begins anew. Nor does one of which nobody has heard for long.
func (o *Outage) Failed(e *Engine, err error) (lasted, pause time.Duration) {
	now := e.Now().Mono
	o.mu.Lock()
	defer o.mu.Unlock()
	o.why = err
	o.failing.Store(true)
	return o.lasts(now, Moving(err), e.stale()), jittered(min(50*time.Millisecond<<min(o.times, 10), time.Second))
}

// lasts counts a failure, and returns for how long they have gone on.
func (o *Outage) lasts(now time.Duration, moving bool, stale time.Duration) time.Duration {
	if o.times == 0 || moving || now-o.failed > stale {
		o.since = now
	}
	o.times++
	o.failed = now
	return now - o.since
}

// stale returns after how long without an exchange an outage is over: those who wait
// ask more often.
func (e *Engine) stale() time.Duration { return 2*e.sendTimeout() + longestSleep }

// GivenUp returns why a waiter has given up after that time, nil if none has. One that
// has waited since gives up, too: to ask one after the other would take each of
// them as long as a silent server takes.
func (o *Outage) GivenUp(e *Engine, since time.Duration) error {
	if o == nil || !o.failing.Load() {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.times == 0 || o.failed < since || o.failed-o.since <= e.WatchdogTimeout || !Passing(o.why) {
		return nil
	}
	return o.why
}

// GaveUp notes that a waiter has borne an outage for long enough, of which it was told in
// another way: those who have waited give up together with it.
func (o *Outage) GaveUp(e *Engine, err error) {
	now := e.Now().Mono
	o.mu.Lock()
	defer o.mu.Unlock()
	o.times, o.why = o.times+1, err
	o.since, o.failed = now-e.WatchdogTimeout-1, now
	o.failing.Store(true)
}

// Ended returns the error of a wait that ended with err. It changes only the one that
// [Within] ends a wait with. ErrNotAcquired is the server's answer: it takes a
// refusal that is no older than a sleep, and no failure since. After a failure the
// error is that failure. Without an answer it stays context.DeadlineExceeded.
func (o *Outage) Ended(e *Engine, err error) error {
	if o == nil || !errors.Is(err, errWaitOver) {
		return err
	}
	now := e.Now().Mono
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.times > 0 && now-o.failed <= e.stale():
		return fmt.Errorf("%w: %w", ErrUnreached, o.why)
	case o.no && now-o.refused <= freshest:
		return ErrNotAcquired
	}
	return err
}

// freshest is how old a refusal may be that is an answer: the longest sleep, and
// the time of a look.
const freshest = longestSleep + longestSleep/10

// ErrUnasked is the ErrNotAcquired of a try that has not reached the server: another call of this process was ahead.
var ErrUnasked = fmt.Errorf("%w: another call of this process is asking", ErrNotAcquired)

// ErrUnreached says in the error of a wait that it has ended while the server was away, or refused to answer.
var ErrUnreached = errors.New("the wait is over and the server was not reached")

// Unanswered returns the error of a wait that ctx has ended. Why is the failure of its last exchange, and nil if
// that was answered.
func Unanswered(ctx context.Context, why error) error {
	if why == nil {
		return ContextError(ctx)
	}
	return fmt.Errorf("%w: %w: %w", ContextError(ctx), ErrUnreached, why)
}

// Refusal returns the error of a try that does not wait and is refused in this process,
// since another asks or holds: the last failure if the server is not reached.
func (o *Outage) Refusal() error {
	if o == nil || !o.failing.Load() {
		return ErrNotAcquired
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.why == nil {
		return ErrNotAcquired
	}
	return o.why
}

// bear lets a wait outlast a server that is away for a moment: ctx says how long
// the caller is ready to wait. After a watchdog timeout it is the caller's
// business, but not while a slot moves, which takes as long as it takes.
func (e *Engine) bear(ctx context.Context, o *Outage, name string, poke <-chan struct{}, err error) error {
	over := e.over(ctx)
	if over != nil && errors.Is(err, context.Cause(ctx)) {
		return err // what ended is the wait, and no exchange
	}
	lasted, pause := o.Failed(e, err)
	if !Passing(err) || lasted > e.WatchdogTimeout {
		return err
	}
	if over == nil { // else what is heard is another's already
		e.Logger.Debug("waiting for the server", "name", name, "err", err)
		over = e.sleep(ctx, pause, poke)
	}
	switch {
	case ctx.Err() == nil:
		return over // nil, or the client closes
	case errors.Is(err, ctx.Err()):
		return err
	}
	return fmt.Errorf("%w (last answer: %w)", over, err)
}
