package rwlock

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/lock"
)

// Holder returns the holder of the side at this moment, as the master sees it: of several readers
// the one with the longest lease. Its Owner is empty if the side is free.
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
		if a.Remaining < 0 || b.Remaining < 0 { // never expires
			return cmp.Compare(b.Remaining, a.Remaining)
		}
		return cmp.Compare(a.Remaining, b.Remaining)
	}), nil
}

// Locked reports whether the side is held. Cost and errors: as [Side.Holder].
func (s *Side) Locked(ctx context.Context) (bool, error) {
	holder, err := s.Holder(ctx)
	return holder.Held(), err
}

// Remaining returns the time until the side is free if no holder renews or unlocks it: 0 if it is
// free, -1 if it never expires. Cost and errors: as [Side.Holder].
func (s *Side) Remaining(ctx context.Context) (time.Duration, error) {
	holder, err := s.Holder(ctx)
	return holder.Remaining, err
}
