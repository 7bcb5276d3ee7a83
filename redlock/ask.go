package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/internal/quorum"
	"github.com/rueidisson/rueidisson/lock"
)

// Holder returns the holder of the lock at this moment, as the masters of the members see it. Its
// Owner is empty if fewer than a quorum of the members is held. Its Owner and Count are those of
// one member, because each member has an owner of its own. Its Remaining is the result of
// [Lock.Remaining]. Mine says that the clients of this handle hold a quorum of the members.
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
func (r *Lock) Holder(ctx context.Context) (lock.Holder, error) {
	holder, err := r.holder(ctx)
	return holder, quorum.Failed("inspect", r.all, err)
}

// Locked reports whether a quorum of the members is held. Cost and errors: as
// [Lock.Holder].
func (r *Lock) Locked(ctx context.Context) (bool, error) {
	holder, err := r.holder(ctx)
	return holder.Held(), quorum.Failed("inspect", r.all, err)
}

// Remaining returns the time until fewer than a quorum of the members is held, if no holder renews
// or unlocks them: 0 if that is so now, -1 if it never ends. Cost and errors: as [Lock.Holder].
func (r *Lock) Remaining(ctx context.Context) (time.Duration, error) {
	holder, err := r.holder(ctx)
	return holder.Remaining, quorum.Failed("inspect", r.all, err)
}

// ForceUnlock takes each member away from its holder, and reports whether one was held. Answers of
// a quorum are enough: no holder has a quorum then. A holder of this library learns it as described
// for [lock.Lock.ForceUnlock]. While a holder has a quorum left, it asks again for a member that it
// has lost, and keeps its hold if that member is still free. The request to each member is sent
// once: after [ErrOutcomeUnknown] the member may have been taken away. A request that is under way
// when ForceUnlock returns may still arrive. ctx bounds the round trip.
//
// Cost: one script call for each member, all in one round trip.
// Errors: as [Lock.Holder].
// Source: RLock.forceUnlock of each member; RedissonRedLock has none.
func (r *Lock) ForceUnlock(ctx context.Context) (held bool, err error) {
	if err := r.askable(ctx); err != nil {
		return false, quorum.Failed("force unlock", r.all, err)
	}
	were, errs := quorum.Inquire(ctx, r.all, r.quorum(), r.limit, quorum.Member.ForceUnlock)
	if len(were) < r.quorum() {
		err = r.undecided(len(were), errs)
	}
	return slices.Contains(were, true), quorum.Failed("force unlock", r.all, err)
}

func (r *Lock) holder(ctx context.Context) (lock.Holder, error) {
	if err := r.askable(ctx); err != nil {
		return lock.Holder{}, err
	}
	answers, errs := quorum.Inquire(ctx, r.all, r.quorum(), r.limit, quorum.Member.Holder)
	held := slices.DeleteFunc(quorum.LongestFirst(slices.Clone(answers)), func(h lock.Holder) bool { return !h.Held() })
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

func (r *Lock) askable(ctx context.Context) error {
	if r.bad != nil {
		return r.bad
	}
	return quorum.Usable(ctx, r.all)
}

// undecided returns the error of a request that too few members have answered.
func (r *Lock) undecided(answered int, errs []error) error {
	return fmt.Errorf("%d of %d members answered: %w", answered, len(r.all), cmp.Or(errors.Join(errs...), errSilent))
}
