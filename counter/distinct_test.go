package counter

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestDistinctOperations(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		e, ctx := engineOn(t, raw), t.Context()
		a, b, c := NewDistinct[string](e, named(t, raw)), NewDistinct[string](e, named(t, raw)), NewDistinct[string](e, named(t, raw))
		is(t, int64(0))(a.Count(ctx))
		require.NoError(t, a.Add(ctx))
		is(t, false)(a.Exists(ctx))
		require.NoError(t, a.Add(ctx, "x", "y", "x"))
		require.NoError(t, a.Add(ctx, "y"))
		require.NoError(t, b.Add(ctx, "y", "z"))
		is(t, int64(2))(a.Count(ctx))
		if !strings.Contains(t.Name(), "/miniredis") { // which adds up the counts
			is(t, int64(3))(a.CountWith(ctx, b.Name(), c.Name()))
		}
		require.NoError(t, a.Merge(ctx))
		is(t, false)(c.Exists(ctx))
		require.NoError(t, c.Merge(ctx, a.Name(), b.Name()))
		is(t, int64(3))(c.Count(ctx))
		is(t, int64(2))(a.Count(ctx))
		is(t, true)(c.Expire(ctx, time.Hour))
		is(t, true)(c.Delete(ctx))
		for _, d := range []*Distinct[int]{
			NewDistinct[int](e, named(t, raw)), NewDistinct[int](e, named(t, raw), WithCodec(codec.JSON)),
			NewDistinct[int](e, named(t, raw), WithValueCodec(codec.For[int](codec.Msgpack))),
		} {
			for i := range 5 {
				require.NoError(t, d.Add(ctx, i, i+1))
			}
			is(t, int64(6))(d.Count(ctx))
		}
	})
}

// TestDistinctCountsAbout: many values of many goroutines, within three standard errors, and in few commands.
func TestDistinctCountsAbout(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	d := NewDistinct[string](engineOn(t, raw), redistest.Name(t))
	server.ResetStats()
	const goroutines, each = 64, 300
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := range each {
				assert.NoError(t, d.Add(context.Background(), fmt.Sprint(g, " ", i), fmt.Sprint(i)))
			}
		})
	}
	all.Wait()
	n, err := d.Count(t.Context())
	require.NoError(t, err)
	require.InDelta(t, (goroutines+1)*each, n, 0.0243*(goroutines+1)*each)
	require.Less(t, server.CommandCalls(t, "pfadd"), int64(goroutines*each/4))
}

// TestDistinctAddsInParts that keep the server for a short time, whatever is added.
func TestDistinctAddsInParts(t *testing.T) {
	t.Parallel()
	e, bounded := enginetest.BoundedOn(t, redistest.Start(t))
	d := NewDistinct[string](e, redistest.Name(t))
	vs := make([]string, 100_000)
	for i := range vs {
		vs[i] = fmt.Sprint(i)
	}
	bounded.Judge("many", func() {}, func() error { return d.Add(t.Context(), vs...) })
	for i := range 300 {
		vs[i] = strings.Repeat(fmt.Sprint(i%10), 50_000)
	}
	bounded.Judge("long ones", func() {}, func() error { return d.Add(t.Context(), vs[:300]...) })
	require.Equal(t, 1, portion(3, func(int) (int, int) { return 1, 10 << 20 }))
	require.Equal(t, 1000, portion(5000, func(int) (int, int) { return 1, 1 }))
	require.Equal(t, 3, cutValues([]*combine.Call[[]string, struct{}]{{Ask: vs[:400:400]}, {Ask: vs[300:600]}, {Ask: vs[300:500]}, {Ask: vs[300:301]}}[1:]))
}
