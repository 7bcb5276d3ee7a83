package redlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/internal/quorum"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/lock"
)

// bid is one attempt at a quorum.
type bid struct {
	*campaign
	held *held
	r    *quorum.Round

	parts   []quorum.Part
	errs    []error // the refusals of the members; nil: granted, or not answered
	open    map[int]bool
	began   time.Time
	slowest time.Duration // of the answers
	over    bool          // the time of the open requests is over
}

// bid asks all members at once, except the one that was waited for, which is held.
func (c *campaign) bid(ctx context.Context, mine *quorum.Answer) *bid {
	n := len(c.all)
	b := &bid{campaign: c, errs: make([]error, n), open: make(map[int]bool, n), began: time.Now(), parts: make([]quorum.Part, 0, n)}
	b.held = &held{Held: quorum.NewHeld(c.quorum(), c.seat), red: c.Lock, ask: c.ask, until: time.Now().Add(c.ask.Lease), id: holds.Add(1)}
	b.r = quorum.NewRound(n, b.late)
	patience := c.patience
	for i, m := range c.all {
		if mine != nil && mine.I == i {
			b.take(*mine)
			continue
		}
		b.open[i] = true
		b.r.Ask(i, m, func() (*lock.Hold, error) { return c.one(ctx, i, patience) })
	}
	b.count(ctx)
	return b
}

// count takes answers until there is a quorum, or no hope of one.
func (b *bid) count(ctx context.Context) {
	timer := time.NewTimer(b.limit + b.patience)
	defer timer.Stop()
	for len(b.parts) < b.quorum() && len(b.parts)+len(b.open) >= b.quorum() {
		select {
		case a := <-b.r.Answers:
			b.take(a)
			continue
		default:
		}
		select {
		case a := <-b.r.Answers:
			b.take(a)
		case <-timer.C:
			b.over = true
			b.fallSilent(b.open)
			return
		case <-ctx.Done():
			return
		}
	}
}

func (b *bid) take(a quorum.Answer) {
	delete(b.open, a.I)
	b.slowest = max(b.slowest, min(time.Since(b.began), b.limit))
	if b.errs[a.I] = a.Err; a.Hold == nil {
		return
	}
	b.voices[a.I].heard()
	lockkit.Tell(a.Hold, b.held)
	b.parts = append(b.parts, quorum.Part{Member: b.all[a.I], I: a.I, Hold: a.Hold})
}

// won makes a hold of the parts, if there are enough. The answers that are still to come join it.
func (b *bid) won() bool {
	if len(b.parts) < b.quorum() || quorum.Missing(b.parts, b.quorum()) != nil {
		return false
	}
	b.held.strays, b.held.arrived = b.open, make(chan struct{}, 1)
	b.held.Start(b.parts)
	for i, err := range b.errs {
		if err != nil {
			b.held.again(i, b.limit)
		}
	}
	b.r.Leave()
	return true
}

// lose releases all parts, also those that are still to come.
func (b *bid) lose(ctx context.Context) {
	b.held.Finish(ErrReleased)
	b.r.Leave()
	r := quorum.NewRound(len(b.parts), func(quorum.Answer) {})
	for i, p := range b.parts {
		r.Ask(i, p.Member, func() (*lock.Hold, error) { return nil, p.Hold.Unlock(context.WithoutCancel(ctx)) })
	}
	r.Last(len(b.parts), func(quorum.Answer) {})
}

// late handles an answer after the quorum, or after the end of the bid.
func (b *bid) late(a quorum.Answer) {
	if a.Hold != nil {
		b.voices[a.I].heard()
		b.held.join(quorum.Part{Member: b.all[a.I], I: a.I, Hold: a.Hold})
	} else {
		b.held.again(a.I, b.limit)
	}
	b.held.came(a.I)
}

// answers returns how many members have answered. own is how many of these were refused because of
// another call of this process, which says nothing of their servers.
func (b *bid) answers() (said, own int) {
	said = len(b.parts)
	for _, err := range b.errs {
		switch {
		case errors.Is(err, send.ErrUnasked):
			own++
		case errors.Is(err, ErrNotAcquired):
			said++
		}
	}
	return said, own
}

// busy reports whether other holders, or callers that may become holders, are the reason that there
// is no quorum. That is an answer, not a fault.
func (b *bid) busy() bool {
	said, own := b.answers()
	return said+own >= b.quorum()
}

// young returns the members whose grants do not count yet.
func (b *bid) young() (all notYet) {
	for _, err := range b.errs {
		var restarted *RestartedError
		if errors.As(err, &restarted) {
			all = append(all, restarted)
		}
	}
	return all
}

// notYet adds the members that do not count yet to the error of a wait. It does not wrap
// [ErrNotAcquired], as a [RestartedError] does: the wait ended without an answer that other clients
// hold the lock.
type notYet []*RestartedError

func (e notYet) Error() string {
	all := make([]string, len(e))
	for i, one := range e {
		all[i] = one.Error()
	}
	return strings.Join(all, "; ")
}

// As finds the first [RestartedError].
func (e notYet) As(target any) bool {
	restarted, is := target.(**RestartedError)
	if is {
		*restarted = e[0]
	}
	return is
}

// first returns the first member that is held by another client, or asked for by a call of this
// process.
func (b *bid) first() (i int, held bool) {
	for i, err := range b.errs {
		var restarted *RestartedError
		if errors.Is(err, ErrNotAcquired) && !errors.As(err, &restarted) {
			return i, true
		}
	}
	return 0, false
}

// why returns the error of a bid without a quorum.
func (b *bid) why() error {
	all := []error{fmt.Errorf("%d of %d", len(b.parts), len(b.all))}
	busy := b.busy()
	if busy {
		all[0] = fmt.Errorf("%w: %w", ErrNotAcquired, all[0])
	}
	for i, err := range b.errs {
		if b.open[i] && b.over {
			err = errSilent
		}
		node := b.all[i].Engine.Node(b.all[i].Key.Name)
		switch refused := errors.Is(err, ErrNotAcquired); {
		case err == nil || busy && !refused:
		case refused && !busy: // the refusal of a minority, not of the whole
			all = append(all, fmt.Errorf("%s: %v", node, err))
		default:
			all = append(all, fmt.Errorf("%s: %w", node, err))
		}
	}
	return errors.Join(all...)
}

// passing reports whether a member may give another answer soon.
func passing(err error) bool {
	return errors.Is(err, ErrNotAcquired) || errors.Is(err, errSilent) || send.Transient(err) && !errors.Is(err, errNoUptime)
}

// hopeless reports whether so many members fail for good that waiting is of no use.
func (b *bid) hopeless() bool {
	n := len(b.all)
	for _, err := range b.errs {
		if err != nil && !passing(err) {
			n--
		}
	}
	return n < b.quorum()
}
