package bucket

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestWhatCannotBeUsedIsRefusedAndNothingIsSent.
func TestWhatCannotBeUsedIsRefusedAndNothingIsSent(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := redistest.ThroughProxy(t, server)
	e := enginetest.On(t, client, func(c *core.Config) { c.MaxValue = 1000 })
	proxy.ResetLog()
	ctx, name := t.Context(), redistest.Name(t)
	good := kitOn(e, name)
	for what, opts := range map[string][]Option{
		"a nil option":    {nil},
		"no codec family": {WithCodec(codec.Family{})},
		"nil codec":       {WithValueCodec[string](nil)},
		"another type":    {WithValueCodec(codec.For[int](codec.Text))},
		"a time":          {WithTTL(-1)},
		"a short time":    {WithTTL(time.Microsecond)},
		"a long time":     {WithTTL(core.LongestLease + 1)},
	} {
		bad := kit{name, New[string](e, name, opts...), NewMany[string](e, opts...), NewBytes(e, "")}
		for op, one := range effects {
			_, err := one.do(ctx, bad)
			require.ErrorIs(t, err, ErrInvalidArgument, "%s: %s", op, what)
		}
		for op, one := range reads {
			_, err := one.do(ctx, bad)
			require.ErrorIs(t, err, ErrInvalidArgument, "%s: %s", op, what)
		}
		require.ErrorIs(t, bad.b.Check(ctx), ErrInvalidArgument, what)
		require.ErrorIs(t, bad.many.Check(ctx, name), ErrInvalidArgument, what)
		require.ErrorIs(t, bad.bytes.Check(ctx), ErrInvalidArgument, what)
	}
	for _, bad := range []string{"", strings.Repeat("n", 1001)} {
		for op, one := range effects {
			_, err := one.do(ctx, kitOn(e, bad))
			require.ErrorIs(t, err, ErrInvalidArgument, "%s %.4q", op, bad)
		}
		for op, one := range reads {
			_, err := one.do(ctx, kitOn(e, bad))
			require.ErrorIs(t, err, ErrInvalidArgument, "%s %.4q", op, bad)
		}
	}
	for op, one := range effects {
		var none context.Context
		if op != "rename" && op != "copy" { // whose second name is good
			_, err := one.do(none, good)
			require.ErrorIs(t, err, ErrInvalidArgument, op)
		}
	}
	for what, v := range map[string]string{"no text": "\xff", "long": strings.Repeat("v", 1001)} {
		for op, do := range map[string]func() error{
			"set":    func() error { return good.b.Set(ctx, v) },
			"absent": func() error { _, err := good.b.SetIfAbsent(ctx, v); return err },
			"exists": func() error { _, err := good.b.SetIfExists(ctx, v); return err },
			"swap":   func() error { _, _, err := good.b.Swap(ctx, v); return err },
			"cas":    func() error { _, err := good.b.CompareAndSwap(ctx, v, "a"); return err },
			"cas to": func() error { _, err := good.b.CompareAndSwap(ctx, "a", v); return err },
			"cad":    func() error { _, err := good.b.CompareAndDelete(ctx, v); return err },
			"many":   func() error { return good.many.Set(ctx, map[string]string{name: "a", name + "2": v}) },
			"all":    func() error { _, err := good.many.SetAllIfAbsent(ctx, map[string]string{name: v}); return err },
		} {
			err := do()
			require.ErrorIs(t, err, ErrInvalidArgument, "%s: %s", op, what)
			require.NotContains(t, err.Error(), strings.Repeat("v", 10), op)
		}
	}
	for _, opt := range []SetOption{WithTTL(-1), WithTTL(time.Microsecond), WithTTL(core.LongestLease + 1), nil} {
		require.ErrorIs(t, good.b.Set(ctx, "v", opt), ErrInvalidArgument)
		_, _, err := good.b.Update(ctx, longer, opt)
		require.ErrorIs(t, err, ErrInvalidArgument)
		require.ErrorIs(t, good.many.Set(ctx, map[string]string{name: "v"}, opt), ErrInvalidArgument)
	}
	for _, d := range []time.Duration{0, -1, time.Microsecond, core.LongestLease + 1} {
		_, err := good.b.Expire(ctx, d)
		require.ErrorIs(t, err, ErrInvalidArgument)
		_, _, err = good.b.GetAndExpire(ctx, d)
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	for _, at := range []time.Time{{}, time.Now().Add(2 * core.LongestLease)} {
		_, err := good.b.ExpireAt(ctx, at)
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	_, err := good.b.Rename(ctx, "")
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, _, err = good.b.Update(ctx, nil)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = good.many.Get(ctx, name, "")
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.ErrorIs(t, New[*int](e, name).Set(ctx, nil), ErrInvalidArgument)
	require.ErrorIs(t, New[any](e, name).Set(ctx, nil), ErrInvalidArgument)
	require.ErrorIs(t, New[float64](e, name, WithCodec(codec.JSON)).Set(ctx, math.NaN()), ErrInvalidArgument)
	require.Zero(t, proxy.Count(redistest.Arg(name)), "nothing was sent")
}

// TestRenameAndCopy keep the time, and do not write over what has the name unless they say so.
func TestRenameAndCopy(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e, ctx := enginetest.On(t, raw), t.Context()
	b := New[string](e, fresh(t, raw), WithCodec(codec.Text))
	to := "to:{" + b.Name() + "}"
	yes := func(did bool, err error) { t.Helper(); require.NoError(t, err); require.True(t, did) }
	no := func(did bool, err error) { t.Helper(); require.NoError(t, err); require.False(t, did) }
	old(t, raw, b.Name())
	yes(b.Copy(ctx, to))
	require.Equal(t, "old hour", state(t, raw, to))
	no(b.Copy(ctx, to))
	no(b.RenameIfAbsent(ctx, to))
	redistest.Do(t, raw, "SET", to, "other")
	yes(b.Rename(ctx, to))
	require.Equal(t, "old hour", state(t, raw, to))
	require.Equal(t, "none", state(t, raw, b.Name()))
	yes(New[string](e, to).RenameIfAbsent(ctx, b.Name()))
	yes(b.ExpireAt(ctx, time.Now().Add(-hour)))
	no(b.Exists(ctx))
	n, err := b.SizeInMemory(ctx)
	require.NoError(t, err)
	require.Zero(t, n)
}
