package locktest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/lock"
)

type ctxKey struct{}

var holding = map[string]func(*testing.T, Suite){
	"a hold outlives the context that acquired it": func(t *testing.T, s Suite) {
		here, there := s.pair(t, long)
		ctx, cancel := context.WithCancel(context.Background())
		hold, err := here.Lock(ctx)
		require.NoError(t, err)
		cancel()
		require.NoError(t, hold.Err())
		RequireBusy(t, there)
		Unlock(t, hold)
	},
	"unlock works on a cancelled context": func(t *testing.T, s Suite) {
		here, there := s.pair(t, long)
		hold := Take(t, here)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := hold.Unlock(ctx); err != nil {
			require.ErrorIs(t, err, lock.ErrDeferred, "a server that is slow has 250 ms")
		}
		Unlock(t, Take(t, there))
	},
	"unlock twice is an error and harms nobody": func(t *testing.T, s Suite) {
		here, there := s.pair(t, long)
		hold := Take(t, here)
		Unlock(t, hold)
		second := Take(t, there)
		require.ErrorIs(t, hold.Unlock(context.Background()), lock.ErrReleased)
		require.ErrorIs(t, hold.Err(), lock.ErrReleased)
		RequireBusy(t, here)
		Unlock(t, second)
	},
	"the hold's context ends with the unlock": func(t *testing.T, s Suite) {
		hold := Take(t, s.one(t, long))
		ctx := hold.Context(context.Background())
		derived, cancel := context.WithCancel(ctx)
		defer cancel()
		require.NoError(t, ctx.Err())
		Unlock(t, hold)
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		require.ErrorIs(t, context.Cause(ctx), lock.ErrReleased)
		await(t, derived.Done(), "the end of a derived context")
		require.ErrorIs(t, context.Cause(derived), lock.ErrReleased)
		late := hold.Context(context.Background())
		require.ErrorIs(t, late.Err(), context.Canceled)
		require.ErrorIs(t, context.Cause(late), lock.ErrReleased)
	},
	"the hold's context is a child of its parent": func(t *testing.T, s Suite) {
		hold := Take(t, s.one(t, long))
		defer Unlock(t, hold)
		because := errors.New("because")
		parent, cancel := context.WithCancelCause(context.WithValue(context.Background(), ctxKey{}, "value"))
		ctx := hold.Context(parent)
		require.Equal(t, "value", ctx.Value(ctxKey{}))
		cancel(because)
		await(t, ctx.Done(), "the end with the parent")
		require.ErrorIs(t, context.Cause(ctx), because)
		require.NoError(t, hold.Err(), "the parent's end is not the hold's")
	},
	"do returns the error of the work and frees the lock": func(t *testing.T, s Suite) {
		l, other := s.within(t, long)
		because := errors.New("because")
		err := lock.Do(Bounded(t), l, func(ctx context.Context) error {
			RequireBusy(t, other)
			return because
		})
		require.ErrorIs(t, err, because)
		requireFree(t, other)
	},
	"a hold that is not lost says nothing of loss": func(t *testing.T, s Suite) {
		hold := Take(t, s.one(t, long))
		select {
		case <-hold.Lost():
			require.Fail(t, "lost")
		case <-hold.Expiring():
			require.Fail(t, "expiring")
		default:
		}
		require.Greater(t, time.Until(hold.Deadline()), long/2)
		Unlock(t, hold)
	},
}
