package multilock

import (
	"context"
	"errors"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/internal/quorum"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/lock"
)

// climb acquires locks in their order: it waits for one only while it holds those before it, and
// none after it.
type climb struct {
	held    *quorum.Held
	members []quorum.Member
	ask     locking.Ask
	until   time.Time // the end of WithWait

	holds  []*lock.Hold // of the members; nil: not held
	busy   []error      // the last answers of those that are not
	waited bool         // so the leases may be of different age
	failed time.Time    // since when the awaited member fails; zero: it does not
}

// takeAll acquires all of the members, or none.
func takeAll(ctx context.Context, members []quorum.Member, ask locking.Ask, seat lease.Seat) (locking.Holding, error) {
	n := len(members)
	c := &climb{held: quorum.NewHeld(n, seat), members: members, ask: ask, holds: make([]*lock.Hold, n), busy: make([]error, n)}
	if ask.Wait > 0 {
		c.until = time.Now().Add(ask.Wait)
	}
	if err := c.toTop(ctx); err != nil {
		c.drop(0)
		return nil, err
	}
	c.held.Start(c.parts(0))
	return c.held, nil
}

// parts returns the held members from index from on.
func (c *climb) parts(from int) []quorum.Part {
	parts := make([]quorum.Part, 0, len(c.members)-from)
	for i := from; i < len(c.members); i++ {
		if c.holds[i] != nil {
			parts = append(parts, quorum.Part{Member: c.members[i], I: i, Hold: c.holds[i]})
		}
	}
	return parts
}

func (c *climb) toTop(ctx context.Context) error {
	for {
		gap, err := c.tryRest(ctx)
		if err == nil && gap == len(c.members) {
			gap, err = c.settle(ctx)
		}
		if err != nil || gap == len(c.members) {
			return err
		}
		c.drop(gap)
		if err := c.waitFor(ctx, gap); err != nil {
			return err
		}
	}
}

// tryRest asks all members that are not held, and returns the first that is still not held.
func (c *climb) tryRest(ctx context.Context) (gap int, err error) {
	if err := quorum.Usable(ctx, c.members); err != nil {
		return 0, err
	}
	r := quorum.NewRound(len(c.members), func(a quorum.Answer) {
		if a.Hold != nil { // it came too late
			_ = a.Hold.Unlock(context.Background()) // its client repeats what fails
		}
	})
	asked := 0
	for i, m := range c.members {
		if c.holds[i] == nil {
			asked++
			r.Ask(i, m, func() (*lock.Hold, error) { return m.TryOnce(ctx, c.options()...) })
		}
	}
	open, end := c.within(ctx, 0) // and a grace, for those that have been asked
	defer end()
	if r.All(open, asked, c.take) {
		return c.firstGap()
	}
	for i, err := range c.busy { // one held member is an answer for all of them
		if ctx.Err() == nil && c.holds[i] == nil && errors.Is(err, ErrNotAcquired) && !errors.Is(err, send.ErrUnasked) {
			return 0, err
		}
	}
	return 0, core.ContextError(open)
}

// within returns ctx until WithWait is over, and for the time more after that.
func (c *climb) within(ctx context.Context, more time.Duration) (context.Context, func()) {
	if c.until.IsZero() {
		return ctx, func() {}
	}
	return core.Within(ctx, max(0, time.Until(c.until))+more)
}

// take notes an answer.
func (c *climb) take(a quorum.Answer) {
	if c.holds[a.I], c.busy[a.I] = a.Hold, a.Err; a.Hold != nil {
		lockkit.Tell(a.Hold, c.held)
	}
}

// firstGap returns the first member that is not held. An error that waiting cannot resolve comes
// first.
func (c *climb) firstGap() (gap int, err error) {
	gap = len(c.members)
	for i := len(c.members) - 1; i >= 0; i-- {
		if c.holds[i] != nil {
			continue
		}
		gap = i
		if err := c.busy[i]; !errors.Is(err, ErrNotAcquired) && (!c.waits() || !send.Transient(err)) {
			return i, err
		}
	}
	return gap, nil
}

func (c *climb) waits() bool { return !c.ask.Bounded || c.ask.Wait > 0 }

// settle makes leases of different age equal, and checks whether all are trusted.
func (c *climb) settle(ctx context.Context) (gap int, err error) {
	if c.ask.Lease > 0 && c.waited {
		c.extend(ctx, len(c.members))
	}
	if err := quorum.Usable(ctx, c.members); err != nil {
		return 0, err
	}
	return c.firstLost(), nil
}

func (c *climb) firstLost() int {
	for i, hold := range c.holds {
		if hold != nil && hold.Err() != nil {
			c.busy[i] = hold.Err()
			return i
		}
	}
	return len(c.members)
}

// extend gives the first n members their whole lease again. A member that cannot be extended is
// lost in time, and detected then.
func (c *climb) extend(ctx context.Context, n int) {
	held := make([]quorum.Member, 0, n)
	holds := make([]*lock.Hold, 0, n)
	for i := range n {
		if c.holds[i] != nil {
			held, holds = append(held, c.members[i]), append(holds, c.holds[i])
		}
	}
	ctx, end := c.within(ctx, quorum.Grace)
	defer end()
	quorum.Together(held, func(i int) { _ = holds[i].Extend(ctx, c.ask.Lease) })
}

// drop releases the held members from index from on. Releases that get no answer continue in the
// background.
func (c *climb) drop(from int) {
	r := quorum.NewRound(len(c.members), func(quorum.Answer) {})
	parts := c.parts(from)
	for i, p := range parts {
		r.Ask(i, p.Member, func() (*lock.Hold, error) { return nil, p.Hold.Unlock(context.Background()) })
	}
	r.Last(len(parts), func(quorum.Answer) {})
	clear(c.holds[from:])
}

// waitFor waits until member i is held, or a member before it is lost.
func (c *climb) waitFor(ctx context.Context, i int) error {
	if !c.waits() {
		return c.busy[i]
	}
	c.waited, c.failed = true, time.Time{}
	held, stop := c.whileHeld(ctx)
	defer stop()
	for {
		hold, err := c.waitOnce(held, i)
		if err == nil {
			c.take(quorum.Answer{I: i, Hold: hold})
			return nil
		}
		if ctx.Err() == nil && held.Err() != nil {
			c.drop(min(i, c.firstLost()))
			return nil
		}
		if !c.goesOn(ctx, i, err) {
			return err
		}
		c.extend(ctx, i)
	}
}

// whileHeld returns a context that ends when a held member is lost.
func (c *climb) whileHeld(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c.held.Wake(cancel)
	if c.firstLost() < len(c.members) {
		cancel(ErrLost) // it was lost before it could be told
	}
	quorum.WakeAtClose(ctx, c.members, cancel, nil)
	return ctx, func() { cancel(nil) }
}

// keepAlive is how often, at most, fixed leases are extended during a wait.
const keepAlive = 50 * time.Millisecond

// waitOnce waits for member i. If members with fixed leases are held, it waits in steps and extends
// these between the steps.
func (c *climb) waitOnce(ctx context.Context, i int) (*lock.Hold, error) {
	wait := time.Duration(-1)
	if !c.until.IsZero() {
		wait = max(1, time.Until(c.until)) // 0 would mean no wait, and only one answer
	}
	if step := max(c.ask.Lease/3, keepAlive); c.ask.Lease > 0 && i > 0 && (wait < 0 || wait > step) {
		wait = step
	}
	if wait < 0 {
		return c.members[i].Lock(ctx, c.leases()...)
	}
	return c.members[i].TryLock(ctx, append(c.options(), lock.WithWait(wait))...)
}

// goesOn reports whether the wait continues after the end of one step.
func (c *climb) goesOn(ctx context.Context, i int, err error) bool {
	if ctx.Err() != nil || c.ask.Lease == 0 || !c.until.IsZero() && time.Now().After(c.until) {
		return false
	}
	if errors.Is(err, ErrNotAcquired) {
		c.failed = time.Time{}
		return true
	}
	if c.failed.IsZero() {
		c.failed = time.Now()
	}
	return send.Transient(err) && time.Since(c.failed) < c.members[i].Engine.WatchdogTimeout
}

func (c *climb) leases() []lock.LockOption {
	if c.ask.Lease == 0 {
		return nil
	}
	return []lock.LockOption{lock.WithLease(c.ask.Lease)}
}

func (c *climb) options() (all []lock.TryOption) {
	for _, o := range c.leases() {
		all = append(all, o)
	}
	return all
}
