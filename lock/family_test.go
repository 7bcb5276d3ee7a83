package lock

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// pair is two locks as one holding, as a sibling would make them up.
type pair struct {
	*locking.Held
	second *locking.Held
}

func (p *pair) Err() error { return errors.Join(p.Held.Err(), p.second.Err()) }

func (p *pair) Release(ctx context.Context, seat lease.Seat) error {
	return errors.Join(p.Held.Release(ctx, seat), p.second.Release(ctx, seat))
}

// holding hides what a Held can do beyond a Holding.
type holding struct{ locking.Holding }

// both acquires two locks for one hold; the second is said to be of another kind.
func both(t *testing.T, first, second *Lock) *Hold {
	t.Helper()
	e, key := second.identity()
	hold, err := NewHold(func(seat lease.Seat) (locking.Holding, error) {
		one, err := first.p.e.Acquire(t.Context(), &first.p, locking.Ask{}, seat)
		require.NoError(t, err)
		two, err := second.p.e.Acquire(t.Context(), &second.p, locking.Ask{}, seat)
		require.NoError(t, err)
		return holding{&pair{one, two}}, nil
	}, lockkit.Handle{Engine: first.p.e, Key: first.p.Key(), Name: first.Name()}, lockkit.Handle{Engine: e, Key: core.Key{Kind: "read", Name: key.Name}, Name: second.Name()})
	require.NoError(t, err)
	return hold
}

func TestAHoldOfSeveralLocksIsCarriedForEach(t *testing.T) {
	t.Parallel()
	e, _ := enginetest.Recorded(t)
	first, second, third := New(e, redistest.Name(t)), New(e, redistest.Name(t)), New(e, redistest.Name(t))
	hold := both(t, first, second)
	ctx := hold.Context(t.Context())

	for _, of := range []struct {
		lock       *Lock
		kind, want string
	}{
		{first, "", "lock"}, {first, "lock", "lock"}, {first, "read", ""},
		{second, "", "read"}, {second, "read", "read"}, {second, "lock", ""},
		{third, "", ""},
	} {
		kind, carried := lockkit.Carried[Hold](ctx, e, of.lock.p.name, of.kind)
		require.Equal(t, of.want, kind)
		require.Equal(t, of.want != "", carried == hold)
	}

	inner, err := first.Lock(ctx)
	require.NoError(t, err, "it re-enters")
	require.NoError(t, inner.Unlock(ctx))
	_, err = second.Lock(ctx)
	require.ErrorIs(t, err, ErrWrongKind, "of another kind: it would wait for itself")
	require.ErrorContains(t, err, `"read"`)

	_, err = hold.Token(t.Context())
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.ErrorContains(t, err, first.Name())
	require.ErrorContains(t, err, second.Name())

	require.NoError(t, hold.Unlock(t.Context()))
	_, carried := lockkit.Carried[Hold](ctx, e, first.p.name, "")
	require.Nil(t, carried, "a hold that has ended is as if it were not there")
	for _, l := range []*Lock{first, second} {
		held, err := l.Locked(t.Context())
		require.NoError(t, err)
		require.False(t, held)
	}
}

// A hold of one kind around one of another is found by whoever asks for that.
func TestAHoldIsFoundBehindOneOfAnotherKind(t *testing.T) {
	t.Parallel()
	e, _ := enginetest.Recorded(t)
	name := redistest.Name(t)
	write, read := handles{{Engine: e, Key: core.Key{Kind: "write", Name: name}, Name: name}}, handles{{Engine: e, Key: core.Key{Kind: "read", Name: name}, Name: name}}
	l := New(e, redistest.Name(t))
	acquire := func(of handles) *Hold {
		hold, err := newHold(func(seat lease.Seat) (locking.Holding, error) {
			return e.Acquire(t.Context(), &New(e, redistest.Name(t)).p, locking.Ask{}, seat)
		}, of)
		require.NoError(t, err)
		return hold
	}
	outer, inner := acquire(write), acquire(read)
	ctx := inner.Context(outer.Context(t.Context()))
	_, found := lockkit.Carried[Hold](ctx, e, name, "")
	require.Same(t, inner, found)
	_, found = lockkit.Carried[Hold](ctx, e, name, "write")
	require.Same(t, outer, found)
	_, found = lockkit.Carried[Hold](ctx, e, l.p.name, "")
	require.Nil(t, found)
	_, found = lockkit.Carried[Hold](Detach(ctx), e, name, "write")
	require.Nil(t, found)
	require.NoError(t, inner.Unlock(ctx))
	require.NoError(t, outer.Unlock(ctx))
}

func TestAHoldThatIsNotAcquiredIsNone(t *testing.T) {
	t.Parallel()
	hold, err := NewHold(func(lease.Seat) (locking.Holding, error) { return nil, ErrNotAcquired })
	require.ErrorIs(t, err, ErrNotAcquired)
	require.Nil(t, hold)
}

func TestWhatOptionsAskFor(t *testing.T) {
	t.Parallel()
	ask, err := resolve([]LockOption{WithLease(time.Second)})
	require.NoError(t, err)
	require.Equal(t, locking.Ask{Lease: time.Second}, ask)
	ask, err = resolveTry([]TryOption{WithLease(time.Second), WithWait(time.Minute)})
	require.NoError(t, err)
	require.Equal(t, locking.Ask{Lease: time.Second, Wait: time.Minute, Bounded: true}, ask)
	_, err = resolve([]LockOption{nil})
	require.ErrorIs(t, err, ErrInvalidArgument)
}
