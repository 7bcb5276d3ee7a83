package timeseries

import (
	"context"
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
	client, proxy := redistest.ThroughProxy(t, redistest.Shared(t))
	e := enginetest.On(t, client, func(c *core.Config) { c.MaxValue = 1000 })
	proxy.ResetLog()
	ctx, name := t.Context(), redistest.Name(t)
	good := kitOn(e, name)
	for what, opts := range map[string][]Option{
		"a nil option":    {nil},
		"no codec family": {WithCodec(codec.Family{})},
		"nil codec":       {WithValueCodec[string](nil)},
		"another type":    {WithValueCodec(codec.For[int](codec.Text))},
		"no labels":       {WithCodec(codec.Bytes), WithValueCodec(codec.For[int](codec.Text))},
		"a negative ttl":  {WithTTL(-1)},
		"a tiny ttl":      {WithTTL(time.Microsecond)},
		"a long ttl":      {WithTTL(core.LongestLease + 1)},
	} {
		bad := kit{name, "to", New[string](e, name, opts...)}
		for op, one := range effects {
			require.ErrorIs(t, last(one.do(ctx, bad)), ErrInvalidArgument, what+" "+op)
		}
		for op, one := range looks {
			require.ErrorIs(t, last(one.do(ctx, bad)), ErrInvalidArgument, what+" "+op)
		}
		require.ErrorIs(t, bad.s.Check(ctx), ErrInvalidArgument, what)
	}
	for _, bad := range []string{"", strings.Repeat("n", 1001)} {
		for op, one := range effects {
			require.ErrorIs(t, last(one.do(ctx, kitOn(e, bad))), ErrInvalidArgument, op)
		}
	}
	for op, one := range effects {
		var none context.Context
		require.ErrorIs(t, last(one.do(none, good)), ErrInvalidArgument, op)
	}
	for op, one := range looks {
		var none context.Context
		require.ErrorIs(t, last(one.do(none, good)), ErrInvalidArgument, op)
	}
	for what, v := range map[string]string{"no text": "\xff", "long": strings.Repeat("v", 1001)} {
		for op, err := range map[string]error{
			"add":   good.s.Add(ctx, at(1), v),
			"label": good.s.Add(ctx, at(1), "v", WithLabel(v)),
			"many":  last(good.s.AddMany(ctx, []Entry[string]{{Time: at(1), Value: "a"}, {Time: at(1), Value: v}})),
		} {
			require.ErrorIs(t, err, ErrInvalidArgument, "%s: %s", op, what)
			require.NotContains(t, err.Error(), strings.Repeat("v", 10), op)
		}
	}
	for _, opt := range []AddOption{WithTTL(-1), WithTTL(time.Microsecond), WithTTL(core.LongestLease + 1), nil} {
		require.ErrorIs(t, good.s.Add(ctx, at(1), "v", opt), ErrInvalidArgument)
	}
	for _, when := range []time.Time{Earliest.Add(-1), Latest.Add(1), time.Unix(1<<60, 0), time.Unix(-1<<60, 0)} {
		for op, err := range map[string]error{
			"add":    good.s.Add(ctx, when, "v"),
			"many":   last(good.s.AddMany(ctx, []Entry[string]{{Time: when}})),
			"get":    last2(good.s.Get(ctx, when)),
			"take":   last2(good.s.Take(ctx, when)),
			"remove": last(good.s.Remove(ctx, when)),
		} {
			require.ErrorIs(t, err, ErrInvalidArgument, op)
			require.ErrorContains(t, err, "285,000 years", op)
		}
	}
	for op, err := range map[string]error{
		"first":     last(good.s.First(ctx, -1)),
		"last":      last(good.s.Last(ctx, -1)),
		"pop first": last(good.s.PopFirst(ctx, -1)),
		"pop last":  last(good.s.PopLast(ctx, -1)),
		"limit":     last(walked(good.s.All(ctx, WithLimit(-1)))),
		"nil range": last(walked(good.s.Range(ctx, at(1), at(2), nil))),
		"rename":    last(good.s.Rename(ctx, "")),
		"expire":    last(good.s.Expire(ctx, 0)),
	} {
		require.ErrorIs(t, err, ErrInvalidArgument, op)
		require.ErrorContains(t, err, name, op)
	}
	require.Zero(t, proxy.Count(redistest.Arg(name)), "nothing was sent")
}
