package semaphore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Adopt takes over the permit of that id, which this or another process acquired, in Go or Java:
// work that moves to another process keeps its permit. This client renews it from now on, also if
// its lease was fixed. ctx bounds the round trip.
//
// The process that acquired it is not notified, and continues to renew it, unless it was acquired
// [WithLease]. The first release ends the permit for all processes that have it. They learn it at
// their next renewals.
//
// Cost: one script call.
// Errors: [ErrLost] if there is no such permit, or its lease has ended; [ErrInvalidArgument] for a
// text that is not an id; ctx's; [ErrOutcomeUnknown] if no answer came, when this client does not
// renew the permit; [ErrClosed]; those of Redis and of the network.
// Source: ours; RPermitExpirableSemaphore has updateLeaseTime.
func (s *PermitSemaphore) Adopt(ctx context.Context, id string) (*Permit, error) {
	lease := s.i.e.WatchdogTimeout
	answer, err := s.lengthen(ctx, id, lease)
	if err != nil {
		return nil, s.failed("adopt permit of", err)
	}
	return s.of.cared(want{id: raw(id), lease: lease, kept: true, judged: true}, answer), nil
}

// Extend makes the lease of the permit of that id last for at least d from now, whatever process
// holds it; it never shortens one. The holder is not notified, and trusts its own lease.
//
// Cost, wire and errors: as [PermitSemaphore.Adopt]; [ErrInvalidArgument] also for a lease that
// [WithLease] would refuse. Source: RPermitExpirableSemaphore.updateLeaseTime, which shortens, too.
func (s *PermitSemaphore) Extend(ctx context.Context, id string, d time.Duration) error {
	err := core.CheckLease(d)
	if err == nil {
		_, err = s.lengthen(ctx, id, d)
	}
	return s.failed("extend permit of", err)
}

// lengthen extends the lease of a permit to d from now, if it has not ended.
func (s *PermitSemaphore) lengthen(ctx context.Context, id string, d time.Duration) (send.Answer, error) {
	err := s.plain.usable(ctx, 1)
	if err == nil {
		err = parseID(id)
	}
	if err != nil {
		return send.Answer{}, err
	}
	e := s.i.e
	on, args := permitRenewal.Add(nil, nil, s.of.Key(), id, d)
	answer, err, answered := send.Await(e.Sender, ctx, 0, func() (send.Answer, error) { return e.Run(ctx, permitRenewal.Script, on, args) })
	switch {
	case !answered:
		return answer, core.Left(err)
	case err != nil:
		return answer, err
	}
	said, err := answer.ToArray()
	if err == nil && len(said) != 1 {
		err = fmt.Errorf("%w: permit_renew.lua said %d answers", ErrOutcomeUnknown, len(said))
	}
	if err != nil {
		return answer, err
	}
	switch n, notNumber := said[0].AsInt64(); {
	case notNumber != nil:
		text, _ := said[0].ToString()
		return answer, errors.New(text)
	case n == 0:
		return answer, fmt.Errorf("%w: %w", ErrLost, watchdog.ErrGone)
	}
	return answer, nil
}
