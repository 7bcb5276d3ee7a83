package counter

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestFloatOperations(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		f, ctx := NewFloat(engineOn(t, raw), named(t, raw)), t.Context()
		is(t, 0.0)(f.Get(ctx))
		is(t, 1.5)(f.Add(ctx, 1.5))
		is(t, 1.0)(f.Add(ctx, -0.5))
		is(t, 1.0)(f.Swap(ctx, 2))
		is(t, true)(f.CompareAndSwap(ctx, 2, 3))
		is(t, false)(f.CompareAndSwap(ctx, 2, 3))
		for _, text := range []string{"3.0", "3", "+3", "03", "30e-1", "0.3E1"} {
			setText(t, raw, f.Name(), text)
			is(t, 3.0)(f.Get(ctx))
			is(t, false)(f.CompareAndSwap(ctx, 2, 1))
			is(t, true)(f.CompareAndSwap(ctx, 3, 4))
			require.Equal(t, "4", textOf(t, raw, f.Name()))
		}
		is(t, true)(f.Expire(ctx, time.Hour))
		is(t, true)(f.CompareAndSwap(ctx, 4, 0))
		require.Positive(t, ttlOf(t, raw, f.Name()))
		is(t, true)(f.CompareAndSwap(ctx, math.Copysign(0, -1), 1e300))
		is(t, 1e300)(f.Swap(ctx, 1e-300))
		require.EqualValues(t, -1, ttlOf(t, raw, f.Name()))
		is(t, true)(f.Delete(ctx))
		is(t, true)(f.CompareAndSwap(ctx, 0, 1))
		require.NoError(t, f.Set(ctx, math.Copysign(0, -1)))
		require.Equal(t, "0", textOf(t, raw, f.Name()))
		is(t, true)(f.Delete(ctx))
		is(t, 0.0)(f.Swap(ctx, 9))
	})
}

// TestFloatsComeBackAsTheyWere, whatever they are, and as plain decimals.
func TestFloatsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		f, ctx, rnd := NewFloat(engineOn(t, raw), named(t, raw)), t.Context(), rand.New(rand.NewPCG(1, 1))
		all := []float64{math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 1 << 53, 0.1, 1e21, 1e-7}
		for range 100 {
			if v := math.Float64frombits(rnd.Uint64()); !math.IsNaN(v) && !math.IsInf(v, 0) {
				all = append(all, v)
			}
		}
		for _, v := range all {
			require.NoError(t, f.Set(ctx, v))
			require.Regexp(t, `^-?\d+(\.\d+)?$`, textOf(t, raw, f.Name()))
			is(t, v)(f.Get(ctx))
			is(t, true)(f.CompareAndSwap(ctx, v, v))
			is(t, v)(f.Swap(ctx, 1))
		}
	})
}

func TestFloatSumThatWouldBeInfinite(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, raw rueidis.Client) {
		f, ctx := NewFloat(engineOn(t, raw), named(t, raw)), t.Context()
		setText(t, raw, f.Name(), "1e4932")
		require.ErrorIs(t, last(f.Add(ctx, math.MaxFloat64)), ErrDecode, "more than float64 has")
		require.NoError(t, f.Set(ctx, 1))
		is(t, 2.0)(f.Add(ctx, 1))
	})
}

// TestFloatsAddExactly what floats can: halves, from many goroutines.
func TestFloatsAddExactly(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	f := NewFloat(engineOn(t, raw), named(t, raw))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				_, err := f.Add(t.Context(), 0.5)
				assert.NoError(t, err)
			}
		})
	}
	all.Wait()
	is(t, 400.0)(f.Get(t.Context()))
}
