package semaphore

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// mostPerCall bounds how long one script call occupies the server.
const mostPerCall = 1000

// AcquireN waits until n permits are free and takes them in one step: all or none. So two callers
// that want both of two permits do not wait for each other for ever. They may do so if each
// acquires one at a time. Each permit has an id and a lease of its own, and may be released alone.
//
// Waiters of one process are served in their order: those after a large request wait, also if there
// are permits for them. Other processes that take few permits can starve a large request. A request
// for more permits than there are waits until there are enough.
//
// Cost, wire, errors and the end of a wait: as [PermitSemaphore.Acquire]. An n below 1 or above
// 1,000 returns [ErrInvalidArgument]. Source: RPermitExpirableSemaphore.acquire(int).
func (s *PermitSemaphore) AcquireN(ctx context.Context, n int, opts ...PermitOption) ([]*Permit, error) {
	return together(s.acquire(ctx, n, opts))
}

// TryAcquireN takes n permits in one step, if they are free now or become free within [WithWait]:
// all or none. Else it returns [ErrNotAcquired], as [PermitSemaphore.TryAcquire] does.
//
// Cost, wire and errors: as [PermitSemaphore.AcquireN] and [PermitSemaphore.TryAcquire].
// Source: RPermitExpirableSemaphore.tryAcquire(int).
func (s *PermitSemaphore) TryAcquireN(ctx context.Context, n int, opts ...TryPermitOption) ([]*Permit, error) {
	return together(s.tryAcquire(ctx, n, opts))
}

// together returns the permits that were acquired in one step with p, the first of them.
func together(p *Permit, err error) ([]*Permit, error) {
	if err != nil {
		return nil, err
	}
	all := p.all()
	p.with = nil
	return all, nil
}

// ReleaseN releases permits of this semaphore in one step. This client may have acquired them
// together or not. Held permits are released also if others of them had ended. ReleaseN completes
// also on a cancelled ctx, as [Permit.Release] does. Without permits it does nothing.
//
// Cost and wire: as Permit.Release, in one script call for all.
// Errors: those of Permit.Release for each permit that was not released, joined, with its id;
// [ErrInvalidArgument] for a permit of another semaphore or client, or more than 1,000, when
// nothing is released.
// Source: RPermitExpirableSemaphore.release(List), which releases none if one had ended.
func (s *PermitSemaphore) ReleaseN(ctx context.Context, permits ...*Permit) error {
	err := s.plain.checked(ctx, 1)
	if err == nil {
		err = s.releasable(permits)
	}
	if err != nil || len(permits) == 0 {
		return s.failed("release permits of", err)
	}
	var failed []error
	left := make([]*Permit, 0, len(permits))
	for _, p := range permits {
		if err := p.leave(); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", p.ID(), err))
		} else {
			left = append(left, p)
		}
	}
	if !s.i.e.During(func() { failed = append(failed, s.i.giveUpAll(ctx, left)...) }) {
		failed = append(failed, ErrClosed)
	}
	return s.failed("release permits of", errors.Join(failed...))
}

// releasable checks that the permits are this semaphore's.
func (s *PermitSemaphore) releasable(permits []*Permit) error {
	if len(permits) > mostPerCall {
		return fmt.Errorf("%w: %d permits at once: at most %d", ErrInvalidArgument, len(permits), mostPerCall)
	}
	for _, p := range permits {
		switch {
		case p == nil:
			return fmt.Errorf("%w: a nil permit", ErrInvalidArgument)
		case p.of.i != s.i || p.of.key != s.of.key:
			return fmt.Errorf("%w: permit %s is of another semaphore or client", ErrInvalidArgument, p.ID())
		}
	}
	return nil
}

// giveUpAll removes permits from the watchdog and releases them in one call.
func (i *permitShared) giveUpAll(ctx context.Context, permits []*Permit) (failed []error) {
	live, until := permits[:0], make([]time.Time, 0, len(permits))
	for _, p := range permits {
		trusted := p.grant.Deadline()
		if p.grant.Finish(ErrReleased) {
			live, until = append(live, p), append(until, trusted)
		} else {
			failed = append(failed, fmt.Errorf("%s: %w", p.ID(), p.afterLoss()))
		}
	}
	if len(live) == 0 {
		return failed
	}
	got, err := i.giveBack(ctx, live[0], live[1:])
	for n, p := range live {
		if err := p.gaveUp(ctx, got, err, n, until[n]); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", p.ID(), err))
		}
	}
	return failed
}
