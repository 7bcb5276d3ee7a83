package send

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
)

// Deferred returns err of a request that the client goes on with.
func Deferred(err error) error {
	if err == nil || Permanent(err) || errors.Is(err, core.ErrDeferred) {
		return err
	}
	return fmt.Errorf("%w: %w", core.ErrDeferred, err)
}

// SeeThrough goes on with a request that must be done and was not answered with
// success; cause is the error of its first run. It returns the caller's error.
//
// A cause without ErrOutcomeUnknown says that the request certainly did not run: each
// send was refused, or never left. Then run is called again for as long as the
// client lives, with growing pauses, and the error is ErrDeferred. From the
// first send on that may have arrived, the server must answer within the time
// for which it remembers a request. A cause with ErrOutcomeUnknown is such a send.
// Then the error stays as it is.
//
// What the request was to do is logged and told to the observer if it is given
// up. At most 10,000 of a node are deferred. Beyond that, or while the client
// closes, cause is returned and nothing goes on: the caller may call again.
//
// run has to be replayable. r.Age is how old the request is by then: in a life
// of the object that is younger, it must do nothing.
func (s *Sender) SeeThrough(r Request, w core.Work, cause error, run func(ctx context.Context, r Request) error) error {
	perhaps := MayHaveRun(cause)
	switch {
	case cause == nil || !perhaps && (Permanent(cause) || s.Open() != nil):
		return cause
	}
	it := Cleanup{
		Key: w.Name, Work: w, lasting: true,
		Run:   func(ctx context.Context) error { return run(ctx, r) },
		ended: func() { s.lanes.comeBack(r) },
	}
	if r.Lane != r.base {
		it.ended = nil
	}
	if perhaps {
		it.arrived = r.began
	}
	s.lanes.leave(r)
	if s.AddCleanup(it) {
		if perhaps {
			return cause
		}
		return Deferred(cause)
	}
	it.end()
	s.gaveUp(w, fmt.Errorf("%d requests are deferred already: %w", mostLasting, cause))
	return cause
}

// Lateness is how long a release waits for its answer after its context has ended.
const Lateness = 250 * time.Millisecond

// GoOn calls release, which gives something back and goes on by itself as far as it
// fails. If it has not returned Lateness after ctx has ended, GoOn returns
// ErrDeferred without it. The call may have begun with a ctx that has ended. Once Close
// has stopped waiting there is nothing to go on, and GoOn returns with release.
func (s *Sender) GoOn(ctx context.Context, release func() error) error {
	if ctx.Done() == nil || !s.Tasks.Begin() {
		return release()
	}
	defer s.Tasks.Done()
	f := &Flight[struct{}]{Call: func() (struct{}, error) { return struct{}{}, release() }, Landed: make(chan struct{}, 1)}
	err, _ := f.Outlast(s, ctx, f.Run)
	return err
}

// Outlast has a release answered, or go on. Nobody looks at f any more in that case.
func (f *Flight[T]) Outlast(s *Sender, ctx context.Context, run func()) (err error, answered bool) {
	s.SpawnWithin(run)
	select {
	case <-f.Landed:
		return f.Err, true
	case <-ctx.Done():
	}
	if f.landsIn(Lateness) {
		return f.Err, true
	}
	return fmt.Errorf("%w: %w", core.ErrDeferred, core.ContextError(ctx)), false
}

// over reports whether nobody asks for the cleanup task any more at that time, or
// whether the server would not know it again.
func (it *Cleanup) over(now time.Time, remembered time.Duration) bool {
	if it.lasting {
		return !it.arrived.IsZero() && now.Sub(it.arrived) > remembered
	}
	return now.After(it.Until)
}

// end says that nothing is sent of the cleanup task any more.
func (it *Cleanup) end() {
	if it.ended != nil {
		it.ended()
	}
}

// giveUp ends a cleanup task that was not done.
func (s *Sender) giveUp(it Cleanup, why error) {
	it.end()
	if !it.arrived.IsZero() && !MayHaveRun(why) {
		why = fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, why)
	}
	if it.Work == (core.Work{}) {
		s.Logger.Warn("giving back ends", "name", it.shown(), "err", why)
		return
	}
	s.gaveUp(it.Work, why)
}

// gaveUp tells of work that is given up.
func (s *Sender) gaveUp(w core.Work, why error) {
	s.Logger.Error("given up", "kind", w.Kind, "name", w.Name, "operation", w.Op, "amount", w.Amount, "err", why)
	if s.Open() != nil {
		u := &s.undone
		u.mu.Lock()
		if u.all++; u.all <= mostUndone {
			u.first = append(u.first, fmt.Errorf("%s %q: %s %d: %w", w.Kind, w.Name, w.Op, w.Amount, why))
		}
		u.mu.Unlock()
	}
	if s.Deferrals != nil {
		s.Deferrals.GaveUp(core.GaveUp{Work: w, Err: why})
	}
}

// LeftUndone tells of work with which the client cannot go on, and whose caller does not learn
// it, as of work that is given up.
func (s *Sender) LeftUndone(w core.Work, why error) { s.gaveUp(w, why) }

// undone is what the client could not do before it closed.
type undone struct {
	mu    sync.Mutex
	first []error // mostUndone of them
	all   int
}

// mostUndone is how much of it the error of Close names.
const mostUndone = 10

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
