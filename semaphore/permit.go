package semaphore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Permit is one permit that is held. [PermitSemaphore.Acquire] returns it and [Permit.Release] ends
// it. It belongs to the code that has the value, not to a goroutine. All methods may be called from
// any goroutine.
type Permit struct {
	of    *permitNames
	grant *lease.Grant
	want  want
	late  bool      // an earlier send of the acquire may still arrive
	with  []*Permit // those acquired together with it, until their caller has them

	mu       sync.Mutex
	released bool
	cause    error // why it ended without a release
	lost     chan struct{}
	contexts permitContexts
}

// permit lets the watchdog renew the acquired permits. It returns the first permit, which leads to
// the others.
func (of *permitNames) permit(w want, answer send.Answer) *Permit {
	more := w.more
	w.more = nil
	p := of.cared(w, answer)
	for _, id := range more {
		w.id = id
		p.with = append(p.with, of.cared(w, answer))
	}
	return p
}

// cared lets the watchdog renew one permit.
func (of *permitNames) cared(w want, answer send.Answer) *Permit {
	p := &Permit{of: of, want: w, late: answer.Replayed}
	every := time.Duration(0)
	if w.kept {
		every = of.i.e.WatchdogTimeout / 3
	}
	p.grant = of.i.e.NewGrant(of, text(w.id), answer.Started, w.lease, every, watchdog.Instant{}, (*permitSeat)(p))
	return p
}

// ID returns the id of the permit on the server: 32 hex digits. Any process that knows it can
// release the permit, Go or Java.
func (p *Permit) ID() string { return text(p.want.id) }

// Err returns nil while the permit is trusted. Else it returns why it ended: [ErrLost],
// [ErrReleased] or [ErrClosed]. It compares the clocks at each call, so it reports the loss at once
// in a process that was paused past its lease. It does no I/O.
func (p *Permit) Err() error {
	if err := p.ended(); err != nil {
		return err
	}
	if err := p.grant.Err(); err != nil {
		return err
	}
	return p.ended() // the client may have been closed
}

// ended returns why the permit has ended, as far as it is known here.
func (p *Permit) ended() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.released {
		return ErrReleased
	}
	return p.cause
}

// Lost returns a channel that is closed when the permit ends without having been released by Release: it
// was lost, or its client was closed. [Permit.Err] then says which.
func (p *Permit) Lost() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost == nil {
		p.lost = make(chan struct{})
		if p.cause != nil && !p.released {
			close(p.lost)
		}
	}
	return p.lost
}

// Expiring returns a channel that is closed when renewals have failed for half of the lease: time
// to finish, or to hurry. If renewals succeed after that, the next call returns a new channel. With
// a fixed lease the channel never closes. For a permit that was released it is nil.
func (p *Permit) Expiring() <-chan struct{} {
	if p.ended() == ErrReleased {
		return nil
	}
	return p.grant.Expiring()
}

// Deadline returns the time until which the permit is trusted if no further renewal succeeds. Each
// renewal moves it. For a permit that was released it is the zero time.
func (p *Permit) Deadline() time.Time {
	if p.ended() == ErrReleased {
		return time.Time{}
	}
	return p.grant.Deadline()
}

// Extend makes the lease last for at least d from now; it never shortens one. The client continues
// to renew a renewed permit; a fixed lease stays fixed. ctx bounds the round trip.
//
// Cost: one script call.
// Errors: [ErrLost]; [ErrReleased]; [ErrInvalidArgument] for a lease that [WithLease] would refuse;
// ctx's; [ErrOutcomeUnknown] if the reply was lost, when the lease may have grown without this side
// trusting it.
// Source: RPermitExpirableSemaphore.updateLeaseTime, which shortens, too.
func (p *Permit) Extend(ctx context.Context, d time.Duration) error {
	err := p.Err()
	switch {
	case ctx == nil:
		err = object.CheckContext(ctx)
	case err == nil:
		if err = core.CheckLease(d); err == nil {
			err = p.grant.Grow(ctx, d)
		}
	}
	return p.failed("extend", err)
}

// Release releases the permit. It completes also on a cancelled ctx, and uses only the values of
// ctx. It takes as long as sending takes: a few seconds at most if the server is silent. The
// permit's contexts end with [ErrReleased] first.
//
// Cost: one script call, shared with other calls of this process on the name, such as the acquire
// of the next waiter.
// Errors: [ErrReleased] if Release was called before; [ErrLost] if the permit had ended, so that
// the work may have overlapped with the work of the permit's next holder; [ErrDeferred] if the
// server refused or did not answer, with [ErrOutcomeUnknown] if the release may have been done: the
// client continues until the server accepts the release or the lease ends; [ErrClosed] if the
// client was closed before, when the permit stays held until its lease ends.
// Source: RPermitExpirableSemaphore.release.
func (p *Permit) Release(ctx context.Context) error {
	if ctx == nil {
		return p.failed("release", object.CheckContext(ctx))
	}
	err := p.leave()
	release := func() { // takes it from the watchdog and gives it back
		until := p.grant.Deadline()
		if !p.grant.Finish(ErrReleased) {
			err = p.afterLoss()
			return
		}
		got, failed := p.of.i.giveBack(ctx, p, nil)
		err = p.gaveUp(ctx, got, failed, 0, until)
	}
	if err == nil && !p.of.i.e.During(release) {
		err = ErrClosed
	}
	return p.failed("release", err)
}

// afterLoss returns why the permit had ended before its release. A renewal without an answer may
// have extended its lease.
func (p *Permit) afterLoss() error {
	err := p.grant.Err()
	if !errors.Is(err, watchdog.ErrGone) {
		p.grant.GiveBackLater()
	}
	return err
}

// gaveUp returns the outcome of a release; this permit was its n-th. The permit was trusted until
// the time until.
func (p *Permit) gaveUp(ctx context.Context, got permitAnswer, err error, n int, until time.Time) error {
	switch {
	case errors.Is(err, errNotSet):
		err = fmt.Errorf("%w: %w", ErrLost, err)
	case err != nil:
		p.grant.GiveBackLater()
		err = send.Deferred(err)
	case got.gave[n] == 0 && !(got.Replayed && time.Now().Before(until)): // else the first send did it, and its reply was lost
		err = fmt.Errorf("%w: %w", ErrLost, watchdog.ErrGone)
	}
	if err == nil && p.of.i.e.Observer != nil {
		p.of.i.e.Observer.Released(context.WithoutCancel(ctx), permitLabel, p.of.key, false)
	}
	return err
}

// giveBack releases permits, and asks for the next waiters in the same call.
func (i *permitShared) giveBack(ctx context.Context, p *Permit, others []*Permit) (permitAnswer, error) {
	ask := permitAsk{of: p.of, gives: p.want.id, judged: p.want.label != "" || p.want.judged}
	var late []string
	if p.late {
		late = append(late, p.want.id)
	}
	for _, other := range others {
		ask.also = append(ask.also, other.want.id)
		if other.late {
			late = append(late, other.want.id)
		}
	}
	if len(late) > 0 {
		if err := p.of.markReleased(context.WithoutCancel(ctx), late...); err != nil {
			return permitAnswer{}, err
		}
	}
	ask.from = i.places.Get(p.of.key)
	defer i.places.Put(p.of.key, ask.from)
	l := ask.from.list(true)
	ask.wants = l.wants
	got, err := i.table.Do(context.Background(), p.of.key, ask)
	if len(l.wants) == 0 {
		ask.from.gave(got.woken)
	} else {
		for _, spare := range ask.from.distribute(p.of, l, got) {
			spare.discard()
		}
	}
	return got, errors.Join(err, got.err)
}

// discard releases permits whose caller has gone.
func (p *Permit) discard() {
	var back []want
	for _, one := range p.all() {
		if one.leave() == nil && one.grant.Finish(ErrReleased) {
			back = append(back, one.want)
		}
	}
	p.of.undo(back, p.late)
}

// all returns the permit and those that were acquired together with it.
func (p *Permit) all() []*Permit {
	all := append(make([]*Permit, 0, 1+len(p.with)), p)
	return append(all, p.with...)
}

// observe notifies the observer of the permit and those that were acquired together with it.
func (p *Permit) observe(ctx context.Context) {
	if o := p.of.i.e.Observer; o != nil {
		for range 1 + len(p.with) {
			o.Acquired(ctx, permitLabel, p.of.key, false)
		}
	}
}

// leave ends the permit for its users.
func (p *Permit) leave() error {
	p.mu.Lock()
	if p.released {
		p.mu.Unlock()
		return ErrReleased
	}
	p.released = true
	contexts := p.contexts.take()
	p.mu.Unlock()
	contexts.end(ErrReleased)
	return nil
}

// Ended is called by the engine when the permit is lost or the client is closed.
func (p *permitSeat) Ended(cause error) {
	p.mu.Lock()
	if p.cause == nil {
		p.cause = cause
		if p.lost != nil && !p.released {
			close(p.lost)
		}
	}
	contexts := p.contexts.take()
	p.mu.Unlock()
	contexts.end(cause)
}

// permitSeat is a permit as the engine sees it.
type permitSeat Permit

// failed adds the operation and the permit to err, and notifies the observer.
func (p *Permit) failed(op string, err error) error {
	p.of.i.e.Outcome(permitLabel, p.of.key, op, err)
	return object.Failed(op, "permit of semaphore", p.of.name, err)
}
