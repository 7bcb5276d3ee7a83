package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Close ends the engine: new calls fail, waiters wake and the contexts of
// holds end, all with ErrClosed; renewals stop. Then it waits for the holders
// to unlock, for as long as ctx and their leases last. What they leave is not
// released under them but left to its lease, and named in the error. Calls
// after the first return the first one's result.
func (e *Engine) Close(ctx context.Context) error {
	e.once.Do(func() { e.closed = e.shut(ctx) })
	return e.closed
}

func (e *Engine) shut(ctx context.Context) error {
	e.Shut()
	e.dog.Close()
	e.dog.Each(func(l *watchdog.Lease) { grantOf(l).closing() })
	left := e.awaitHolders(ctx)
	defer e.cutShort(ctx)()
	e.hub.Close()
	return errors.Join(left, e.End())
}

// End waits for the exchanges that are under way, after which there are no others. It returns what was
// not done.
func (e *Engine) End() error {
	e.tasks.stop() // no goroutines from now on, so that those at work can be waited for
	e.tasks.wait()
	e.crew.End()
	e.endShared()
	if e.Owned {
		e.Redis.Close()
	}
	return e.undone.err()
}

// cutShort ends the exchanges that are under way when ctx has ended, a moment
// later. The returned function says that there is no need any more.
func (e *Engine) cutShort(ctx context.Context) (done func()) {
	over := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() { // by over
		select {
		case <-ctx.Done():
		case <-over:
			return
		}
		timer := time.NewTimer(lateness * 4 / 5) // the rest is for what ends then
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-over:
			return
		}
		if e.abort != nil {
			e.abort()
		}
		if e.Cut != nil {
			e.Cut()
		}
	})
	return func() {
		close(over)
		ended.Wait()
		if e.abort != nil {
			e.abort()
		}
	}
}

// awaitHolders returns when no hold is left that could still be trusted.
func (e *Engine) awaitHolders(ctx context.Context) error {
	for {
		longest := e.longestLease()
		if longest == 0 {
			return e.leftOver(nil)
		}
		timer := time.NewTimer(longest)
		select {
		case <-e.freed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return e.leftOver(ContextError(ctx))
		}
		timer.Stop()
	}
}

// longestLease returns how long the last of the holds can still be trusted.
func (e *Engine) longestLease() (longest time.Duration) {
	e.dog.Each(func(l *watchdog.Lease) { longest = max(longest, l.Left(e.Now())) })
	return longest
}

func (e *Engine) leftOver(why error) error {
	var names []string
	e.dog.Each(func(l *watchdog.Lease) {
		if cause, _ := l.Ended(); !errors.Is(cause, ErrReleased) { // else its holder is just giving it back
			names = append(names, fmt.Sprintf("%q", grantOf(l).grant().Key().Shown()))
		}
	})
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	const most = 10
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	left := errors.New("closed with holds that were not unlocked, left to their leases: " + strings.Join(names, ", "))
	if why == nil {
		return left
	}
	return fmt.Errorf("%w (%w)", left, why)
}
