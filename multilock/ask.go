package multilock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/lock"
)

// inspected is a member that reports its holder, and can be force unlocked.
type inspected interface {
	Holder(ctx context.Context) (lock.Holder, error)
	ForceUnlock(ctx context.Context) (held bool, err error)
}

// Holder returns the holder of one of the members at this moment, as their masters see it: of
// several holders the one with the longest lease. Its Owner is empty if no member is held. ctx
// bounds the round trip.
//
// Cost: one request to each member, all in one round trip.
// Errors: those of the members, which name them; [ErrInvalidArgument].
// Source: no method of Redisson, whose multi lock has no such request.
func (m *MultiLock) Holder(ctx context.Context) (lock.Holder, error) {
	holder, err := m.holder(ctx)
	return holder, failed("inspect", m.all, err)
}

// Locked reports whether one of the members is held. Cost and errors: as
// [MultiLock.Holder].
func (m *MultiLock) Locked(ctx context.Context) (bool, error) {
	holder, err := m.holder(ctx)
	return holder.Held(), failed("inspect", m.all, err)
}

// Remaining returns the time until all members are free if no holder renews or unlocks them: 0 if
// none is held, -1 if one never expires. Cost and errors: as [MultiLock.Holder].
func (m *MultiLock) Remaining(ctx context.Context) (time.Duration, error) {
	holder, err := m.holder(ctx)
	return holder.Remaining, failed("inspect", m.all, err)
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
		return false, failed("force unlock", m.all, err)
	}
	were, errs := inquire(ctx, m.all, len(m.all), 0, member.force)
	return slices.Contains(were, true), failed("force unlock", m.all, errors.Join(errs...))
}

func (m *MultiLock) holder(ctx context.Context) (lock.Holder, error) {
	if err := m.askable(ctx); err != nil {
		return lock.Holder{}, err
	}
	holders, errs := inquire(ctx, m.all, len(m.all), 0, member.holder)
	if err := errors.Join(errs...); err != nil {
		return lock.Holder{}, err
	}
	return longestFirst(holders)[0], nil
}

func (m *MultiLock) askable(ctx context.Context) error {
	if m.bad != nil {
		return m.bad
	}
	return usable(ctx, m.all)
}

// Holder returns the holder of the lock at this moment, as the masters of the members see it. Its
// Owner is empty if fewer than a quorum of the members is held. Its Owner and Count are those of
// one member, because each member has an owner of its own. Its Remaining is the result of
// [RedLock.Remaining]. Mine says that the clients of this handle hold a quorum of the members.
//
// Holder counts members, not their holders. While several callers compete, a quorum may be held
// although no single caller has one.
//
// ctx bounds the round trip. A member that does not answer within [WithMemberTimeout] is not waited
// for, if the others decide.
//
// Cost: one request to each member, all in one round trip.
// Errors: ctx's; those of the members, if they prevent a decision; [ErrClosed];
// [ErrInvalidArgument].
// Source: no method of Redisson, whose red lock has no such request.
func (r *RedLock) Holder(ctx context.Context) (lock.Holder, error) {
	holder, err := r.holder(ctx)
	return holder, failed("inspect", r.all, err)
}

// Locked reports whether a quorum of the members is held. Cost and errors: as
// [RedLock.Holder].
func (r *RedLock) Locked(ctx context.Context) (bool, error) {
	holder, err := r.holder(ctx)
	return holder.Held(), failed("inspect", r.all, err)
}

// Remaining returns the time until fewer than a quorum of the members is held, if no holder renews
// or unlocks them: 0 if that is so now, -1 if it never ends. Cost and errors: as [RedLock.Holder].
func (r *RedLock) Remaining(ctx context.Context) (time.Duration, error) {
	holder, err := r.holder(ctx)
	return holder.Remaining, failed("inspect", r.all, err)
}

// ForceUnlock takes each member away from its holder, and reports whether one was held. Answers of
// a quorum are enough: no holder has a quorum then. A holder of this library learns it as described
// for [lock.Lock.ForceUnlock]. While a holder has a quorum left, it asks again for a member that it
// has lost, and keeps its hold if that member is still free. The request to each member is sent
// once: after [ErrOutcomeUnknown] the member may have been taken away. A request that is under way
// when ForceUnlock returns may still arrive. ctx bounds the round trip.
//
// Cost: one script call for each member, all in one round trip.
// Errors: as [RedLock.Holder].
// Source: RLock.forceUnlock of each member; RedissonRedLock has none.
func (r *RedLock) ForceUnlock(ctx context.Context) (held bool, err error) {
	if err := r.askable(ctx); err != nil {
		return false, failed("force unlock", r.all, err)
	}
	were, errs := inquire(ctx, r.all, r.quorum(), r.limit, member.force)
	if len(were) < r.quorum() {
		err = r.undecided(len(were), errs)
	}
	return slices.Contains(were, true), failed("force unlock", r.all, err)
}

func (r *RedLock) holder(ctx context.Context) (lock.Holder, error) {
	if err := r.askable(ctx); err != nil {
		return lock.Holder{}, err
	}
	answers, errs := inquire(ctx, r.all, r.quorum(), r.limit, member.holder)
	held := slices.DeleteFunc(longestFirst(slices.Clone(answers)), func(h lock.Holder) bool { return !h.Held() })
	switch need := r.quorum(); {
	case len(held) >= need:
		mine := 0
		for _, h := range held {
			if h.Mine {
				mine++
			}
		}
		holder := held[need-1]
		holder.Mine = mine >= need
		return holder, nil
	case len(held)+len(r.all)-len(answers) >= need:
		return lock.Holder{}, r.undecided(len(answers), errs)
	}
	return lock.Holder{}, nil
}

func (r *RedLock) askable(ctx context.Context) error {
	if r.bad != nil {
		return r.bad
	}
	return usable(ctx, r.all)
}

// undecided returns the error of a request that too few members have answered.
func (r *RedLock) undecided(answered int, errs []error) error {
	return fmt.Errorf("%d of %d members answered: %w", answered, len(r.all), cmp.Or(errors.Join(errs...), errSilent))
}

// longestFirst sorts holders by their leases. A lease that never ends comes first.
func longestFirst(holders []lock.Holder) []lock.Holder {
	slices.SortStableFunc(holders, func(a, b lock.Holder) int {
		if a.Remaining < 0 || b.Remaining < 0 {
			return cmp.Compare(a.Remaining, b.Remaining)
		}
		return cmp.Compare(b.Remaining, a.Remaining)
	})
	return holders
}

func (m member) holder(ctx context.Context) (lock.Holder, error) {
	l, err := m.inspected()
	if err != nil {
		return lock.Holder{}, err
	}
	return l.Holder(ctx)
}

func (m member) force(ctx context.Context) (bool, error) {
	l, err := m.inspected()
	if err != nil {
		return false, err
	}
	return l.ForceUnlock(ctx)
}

func (m member) inspected() (inspected, error) {
	if l, is := m.Locker.(inspected); is {
		return l, nil
	}
	return nil, fmt.Errorf("%w: %T does not report its holder", ErrInvalidArgument, m.Locker)
}

// inquire asks every member at once. It returns the answers, in the order in which they came, and
// the errors of the others. Once need of them have answered, it waits for the rest until limit has
// passed since it asked. Each request has its own bound. None is sent again after inquire has
// returned.
func inquire[T any](ctx context.Context, members []member, need int, limit time.Duration, ask func(m member, ctx context.Context) (T, error)) (answers []T, errs []error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type reply struct {
		member
		answer T
		err    error
	}
	replies := make(chan reply, len(members)) // room for all: late answers do not block
	for _, m := range members {
		run := func() {
			answer, err := ask(m, ctx)
			replies <- reply{m, answer, err}
		}
		if !m.e.Spawn(run) {
			replies <- reply{member: m, err: ErrClosed}
		}
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for open, late := len(members), false; open > 0 && (!late || len(answers) < need); {
		select {
		case r := <-replies:
			open--
			if r.err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", r.e.Node(r.key.Name), r.err))
			} else {
				answers = append(answers, r.answer)
			}
		case <-timer.C:
			late = true
		}
	}
	return answers, errs
}

// failed adds the operation and the names of the members to err.
func failed(op string, members []member, err error) error {
	if err == nil {
		return nil
	}
	all := distinct(members)
	for i, name := range all {
		all[i] = strconv.Quote(name)
	}
	return fmt.Errorf("%s %s: %w", op, strings.Join(all, ", "), err)
}
