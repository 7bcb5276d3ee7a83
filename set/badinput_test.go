package set

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
		"nil codec":       {WithMemberCodec[string](nil)},
		"another type":    {WithMemberCodec(codec.For[int](codec.Text))},
	} {
		bad := kit{name, "to", New[string](e, name, opts...), nil}
		all := make([]CacheOption, len(opts))
		for i, o := range opts {
			if o != nil {
				all[i] = o
			}
		}
		bad.c = NewCache[string](e, name, all...)
		for _, of := range kinds {
			for op, one := range of.effects {
				require.ErrorIs(t, last(one.do(ctx, bad)), ErrInvalidArgument, what+op)
			}
			for op, one := range of.looks {
				require.ErrorIs(t, last(one.do(ctx, bad)), ErrInvalidArgument, what+op)
			}
		}
		require.ErrorIs(t, bad.s.Check(ctx), ErrInvalidArgument, what)
		require.ErrorIs(t, bad.c.Check(ctx), ErrInvalidArgument, what)
	}
	for _, bad := range []string{"", strings.Repeat("n", 1001)} {
		for _, of := range kinds {
			for op, one := range of.effects {
				require.ErrorIs(t, last(one.do(ctx, kitOn(e, bad))), ErrInvalidArgument, op)
			}
		}
	}
	for _, of := range kinds {
		for op, one := range of.effects {
			var none context.Context
			if op != "rename" && op != "copy" { // whose second name is good
				require.ErrorIs(t, last(one.do(none, good)), ErrInvalidArgument, op)
			}
		}
	}
	for what, v := range map[string]string{"no text": "\xff", "long": strings.Repeat("v", 1001)} {
		for op, err := range map[string]error{
			"add":       last(good.s.Add(ctx, "a", v)),
			"remove":    last(good.s.Remove(ctx, v)),
			"add all":   last(good.s.AddAllIfAbsent(ctx, "a", v)),
			"move":      last(good.s.Move(ctx, name, v)),
			"has":       last(good.s.Has(ctx, v)),
			"has each":  last(good.s.HasEach(ctx, "a", v)),
			"retain":    last(good.s.Retain(ctx, v)),
			"c add":     last(good.c.Add(ctx, v)),
			"c many":    last(good.c.AddMany(ctx, []string{"a", v})),
			"c absent":  last(good.c.AddIfAbsent(ctx, v)),
			"c all":     last(good.c.AddAllIfAbsent(ctx, []string{"a", v})),
			"c has":     last(good.c.Has(ctx, v)),
			"c retain":  last(good.c.Retain(ctx, v)),
			"remaining": last(good.c.Remaining(ctx, v)),
		} {
			require.ErrorIs(t, err, ErrInvalidArgument, "%s: %s", op, what)
			require.NotContains(t, err.Error(), strings.Repeat("v", 10), op)
		}
	}
	for _, opt := range []AddOption{WithTTL(-1), WithTTL(time.Microsecond), WithTTL(core.LongestLease + 1), nil} {
		require.ErrorIs(t, last(good.c.Add(ctx, "v", opt)), ErrInvalidArgument)
		require.ErrorIs(t, last(good.c.AddIfLonger(ctx, "v", opt)), ErrInvalidArgument)
		require.ErrorIs(t, last(good.c.AddAllIfAbsent(ctx, []string{"v"}, opt)), ErrInvalidArgument)
	}
	require.ErrorIs(t, last(NewCache[string](e, name, WithTTL(-1)).Add(ctx, "v")), ErrInvalidArgument)
	for op, err := range map[string]error{
		"pop":          last(good.s.Pop(ctx, -1)),
		"random":       last(good.s.Random(ctx, -1)),
		"many random":  last(good.s.Random(ctx, mostRandom+1)),
		"cache random": last(good.c.Random(ctx, mostRandom+1)),
		"move":         last(good.s.Move(ctx, "", "a")),
		"union":        last(all(good.s.Union(ctx, ""))),
		"inter":        last(all(good.s.Inter(ctx, strings.Repeat("n", 1001)))),
		"into":         last(good.s.UnionInto(ctx, "")),
		"into of none": last(good.s.DiffInto(ctx, "to", "")),
		"rename":       last(good.c.Rename(ctx, "")),
		"expire":       last(good.c.Expire(ctx, 0)),
	} {
		require.ErrorIs(t, err, ErrInvalidArgument, op)
	}
	require.Zero(t, proxy.Count(redistest.Arg(name)), "nothing was sent")
}
