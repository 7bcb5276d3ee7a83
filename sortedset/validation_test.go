package sortedset

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
	refused := func(what string, k kit) {
		for op, one := range effects {
			_, err := one.do(ctx, k)
			require.ErrorIs(t, err, ErrInvalidArgument, "%s: %s", op, what)
		}
		for op, one := range reads {
			_, err := one.do(ctx, k)
			require.ErrorIs(t, err, ErrInvalidArgument, "%s: %s", op, what)
		}
		require.ErrorIs(t, k.s.Check(ctx), ErrInvalidArgument, what)
	}
	for what, opts := range map[string][]Option{
		"a nil option":    {nil},
		"no codec family": {WithCodec(codec.Family{})},
		"nil codec":       {WithMemberCodec[string](nil)},
		"another type":    {WithMemberCodec(codec.For[int](codec.Text))},
	} {
		k := kit{name, New[string](e, name, opts...), NewLex(e, ""), NewGeo[string](e, name, opts...)}
		refused(what, k)
		require.ErrorIs(t, k.l.Check(ctx), ErrInvalidArgument)
	}
	for _, bad := range []string{"", strings.Repeat("n", 1001)} {
		refused("name", kitOn(e, bad))
	}
	k := kitOn(e, name)
	for op, one := range effects {
		var missing context.Context
		_, err := one.do(missing, k)
		require.ErrorIs(t, err, ErrInvalidArgument, op)
	}
	for what, v := range map[string]string{"no text": "\xff", "long": strings.Repeat("v", 1001)} {
		for op, err := range map[string]error{
			"add":       second(k.s.Add(ctx, 1, v)),
			"add many":  second(k.s.AddMany(ctx, Entry[string]{"a", 1}, Entry[string]{v, 1})),
			"add score": second(k.s.AddScore(ctx, 1, v)),
			"scores":    second(k.s.Scores(ctx, "a", v)),
			"remove":    second(k.s.Remove(ctx, "a", v)),
			"texts":     second(k.l.Add(ctx, "a", v)),
			"no texts":  second(k.l.Remove(ctx, "a", v)),
		} {
			require.ErrorIs(t, err, ErrInvalidArgument, "%s: %s", op, what)
			require.NotContains(t, err.Error(), strings.Repeat("v", 10), op)
		}
	}
	for _, score := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for op, err := range map[string]error{
			"add":       second(k.s.Add(ctx, score, "a")),
			"add many":  second(k.s.AddMany(ctx, Entry[string]{"a", score})),
			"add score": second(k.s.AddScore(ctx, score, "a")),
			"weights":   second(k.s.UnionInto(ctx, name, nil, WithWeights(score))),
		} {
			require.ErrorIs(t, err, ErrInvalidArgument, "%s: %v", op, score)
		}
	}
	_, err := k.s.Count(ctx, Between(0, math.NaN()))
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = collect(k.s.ByScore(ctx, Between(math.NaN(), 0)))
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = k.s.RemoveByScore(ctx, Between(math.NaN(), 0))
	require.ErrorIs(t, err, ErrInvalidArgument)
	for _, opt := range []RangeOption{nil, WithLimit(-1)} {
		_, err = collect(k.s.All(ctx, opt))
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	for _, opt := range []IntoOption{nil, WithWeights(1, 2), WithAggregate("AVG")} {
		_, err = k.s.UnionInto(ctx, name, nil, opt)
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	_, err = k.s.InterInto(ctx, name, []string{""})
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = k.s.RangeInto(ctx, "", 0, 1)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = k.s.PopMin(ctx, -1)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = k.s.Expire(ctx, time.Microsecond)
	require.ErrorIs(t, err, ErrInvalidArgument)
	far := Prefix(strings.Repeat("v", 1001))
	for _, err := range []error{second(k.l.Count(ctx, far)), second(k.l.RemoveRange(ctx, far)), second(texts(k.l.Range(ctx, far)))} {
		require.ErrorIs(t, err, ErrInvalidArgument)
		require.NotContains(t, err.Error(), "vvv")
	}
	_, err = New[map[string]int](e, name).Len(ctx)
	require.ErrorIs(t, err, ErrInvalidArgument, "the bytes of a map are not always the same")
	require.ErrorIs(t, second(New[*int](e, name).Add(ctx, 1, nil)), ErrInvalidArgument)
	require.Zero(t, proxy.Count(redistest.Arg(name)), "nothing was sent")
}

func second[A any](_ A, err error) error { return err }

// TestNothingIsSentForNothing: empty lists of arguments answer without a call.
func TestNothingIsSentForNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := redistest.ThroughProxy(t, server)
	k := kitOn(enginetest.On(t, client), redistest.Name(t))
	for _, err := range []error{
		second(k.s.AddMany(t.Context())), second(k.s.Scores(t.Context())), second(k.s.Remove(t.Context())),
		second(k.s.PopMin(t.Context(), 0)), second(collect(k.s.All(t.Context(), WithLimit(0)))),
		second(k.l.Add(t.Context())), second(k.l.Remove(t.Context())), second(k.l.PopMin(t.Context(), 0)),
	} {
		require.NoError(t, err)
	}
	require.Zero(t, proxy.Count(redistest.Arg(k.name)))
}
