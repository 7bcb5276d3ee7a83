package rwlock

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/lock"
)

// Holder returns who holds the side at this moment, as the master sees it: of several
// readers the one whose lease is longest. Its Owner is empty if nobody does.
//
// Cost and errors: as [Lock.Writer] and [Lock.Readers].
func (s *Side) Holder(ctx context.Context) (lock.Holder, error) {
	if s.kind == writeKind {
		return s.l.Writer(ctx)
	}
	readers, err := s.l.Readers(ctx)
	if err != nil || len(readers) == 0 {
		return lock.Holder{}, err
	}
	return slices.MaxFunc(readers, func(a, b lock.Holder) int {
		if a.Remaining < 0 || b.Remaining < 0 { // without an end
			return cmp.Compare(b.Remaining, a.Remaining)
		}
		return cmp.Compare(a.Remaining, b.Remaining)
	}), nil
}

// Locked reports whether anybody holds the side. Cost and errors: as [Side.Holder].
func (s *Side) Locked(ctx context.Context) (bool, error) {
	holder, err := s.Holder(ctx)
	return holder.Held(), err
}

// Remaining returns how much time is left until the side is free, if nobody renews or
// unlocks it: 0 if nobody holds it, -1 if there is no end. Cost and errors: as
// [Side.Holder].
func (s *Side) Remaining(ctx context.Context) (time.Duration, error) {
	holder, err := s.Holder(ctx)
	return holder.Remaining, err
}
