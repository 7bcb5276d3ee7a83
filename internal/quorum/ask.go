package quorum

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/lock"
)

// inspected is a member that reports its holder, and can be force unlocked.
type inspected interface {
	Holder(ctx context.Context) (lock.Holder, error)
	ForceUnlock(ctx context.Context) (held bool, err error)
}

// LongestFirst sorts holders by their leases. A lease that never ends comes first.
func LongestFirst(holders []lock.Holder) []lock.Holder {
	slices.SortStableFunc(holders, func(a, b lock.Holder) int {
		if a.Remaining < 0 || b.Remaining < 0 {
			return cmp.Compare(a.Remaining, b.Remaining)
		}
		return cmp.Compare(b.Remaining, a.Remaining)
	})
	return holders
}

// Holder returns the holder of the member.
func (m Member) Holder(ctx context.Context) (lock.Holder, error) {
	l, err := m.inspected()
	if err != nil {
		return lock.Holder{}, err
	}
	return l.Holder(ctx)
}

// ForceUnlock takes the member away from its holder.
func (m Member) ForceUnlock(ctx context.Context) (bool, error) {
	l, err := m.inspected()
	if err != nil {
		return false, err
	}
	return l.ForceUnlock(ctx)
}

func (m Member) inspected() (inspected, error) {
	if l, is := m.Locker.(inspected); is {
		return l, nil
	}
	return nil, fmt.Errorf("%w: %T does not report its holder", lock.ErrInvalidArgument, m.Locker)
}

// Inquire asks every member at once. It returns the answers, in the order in which they came, and
// the errors of the others. Once need of them have answered, it waits for the rest until limit has
// passed since it asked. Each request has its own bound. None is sent again after Inquire has
// returned.
func Inquire[T any](ctx context.Context, members []Member, need int, limit time.Duration, ask func(m Member, ctx context.Context) (T, error)) (answers []T, errs []error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type reply struct {
		Member
		answer T
		err    error
	}
	replies := make(chan reply, len(members)) // room for all: late answers do not block
	for _, m := range members {
		run := func() {
			answer, err := ask(m, ctx)
			replies <- reply{m, answer, err}
		}
		if !m.Engine.Spawn(run) {
			replies <- reply{Member: m, err: lock.ErrClosed}
		}
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for open, late := len(members), false; open > 0 && (!late || len(answers) < need); {
		select {
		case r := <-replies:
			open--
			if r.err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", r.Engine.Node(r.Key.Name), r.err))
			} else {
				answers = append(answers, r.answer)
			}
		case <-timer.C:
			late = true
		}
	}
	return answers, errs
}
