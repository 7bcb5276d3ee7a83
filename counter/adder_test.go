package counter

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestAdderOperations(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		e, ctx := engineOn(t, raw), t.Context()
		a, b := NewAdder(e, named(t, raw)), NewAdder(engineOn(t, raw), "")
		b.common = common{a.o}
		is(t, int64(0))(a.Sum(ctx))
		require.NoError(t, a.Flush(ctx))
		require.NoError(t, a.Add(ctx, 5))
		require.NoError(t, NewAdder(e, a.Name()).Add(ctx, -2))
		is(t, int64(3))(a.Sum(ctx))
		is(t, int64(3))(a.Sum(ctx))
		is(t, int64(3))(New(e, a.Name()).Get(ctx))
		require.NoError(t, a.Add(ctx, 1))
		redistest.Eventually(t, func() bool { return textOf(t, raw, a.Name()) == "4" }, soon, time.Millisecond, "it is sent after a while")
		redistest.Eventually(t, func() bool { return hubOf(e).adders.there(a.Name()) == nil }, soon, time.Millisecond)
		require.NoError(t, a.Add(ctx, 1))
		is(t, true)(a.Delete(ctx))
		is(t, int64(0))(a.Sum(ctx))
		require.NoError(t, a.Add(ctx, 7))
		to := named(t, raw)
		is(t, true)(a.Rename(ctx, to))
		require.Equal(t, "7", textOf(t, raw, to))

		require.NoError(t, a.Add(ctx, math.MaxInt64))
		require.ErrorIs(t, a.Add(ctx, 1), ErrInvalidArgument)
		require.NoError(t, a.Add(ctx, -1))
		is(t, int64(math.MaxInt64-1))(a.Sum(ctx))
		require.NoError(t, a.Add(ctx, 5))
		require.ErrorIs(t, a.Flush(ctx), ErrInvalidArgument, "the number has no room, and the sum stays")
		require.NoError(t, New(e, a.Name()).Set(ctx, 1))
		is(t, int64(6))(a.Sum(ctx))
	})
}

// TestAddersOfManyGoroutinesAreExact under faults, and Close sends the rest.
func TestAddersOfManyGoroutinesAreExact(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	through := &faulty{Client: server.Client(t), twice: true}
	e := enginetest.On(t, through)
	a := NewAdder(e, named(t, raw))
	through.on.Store(true)
	const goroutines = 16
	each := redistest.Count(t, 2_000, 500_000)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := range each {
				assert.NoError(t, a.Add(context.Background(), 1))
				if g == 0 && i%100 == 0 {
					_ = a.Flush(context.Background())
					through.deliver()
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, a.Add(context.Background(), 1<<53))
	require.NoError(t, locking.Close(context.Background(), e))
	require.ErrorIs(t, a.Add(context.Background(), 1), ErrClosed)
	through.on.Store(false)
	through.deliver()
	require.Equal(t, decimal(1<<53+int64(goroutines*each)), textOf(t, raw, a.Name()))
}

// TestAdderKeepsWhatIsRefused, logs that once, and Close names what is left.
func TestAdderKeepsWhatIsRefused(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	var log enginetest.Log
	cfg := core.Config{ClientID: owner.NewClient(), WatchdogTimeout: 30 * time.Second}
	log.To(&cfg)
	e, err := locking.New(t.Context(), raw, cfg)
	require.NoError(t, err)
	a, b := NewAdder(e, named(t, raw)), NewAdder(e, named(t, raw))
	setText(t, raw, a.Name(), "secret")
	setText(t, raw, b.Name(), "7")
	require.NoError(t, a.Add(t.Context(), 3))
	redistest.Eventually(t, func() bool { return log.Has("a sum is not taken, and stays") }, soon, time.Millisecond)
	require.False(t, log.Has("secret"))
	require.ErrorIs(t, a.Flush(t.Context()), ErrDecode)
	require.ErrorIs(t, last(a.Sum(t.Context())), ErrDecode)
	setText(t, raw, a.Name(), "1")
	is(t, int64(4))(a.Sum(t.Context()))
	setText(t, raw, a.Name(), "secret")
	require.NoError(t, a.Add(t.Context(), 5))
	require.NoError(t, b.Add(t.Context(), 1))
	err = locking.Close(context.Background(), e)
	require.ErrorContains(t, err, a.Name())
	require.ErrorContains(t, err, "add 5")
	require.NotContains(t, err.Error(), "secret")
	require.Equal(t, "8", textOf(t, raw, b.Name()))
}
