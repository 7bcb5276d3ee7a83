package list

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestWhatCannotBeUsedIsRefusedAndNothingIsSent.
func TestWhatCannotBeUsedIsRefusedAndNothingIsSent(t *testing.T) {
	t.Parallel()
	client, proxy := redistest.ThroughProxy(t, redistest.Shared(t))
	e := enginetest.On(t, client, func(c *core.Config) { c.MaxValue = 1000 })
	proxy.ResetLog()
	ctx, name := t.Context(), redistest.Name(t)
	good := listOn(e, name)
	handles := map[string]*List[string]{
		"no name": listOn(e, ""), "a long name": listOn(e, strings.Repeat("n", 1001)), "a nil option": New[string](e, name, nil),
		"no codec family": New[string](e, name, WithCodec(codec.Family{})), "nil codec": New[string](e, name, WithValueCodec[string](nil)),
		"another type": New[string](e, name, WithValueCodec(codec.For[int](codec.Text))),
	}
	for what, bad := range handles {
		for op, one := range effects {
			_, err := one.do(ctx, bad)
			require.ErrorIs(t, err, ErrInvalidArgument, "%s: %s", op, what)
		}
		for op, one := range reads {
			_, err := one.do(ctx, bad)
			require.ErrorIs(t, err, ErrInvalidArgument, "%s: %s", op, what)
		}
		require.ErrorIs(t, bad.Check(ctx), ErrInvalidArgument, what)
	}
	for op, one := range effects {
		var none context.Context
		_, err := one.do(none, good)
		require.ErrorIs(t, err, ErrInvalidArgument, op)
	}
	for what, v := range map[string]string{"no text": "\xff", "long": strings.Repeat("v", 1001)} {
		for op, do := range map[string]func() error{
			"append":     func() error { _, err := good.Append(ctx, "a", v); return err },
			"prepend":    func() error { _, err := good.Prepend(ctx, v); return err },
			"insert":     func() error { _, err := good.Insert(ctx, 0, v); return err },
			"set":        func() error { _, _, err := good.Set(ctx, 0, v); return err },
			"remove":     func() error { _, err := good.Remove(ctx, v, 0); return err },
			"index":      func() error { _, _, err := good.Index(ctx, v); return err },
			"last index": func() error { _, _, err := good.LastIndex(ctx, v); return err },
		} {
			err := do()
			require.ErrorIs(t, err, ErrInvalidArgument, "%s: %s", op, what)
			require.NotContains(t, err.Error(), "vvvvv", op)
		}
	}
	_, err := good.Insert(ctx, -1, "a")
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = good.Insert(ctx, 0, make([]string, paging.Most+1)...)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = good.Expire(ctx, 0)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = good.ExpireAt(ctx, time.Time{})
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = good.Rename(ctx, "")
	require.ErrorIs(t, err, ErrInvalidArgument)
	none, err := good.GetMany(ctx)
	require.NoError(t, err)
	require.Empty(t, none)
	require.Zero(t, proxy.Count(redistest.Arg(name)), "nothing was sent")
}

// TestWithoutElements nothing is written.
func TestWithoutElements(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	l, ctx := listOn(enginetest.On(t, raw), fresh(t, raw)), t.Context()
	abac(t, raw, l.Name())
	size, err := l.Append(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 4, size)
	size, err = l.Prepend(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 4, size)
	for i, want := range map[int64]bool{4: true, 5: false} {
		did, err := l.Insert(ctx, i)
		require.NoError(t, err)
		require.Equal(t, want, did)
	}
	require.Equal(t, "abac hour", state(t, raw, l.Name()))
}

// TestRenameAndCopy keep the time, and do not write over what has the name unless they say so.
func TestRenameAndCopy(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e, ctx := enginetest.On(t, raw), t.Context()
	l := listOn(e, fresh(t, raw))
	to := other(l)
	yes := func(did bool, err error) { t.Helper(); require.NoError(t, err); require.True(t, did) }
	no := func(did bool, err error) { t.Helper(); require.NoError(t, err); require.False(t, did) }
	abac(t, raw, l.Name())
	yes(l.Copy(ctx, to))
	require.Equal(t, "abac hour", state(t, raw, to))
	no(l.Copy(ctx, to))
	no(l.RenameIfAbsent(ctx, to))
	yes(l.Rename(ctx, to))
	require.Equal(t, "abac hour", state(t, raw, to))
	require.Equal(t, "none", state(t, raw, l.Name()))
	yes(listOn(e, to).RenameIfAbsent(ctx, l.Name()))
	yes(l.ExpireAt(ctx, time.Now().Add(-hour)))
	no(l.Exists(ctx))
}
