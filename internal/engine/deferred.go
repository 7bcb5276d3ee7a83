package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Work names what a request was to do, for the log and the observer.
type Work struct {
	Kind   string // of the object, as observers are told
	Name   string // in Redis
	Op     string // such as "release" or "count down"
	Amount int64  // such as the number of permits
}

// GaveUp is work that the client was to go on with, and stopped.
type GaveUp struct {
	Work
	Err error // why
}

// DeferralObserver is told what was given up, as the root package says.
type DeferralObserver interface {
	GaveUp(GaveUp)
}

// Deferred returns err of a request that the client goes on with.
func Deferred(err error) error {
	if err == nil || hopeless(err) || errors.Is(err, ErrDeferred) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDeferred, err)
}

// SeeThrough goes on with a request that must be done and was not answered with
// success; cause is the error of its first run. It returns the caller's error.
//
// A cause without ErrUnknown says that the request certainly did not run: each
// send was refused, or never left. Then run is called again for as long as the
// client lives, with growing pauses, and the error is ErrDeferred. From the
// first send on that may have arrived, the server must answer within the time
// for which it remembers a request. A cause with ErrUnknown is such a send.
// Then the error stays as it is.
//
// What the request was to do is logged and told to the observer if it is given
// up. At most 10,000 of a node are deferred. Beyond that, or while the client
// closes, cause is returned and nothing goes on: the caller may call again.
//
// run has to be replayable. r.Age is how old the request is by then: in a life
// of the object that is younger, it must do nothing.
func (e *Engine) SeeThrough(r Request, w Work, cause error, run func(ctx context.Context, r Request) error) error {
	perhaps := mayHaveRun(cause)
	switch {
	case cause == nil || !perhaps && (hopeless(cause) || e.Open() != nil):
		return cause
	}
	it := errand{
		key: w.Name, work: w, lasting: true,
		run:   func(ctx context.Context) error { return run(ctx, r) },
		ended: func() { e.lanes.comeBack(r) },
	}
	if r.Lane != r.base {
		it.ended = nil
	}
	if perhaps {
		it.arrived = r.began
	}
	e.lanes.leave(r)
	if e.add(it) {
		if perhaps {
			return cause
		}
		return Deferred(cause)
	}
	it.end()
	e.gaveUp(w, fmt.Errorf("%d requests are deferred already: %w", mostLasting, cause))
	return cause
}

// lateness is how long a release waits for its answer after its context has ended.
const lateness = 250 * time.Millisecond

// GoOn calls release, which gives something back and goes on by itself as far as it
// fails. If it has not returned lateness after ctx has ended, GoOn returns
// ErrDeferred without it. The call may have begun with a ctx that has ended. Once Close
// has stopped waiting there is nothing to go on, and GoOn returns with release.
func (e *Engine) GoOn(ctx context.Context, release func() error) error {
	if ctx.Done() == nil || !e.begin() {
		return release()
	}
	defer e.tasks.Done()
	f := &flight[struct{}]{call: func() (struct{}, error) { return struct{}{}, release() }, landed: make(chan struct{}, 1)}
	err, _ := f.outlast(e, ctx, f.run)
	return err
}

// outlast has a release answered, or go on. Nobody looks at f any more in that case.
func (f *flight[T]) outlast(e *Engine, ctx context.Context, run func()) (err error, answered bool) {
	// Not spawn: the caller is one that Close waits for, when it has stopped others.
	e.tasks.join()
	e.crew.Go(&e.tasks, run)
	select {
	case <-f.landed:
		return f.err, true
	case <-ctx.Done():
	}
	if f.landsIn(lateness) {
		return f.err, true
	}
	return fmt.Errorf("%w: %w", ErrDeferred, ContextError(ctx)), false
}

// over reports whether nobody asks for the errand any more at that time, or
// whether the server would not know it again.
func (it *errand) over(now time.Time, remembered time.Duration) bool {
	if it.lasting {
		return !it.arrived.IsZero() && now.Sub(it.arrived) > remembered
	}
	return now.After(it.until)
}

// end says that nothing is sent of the errand any more.
func (it *errand) end() {
	if it.ended != nil {
		it.ended()
	}
}

// forgotten ends an errand that is over. One that has an end by itself leaves
// nothing undone.
func (e *Engine) forgotten(it errand) {
	if it.lasting {
		e.giveUp(it, fmt.Errorf("%w, and the server was silent for as long as it would remember the request", ErrUnknown))
	}
}

// giveUp ends an errand that was not done.
func (e *Engine) giveUp(it errand, why error) {
	it.end()
	if !it.arrived.IsZero() && !mayHaveRun(why) {
		why = fmt.Errorf("%w: %w", ErrUnknown, why)
	}
	if it.work == (Work{}) {
		e.Logger.Warn("giving back ends", "name", it.shown(), "err", why)
		return
	}
	e.gaveUp(it.work, why)
}

// gaveUp tells of work that is given up.
func (e *Engine) gaveUp(w Work, why error) {
	e.Logger.Error("given up", "kind", w.Kind, "name", w.Name, "operation", w.Op, "amount", w.Amount, "err", why)
	if e.Open() != nil {
		e.undone.add(w, why)
	}
	if e.Deferrals != nil {
		e.Deferrals.GaveUp(GaveUp{w, why})
	}
}

// LeftUndone tells of work with which the client cannot go on, and whose caller does not learn
// it, as of work that is given up.
func (e *Engine) LeftUndone(w Work, why error) { e.gaveUp(w, why) }

// undone is what the client could not do before it closed.
type undone struct {
	mu    sync.Mutex
	first []error // mostUndone of them
	all   int
}

// mostUndone is how much of it the error of Close names.
const mostUndone = 10

func (u *undone) add(w Work, why error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all++; u.all <= mostUndone {
		u.first = append(u.first, fmt.Errorf("%s %q: %s %d: %w", w.Kind, w.Name, w.Op, w.Amount, why))
	}
}

// err returns nil if there is nothing.
func (u *undone) err() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == 0 {
		return nil
	}
	err := errors.Join(u.first...)
	if more := u.all - len(u.first); more > 0 {
		err = fmt.Errorf("%w\nand %d more", err, more)
	}
	return fmt.Errorf("closed with requests that were not done: %w", err)
}
