package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/quorum"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/lock"
)

// campaign is one call of Lock or TryLock of a red lock: bids, and the waits between them.
type campaign struct {
	*Lock
	ask    locking.Ask
	seat   lease.Seat
	whole  context.Context // the caller's, until WithWait is over
	shared *waiters
	e      *locking.Engine // of the member with the longest watchdog timeout: that bounds an outage. It is the same for all
	began  time.Duration   // by e

	patience time.Duration // how long a bid waits for members that are just being released
	waits    int           // for one member, in a row

	young notYet // of the last bid
}

func newCampaign(r *Lock, ask locking.Ask, seat lease.Seat) *campaign {
	c := &campaign{Lock: r, ask: ask, seat: seat, e: r.all[0].Engine}
	for _, m := range r.all {
		if cmp.Or(cmp.Compare(m.Engine.WatchdogTimeout, c.e.WatchdogTimeout), strings.Compare(c.e.IDs.Client(), m.Engine.IDs.Client())) > 0 {
			c.e = m.Engine
		}
	}
	c.began = c.e.Now().Mono
	return c
}

// run returns the hold. If ctx ends while servers do not count yet, its error names them, too.
func (c *campaign) run(ctx context.Context) (locking.Holding, error) {
	held, err := c.bids(ctx)
	if err != nil && ctx.Err() != nil && len(c.young) > 0 {
		err = fmt.Errorf("%w: %w", err, c.young)
	}
	return held, err
}

func (c *campaign) bids(ctx context.Context) (locking.Holding, error) {
	table := waitersOf(c.e)
	c.shared = table.Get(c.id)
	defer table.Put(c.id, c.shared)
	if c.whole = ctx; c.ask.Wait > 0 {
		var cancel context.CancelFunc
		c.whole, cancel = core.Within(ctx, c.ask.Wait)
		defer cancel()
	}
	for mine := (*quorum.Answer)(nil); ; {
		if err := quorum.Usable(ctx, c.all); err != nil {
			if mine != nil { // the member that was waited for
				_ = mine.Hold.Unlock(ctx) // its client repeats what fails
			}
			return nil, err
		}
		b := c.bid(ctx, mine)
		b.tell()
		if b.won() {
			c.shared.outage.Answered()
			return b.held, nil
		}
		b.lose(ctx)
		if young := b.young(); len(young) > 0 || ctx.Err() == nil { // else the bid may have ended before its answers
			c.young = young
		}
		if ctx.Err() != nil {
			return nil, c.over(ctx)
		}
		if b.hopeless() {
			return nil, b.why()
		}
		var err error
		if mine, err = c.next(ctx, b); err != nil {
			return nil, err
		}
	}
}

// over returns why a wait has ended with ctx.
func (c *campaign) over(ctx context.Context) error {
	return c.shared.outage.Because(c.e.Sender, core.ContextError(ctx))
}

// goesOn reports whether the caller still waits.
func (c *campaign) goesOn() bool {
	return !c.ask.Bounded || c.ask.Wait > 0 && c.whole.Err() == nil
}

// one asks one member, and waits for it for up to wait.
func (c *campaign) one(ctx context.Context, i int, wait time.Duration) (*lock.Hold, error) {
	ctx = context.WithoutCancel(ctx)
	hold, err := guarded(ctx, c.all[i], c.mustBeUp(c.ask), func(ctx context.Context) (*lock.Hold, error) {
		return c.all[i].TryLock(ctx, c.options(wait)...)
	})
	switch {
	case err == nil:
		return hold, nil
	case wait > 0 && errors.Is(err, context.DeadlineExceeded):
		return c.one(ctx, i, 0) // it had no time to find out whether the member is held
	}
	return nil, c.voices[i].refused(ctx, c.all[i], err)
}

func (c *campaign) options(wait time.Duration) (all []lock.TryOption) {
	if c.ask.Lease > 0 {
		all = append(all, lock.WithLease(c.ask.Lease))
	}
	if wait > 0 {
		all = append(all, lock.WithWait(wait))
	}
	return all
}

// A wait for one member ends after a while, jittered, for the case that the
// others are free by then.
const (
	firstWait = 500 * time.Millisecond
	mostWait  = 5 * time.Second
)

// next waits until another bid is useful. If it has acquired the member that it has waited for, it
// returns its answer.
func (c *campaign) next(ctx context.Context, b *bid) (*quorum.Answer, error) {
	told := c.shared.givenUp() // before the check whether one has given up
	said, own := b.answers()
	switch {
	case said >= b.quorum():
		c.shared.outage.Refused(c.e.Sender)
	case said+own < b.quorum():
		return nil, c.bear(b, told)
	} // else other calls of this process are asking
	if !c.goesOn() {
		return nil, c.refusal(b)
	}
	if err := c.shared.outage.GivenUp(c.e.Sender, c.began); err != nil {
		return nil, err
	}
	c.patience = min(max(3*b.slowest, 2*time.Millisecond), c.limit)
	if len(b.parts) > 0 { // another caller has the others: both start again, after different pauses
		if err := c.sleep(rand.N(3*b.slowest+1), told); err != nil {
			return nil, err
		}
	}
	if i, held := b.first(); held {
		return c.await(ctx, i, b, told)
	}
	c.waits = 0
	return nil, c.sleep(b.untilCounted(), told)
}

// refusal returns the error of a call that stops waiting. It says that the lock is held only if a
// quorum has said so.
func (c *campaign) refusal(b *bid) error {
	if c.ask.Wait == 0 {
		return b.why()
	}
	err := c.shared.outage.Ended(c.e.Sender, core.ContextError(c.whole))
	if errors.Is(err, ErrNotAcquired) && b.busy() {
		return b.why()
	}
	return err
}

// await waits for the first member that refused. All callers that want the lock wait for the same
// member, so they come one after the other. It also ends when another call gives up.
func (c *campaign) await(ctx context.Context, i int, b *bid, told <-chan struct{}) (*quorum.Answer, error) {
	c.waits++
	wait := min(firstWait<<min(c.waits, 5), mostWait)
	wait -= rand.N(wait/10 + 1) // spread the callers
	if end, bounded := c.whole.Deadline(); bounded && c.ask.Wait > 0 {
		wait = min(wait, max(time.Until(end), time.Millisecond))
	}
	open, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quorum.WakeAtClose(open, c.all, cancel, told)
	hold, err := guarded(open, c.all[i], c.mustBeUp(c.ask), func(ctx context.Context) (*lock.Hold, error) {
		return c.all[i].TryLock(ctx, c.options(wait)...)
	})
	switch {
	case err == nil:
		return &quorum.Answer{I: i, Hold: hold}, nil
	case ctx.Err() != nil:
		return nil, c.over(ctx)
	case !c.goesOn():
		return nil, c.refusal(b)
	}
	return nil, c.shared.outage.GivenUp(c.e.Sender, c.began) // else the next bid finds the reason
}

// bear continues for up to a watchdog timeout with too few members that answer. All callers of this
// process count together, and give up together.
func (c *campaign) bear(b *bid, told <-chan struct{}) error {
	why := b.why()
	lasted, pause := c.shared.outage.Failed(c.e.Sender, why)
	if c.waits = 0; !c.goesOn() {
		return c.refusal(b)
	}
	if lasted > c.e.WatchdogTimeout {
		c.shared.givesUp()
		return why
	}
	if err := c.sleep(pause, told); err != nil {
		return err
	}
	return c.shared.outage.GivenUp(c.e.Sender, c.began)
}

// sleep ends after d, with the wait, or when another call gives up.
func (c *campaign) sleep(d time.Duration, told <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-told:
	case <-c.whole.Done():
		if c.ask.Wait == 0 {
			return c.over(c.whole)
		}
	case <-c.e.Closing():
	}
	return nil
}

// untilCounted returns the time until another server counts.
func (b *bid) untilCounted() time.Duration {
	wait := time.Second
	for _, err := range b.errs {
		var restarted *RestartedError
		if errors.As(err, &restarted) {
			wait = min(wait, max(time.Until(restarted.Counts), time.Millisecond))
		}
	}
	return wait
}

// tell logs servers that restarted, once for each restart.
func (b *bid) tell() {
	for i, err := range b.errs {
		var restarted *RestartedError
		if !errors.As(err, &restarted) {
			continue
		}
		when := restarted.Restarted.Unix()
		if told := b.voices[i].told.Swap(when); when-told > 5 { // the uptime is in whole seconds
			b.all[i].Engine.Logger.Warn("a server that restarted does not count yet", "name", restarted.Member,
				"server", restarted.Server, "restarted", restarted.Restarted, "counts", restarted.Counts)
		}
	}
}

// waiters is shared by the callers of this process that want the same red lock, whatever their
// handles.
type waiters struct {
	places.Entry
	outage send.Outage // of a quorum

	mu   sync.Mutex
	told chan struct{} // closed when one of them gives up, so that the others check
}

type waitersKey struct{}

// waitersOf returns the table of a client. A red lock is in the table of its campaigns' client.
func waitersOf(e *locking.Engine) *places.Places[string, *waiters] {
	return e.Shared(waitersKey{}, func() any {
		return &places.Places[string, *waiters]{
			Make: func(string) *waiters { return &waiters{told: make(chan struct{})} },
			Left: func(w *waiters) { w.outage.Answered() },
		}
	}).(*places.Places[string, *waiters])
}

// identity returns the same text for all handles of a process on the same members, in any order.
func identity(members []quorum.Member) string {
	ids := make([]string, len(members))
	for i, m := range members {
		ids[i] = m.Engine.IDs.Client() + "\x00" + m.Key.Name
	}
	slices.Sort(ids)
	return strings.Join(ids, "\x00")
}

// givesUp wakes all waiters.
func (w *waiters) givesUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.told)
	w.told = make(chan struct{})
}

// givenUp returns a channel that is closed when one of the callers gives up from now on.
func (w *waiters) givenUp() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.told
}
