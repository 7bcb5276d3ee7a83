package bitset

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestWhatCannotBeUsedIsRefusedAndNothingIsSent.
func TestWhatCannotBeUsedIsRefusedAndNothingIsSent(t *testing.T) {
	t.Parallel()
	client, proxy := redistest.ThroughProxy(t, redistest.Shared(t))
	e := enginetest.On(t, client, func(c *core.Config) { c.MaxValue = 1000 })
	proxy.ResetLog()
	ctx, name := t.Context(), redistest.Name(t)
	good := New(e, name)
	for _, bad := range []string{"", strings.Repeat("n", 1001)} {
		for op, one := range effects {
			_, err := one.do(ctx, New(e, bad))
			require.ErrorIs(t, err, ErrInvalidArgument, "%s %.4q", op, bad)
		}
		for op, one := range reads {
			_, err := one.do(ctx, New(e, bad))
			require.ErrorIs(t, err, ErrInvalidArgument, "%s %.4q", op, bad)
		}
		require.ErrorIs(t, New(e, bad).Check(ctx), ErrInvalidArgument)
		require.ErrorIs(t, good.And(ctx, bad), ErrInvalidArgument)
	}
	for op, one := range effects {
		var none context.Context
		_, err := one.do(none, good)
		require.ErrorIs(t, err, ErrInvalidArgument, op)
	}
	for _, at := range []int64{-1, Bits, math.MaxInt64, math.MinInt64} {
		_, err := good.Get(ctx, 1, at)
		require.ErrorIs(t, err, ErrInvalidArgument)
		_, err = good.Set(ctx, at)
		require.ErrorIs(t, err, ErrInvalidArgument)
		_, err = good.Clear(ctx, 1, at)
		require.ErrorIs(t, err, ErrInvalidArgument)
		_, err = good.Int(1, at).Get(ctx)
		require.ErrorIs(t, err, ErrInvalidArgument)
		if at != Bits { // the end of a range
			require.ErrorIs(t, good.SetRange(ctx, 1, at), ErrInvalidArgument)
			require.ErrorIs(t, good.ClearRange(ctx, 1, at), ErrInvalidArgument)
		}
	}
	require.ErrorIs(t, good.SetRange(ctx, 2, 1), ErrInvalidArgument)
	require.ErrorIs(t, good.SetRange(ctx, -1, 1), ErrInvalidArgument)
	for _, f := range []Field{good.Int(0, 0), good.Int(65, 0), good.Uint(0, 0), good.Uint(64, 0), good.Int(-1, 0), good.Int(64, Bits-63)} {
		_, err := f.Get(ctx)
		require.ErrorIs(t, err, ErrInvalidArgument)
		_, err = f.Set(ctx, 0)
		require.ErrorIs(t, err, ErrInvalidArgument)
		_, err = f.Add(ctx, 0)
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	for f, v := range map[Field]int64{good.Int(8, 0): 128, good.Uint(8, 0): 256, good.Uint(63, 0): -1, good.Int(1, 0): 1} {
		_, err := f.Set(ctx, v)
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	require.ErrorIs(t, good.Or(ctx, make([]string, mostNames+1)...), ErrInvalidArgument)
	_, err := good.Expire(ctx, 0)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = good.ExpireAt(ctx, time.Time{})
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = good.Rename(ctx, "")
	require.ErrorIs(t, err, ErrInvalidArgument)
	none, err := good.Get(ctx)
	require.NoError(t, err)
	require.Empty(t, none)
	_, err = good.Set(ctx)
	require.NoError(t, err)
	_, err = good.Clear(ctx)
	require.NoError(t, err)
	require.NoError(t, good.And(ctx))
	require.NoError(t, good.SetRange(ctx, 5, 5))
	require.Zero(t, proxy.Count(redistest.Arg(name)), "nothing was sent")
}

// TestRenameAndCopy keep the time, and do not write over what has the name unless they say so.
func TestRenameAndCopy(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e, ctx := enginetest.On(t, raw), t.Context()
	s := New(e, fresh(t, raw))
	to := other(s)
	yes := func(did bool, err error) { t.Helper(); require.NoError(t, err); require.True(t, did) }
	no := func(did bool, err error) { t.Helper(); require.NoError(t, err); require.False(t, did) }
	a5(t, raw, s.Name())
	yes(s.Copy(ctx, to))
	require.Equal(t, "a5 hour", state(t, raw, to))
	no(s.Copy(ctx, to))
	no(s.RenameIfAbsent(ctx, to))
	redistest.Do(t, raw, "SET", to, "x")
	yes(s.Rename(ctx, to))
	require.Equal(t, "a5 hour", state(t, raw, to))
	require.Equal(t, "none", state(t, raw, s.Name()))
	yes(New(e, to).RenameIfAbsent(ctx, s.Name()))
	yes(s.ExpireAt(ctx, time.Now().Add(-hour)))
	no(s.Exists(ctx))
}
