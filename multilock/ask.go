package multilock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/internal/quorum"
	"github.com/rueidisson/rueidisson/lock"
)

// Holder returns the holder of one of the members at this moment, as their masters see it: of
// several holders the one with the longest lease. Its Owner is empty if no member is held. ctx
// bounds the round trip.
//
// Cost: one request to each member, all in one round trip.
// Errors: those of the members, which name them; [ErrInvalidArgument].
// Source: no method of Redisson, whose multi lock has no such request.
func (m *MultiLock) Holder(ctx context.Context) (lock.Holder, error) {
	holder, err := m.holder(ctx)
	return holder, quorum.Failed("inspect", m.all, err)
}

// Locked reports whether one of the members is held. Cost and errors: as
// [MultiLock.Holder].
func (m *MultiLock) Locked(ctx context.Context) (bool, error) {
	holder, err := m.holder(ctx)
	return holder.Held(), quorum.Failed("inspect", m.all, err)
}

// Remaining returns the time until all members are free if no holder renews or unlocks them: 0 if
// none is held, -1 if one never expires. Cost and errors: as [MultiLock.Holder].
func (m *MultiLock) Remaining(ctx context.Context) (time.Duration, error) {
	holder, err := m.holder(ctx)
	return holder.Remaining, quorum.Failed("inspect", m.all, err)
}

// ForceUnlock takes each member away from its holder, also from a holder of that member alone, and
// reports whether one was held. A holder of this library learns it as described for
// [lock.Lock.ForceUnlock]. The request to each member is sent once: after [ErrOutcomeUnknown] the
// member may have been taken away. An error of one member does not stop the others from being
// taken. ctx bounds the round trip.
//
// Cost: one script call for each member, all in one round trip.
// Errors: as [MultiLock.Holder].
// Source: RLock.forceUnlock of each member; RedissonMultiLock has none.
func (m *MultiLock) ForceUnlock(ctx context.Context) (held bool, err error) {
	if err := m.askable(ctx); err != nil {
		return false, quorum.Failed("force unlock", m.all, err)
	}
	were, errs := quorum.Inquire(ctx, m.all, len(m.all), 0, quorum.Member.ForceUnlock)
	return slices.Contains(were, true), quorum.Failed("force unlock", m.all, errors.Join(errs...))
}

func (m *MultiLock) holder(ctx context.Context) (lock.Holder, error) {
	if err := m.askable(ctx); err != nil {
		return lock.Holder{}, err
	}
	holders, errs := quorum.Inquire(ctx, m.all, len(m.all), 0, quorum.Member.Holder)
	if err := errors.Join(errs...); err != nil {
		return lock.Holder{}, err
	}
	return quorum.LongestFirst(holders)[0], nil
}

func (m *MultiLock) askable(ctx context.Context) error {
	if m.bad != nil {
		return m.bad
	}
	return quorum.Usable(ctx, m.all)
}
