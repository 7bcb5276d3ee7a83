package semaphore

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSemaphoreOfNoPermitsIsClosed until permits are added: it is set, and waited for.
func TestSemaphoreOfNoPermitsIsClosed(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(r *rig) error{
		"set": func(r *rig) error { return r.SetPermits(context.Background(), 0) },
		"try set": func(r *rig) error {
			did, err := r.TrySetPermits(context.Background(), 0)
			require.True(r.T, did)
			again, second := r.TrySetPermits(context.Background(), 5)
			require.False(r.T, again)
			return errors.Join(err, second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			require.NoError(t, set(r))
			err := r.TryAcquire(t.Context(), 1)
			require.ErrorIs(t, err, ErrNotAcquired)
			require.NotErrorIs(t, err, ErrNotSet)
			done := r.acquiring(t.Context(), 1)
			r.waiting(1)
			require.NoError(t, r.AddPermits(t.Context(), 1))
			got(t, done)
			require.Zero(t, r.free())
		})
	}
}

// TestPermitSemaphoreOfNoPermitsIsClosed, those that are held stay held.
func TestPermitSemaphoreOfNoPermitsIsClosed(t *testing.T) {
	t.Parallel()
	r := newPermitRig(t)
	did, err := r.TrySetPermits(t.Context(), 0)
	require.NoError(t, err)
	require.True(t, did)
	r.refused()
	r.set(2)
	p := r.take()
	r.set(0)
	r.stands(-1, 1)
	r.refused()
	r.give(p)
	r.stands(0, 0)
	r.refused()
	done := r.acquiring(t.Context())
	r.waiting(1)
	r.set(1)
	gotPermit(t, done)
}

func TestSemaphoreDoReleasesWhateverBecomesOfTheWork(t *testing.T) {
	t.Parallel()
	r := newRig(t).set(3)
	failed := errors.New("failed")
	inside := func(err error) func(context.Context) error {
		return func(context.Context) error {
			require.EqualValues(t, 1, r.free())
			return err
		}
	}
	require.NoError(t, r.Do(t.Context(), 2, inside(nil)))
	require.ErrorIs(t, r.Do(t.Context(), 2, inside(failed)), failed)
	require.EqualValues(t, 3, r.free())
	require.Panics(t, func() { _ = r.Do(t.Context(), 2, func(context.Context) error { panic("work") }) })
	require.EqualValues(t, 3, r.free())
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, r.Do(ctx, 2, func(context.Context) error { cancel(); return nil }), "a release runs to its end")
	require.EqualValues(t, 3, r.free())
	require.ErrorIs(t, r.Do(ctx, 2, inside(nil)), context.Canceled)
	err := r.Do(t.Context(), 2, func(ctx context.Context) error {
		_, err := r.Delete(ctx)
		return err
	})
	require.ErrorIs(t, err, ErrNotSet, "of the release")
}

func TestPermitSemaphoreDoReleasesWhateverBecomesOfTheWork(t *testing.T) {
	t.Parallel()
	r := newPermitRig(t).set(1)
	failed := errors.New("failed")
	var under context.Context
	require.NoError(t, r.Do(t.Context(), func(ctx context.Context) error {
		under = ctx
		r.stands(0, 1)
		return ctx.Err()
	}))
	r.stands(1, 0)
	require.ErrorIs(t, context.Cause(under), ErrReleased)
	require.ErrorIs(t, r.Do(t.Context(), func(context.Context) error { return failed }), failed)
	r.stands(1, 0)
	require.Panics(t, func() { _ = r.Do(t.Context(), func(context.Context) error { panic("work") }) })
	r.stands(1, 0)
	err := r.Do(t.Context(), func(ctx context.Context) error {
		_, err := r.Delete(ctx)
		return err
	})
	require.ErrorIs(t, err, ErrLost)
}
