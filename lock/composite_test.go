package lock

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// made is a holding of the holds of others, as a sibling would make it up.
type made struct {
	locking.Holding
	members []*Hold
}

func (m made) Members() []*Hold { return m.members }

func (m made) Fence(lease.Seat) int64 { return 0 }

func (m made) Err() error {
	var errs []error
	for _, h := range m.members {
		errs = append(errs, h.Err())
	}
	return errors.Join(errs...)
}

func (m made) Release(ctx context.Context, _ lease.Seat) error {
	var errs []error
	for _, h := range m.members {
		errs = append(errs, h.Unlock(ctx))
	}
	return errors.Join(errs...)
}

func TestAHoldOfHoldsCarriesThoseInItsPlace(t *testing.T) {
	t.Parallel()
	e, _ := enginetest.Recorded(t)
	first, second, third := New(e, redistest.Name(t)), New(e, redistest.Name(t)), New(e, redistest.Name(t))
	var members []*Hold
	for _, l := range []*Lock{first, second} {
		h, err := l.Lock(t.Context())
		require.NoError(t, err)
		members = append(members, h)
	}
	hold, err := NewHold(func(lease.Seat) (locking.Holding, error) { return made{members: members}, nil })
	require.NoError(t, err)
	ctx := hold.Context(t.Context())
	for i, l := range []*Lock{first, second} {
		kind, carried := lockkit.Carried[Hold](ctx, e, l.p.name, "")
		require.Same(t, members[i], carried)
		require.Equal(t, "lock", kind)
		_, carried = lockkit.Carried[Hold](ctx, e, l.p.name, "read")
		require.Nil(t, carried)
	}
	_, carried := lockkit.Carried[Hold](ctx, e, third.p.name, "")
	require.Nil(t, carried)

	inner, err := first.Lock(ctx)
	require.NoError(t, err)
	require.NoError(t, hold.Unlock(t.Context()))
	_, carried = lockkit.Carried[Hold](ctx, e, first.p.name, "")
	require.Nil(t, carried, "it has ended")
	require.NoError(t, inner.Err(), "the member's own level has not")
	require.NoError(t, inner.Unlock(t.Context()))
}

type causes chan error

func (c causes) Ended(cause error) { c <- cause }

func TestWhoeverIsToldHearsOnceHowAHoldEnds(t *testing.T) {
	t.Parallel()
	e, _ := enginetest.Recorded(t)
	l := New(e, redistest.Name(t))
	hold, err := l.Lock(t.Context())
	require.NoError(t, err)
	heard := make(causes, 2)
	lockkit.Tell(hold, heard)
	inner, err := l.Lock(hold.Context(t.Context()))
	require.NoError(t, err)
	require.NoError(t, inner.Unlock(t.Context()))
	require.Empty(t, heard, "another level is another hold")
	require.NoError(t, hold.Unlock(t.Context()))
	require.Equal(t, ErrReleased, <-heard)
	lockkit.Tell(hold, heard)
	require.Equal(t, ErrReleased, <-heard, "at once")

	hold, err = l.Lock(t.Context())
	require.NoError(t, err)
	lockkit.Tell(hold, heard)
	held, err := l.ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, held)
	require.ErrorIs(t, <-heard, ErrLost)
	lockkit.Tell(hold, heard)
	require.ErrorIs(t, <-heard, ErrLost)
	require.ErrorIs(t, hold.Unlock(t.Context()), ErrLost)
	require.Empty(t, heard)
}
