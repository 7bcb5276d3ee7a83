package counter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// idsOn returns a generator of a fresh name, whose keys are deleted when the test ends.
func idsOn(t testing.TB, raw rueidis.Client, e *locking.Engine) *IDs {
	t.Helper()
	name := named(t, raw)
	t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(keys.IDBlock(name)).Build()) })
	return NewIDs(e, name)
}

// fetched waits until no fetch is under way.
func fetched(t testing.TB, g *IDs) {
	t.Helper()
	redistest.Eventually(t, func() bool { return !g.blocks.Load().fetching() }, soon, time.Millisecond)
}

func TestIDsOperations(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		g, ctx := idsOn(t, raw, engineOn(t, raw)), t.Context()
		is(t, int64(1))(g.Next(ctx))
		require.Equal(t, "5001", textOf(t, raw, g.Name()))
		require.Equal(t, "5000", textOf(t, raw, keys.IDBlock(g.Name())))
		is(t, int64(2))(g.Next(ctx))
		is(t, true)(g.Exists(ctx))
		is(t, true)(g.Expire(ctx, time.Hour))
		require.Positive(t, ttlOf(t, raw, keys.IDBlock(g.Name())))
		is(t, true)(g.Delete(ctx))
		require.Equal(t, "-", textOf(t, raw, keys.IDBlock(g.Name())))

		is(t, true)(g.Init(ctx, 10, 3))
		is(t, false)(g.Init(ctx, 20, 4))
		other := NewIDs(engineOn(t, raw), g.Name())
		for _, want := range []int64{10, 11, 12} {
			is(t, want)(g.Next(ctx))
		}
		fetched(t, g) // 13 to 15, at half of it
		is(t, int64(16))(other.Next(ctx))
		is(t, int64(13))(g.Next(ctx))
		require.Equal(t, "3", textOf(t, raw, keys.IDBlock(g.Name())))
		fetched(t, other)
		is(t, true)(g.Delete(ctx))
		is(t, true)(g.Init(ctx, -5, 2))
		is(t, int64(-5))(g.Next(ctx))
		is(t, true)(g.Delete(ctx))
	})
}

// TestIDsRanges takes ids in a row. What a block has left stays for Next.
func TestIDsRanges(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		g, ctx := idsOn(t, raw, engineOn(t, raw)), t.Context()
		is(t, true)(g.Init(ctx, 1, 100))
		ranges := func(n, from int64) {
			t.Helper()
			got, to, err := g.Range(ctx, n)
			require.NoError(t, err)
			require.Equal(t, [2]int64{from, from + n}, [2]int64{got, to})
		}
		ranges(30, 1)
		ranges(30, 31)
		fetched(t, g) // 101 to 200
		ranges(60, 101)
		is(t, int64(61))(g.Next(ctx))
		ranges(1_000_000, 201)
		require.Equal(t, "1000201", textOf(t, raw, g.Name()))
		ranges(39, 62)
		ranges(40, 161)
		ranges(100, 1_000_201)
		is(t, int64(1_000_301))(g.Next(ctx))
		_, _, err := g.Range(ctx, math.MaxInt64)
		require.ErrorIs(t, err, ErrExhausted)
		is(t, int64(1_000_302))(g.Next(ctx))
	})
}

// TestIDsOfManyGoroutinesAreNeverTheSame: with Next, Range, two clients, and blocks of all sizes.
func TestIDsOfManyGoroutinesAreNeverTheSame(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		for _, size := range []int64{1, 2, 7, 5000} {
			g := idsOn(t, raw, engineOn(t, raw))
			is(t, true)(g.Init(t.Context(), 1<<53-50, size))
			both := []*IDs{g, NewIDs(g.o.Engine, g.Name()), NewIDs(engineOn(t, raw), g.Name())}
			const goroutines = 24
			got := make([][]int64, goroutines)
			var all sync.WaitGroup
			for i := range goroutines {
				all.Go(func() {
					one := both[i%len(both)]
					for range redistest.Count(t, 300, 20_000) {
						if rand.IntN(10) == 0 {
							from, to, err := one.Range(context.Background(), 1+rand.Int64N(20))
							assert.NoError(t, err)
							for id := from; id < to; id++ {
								got[i] = append(got[i], id)
							}
							continue
						}
						id, err := one.Next(context.Background())
						assert.NoError(t, err)
						got[i] = append(got[i], id)
					}
				})
			}
			all.Wait()
			seen := map[int64]bool{}
			for _, ids := range got {
				for _, id := range ids {
					require.False(t, seen[id], "%d twice, blocks of %d", id, size)
					seen[id] = true
				}
			}
		}
	})
}

// TestIDsAreFetchedAhead, off the path of callers: one block at a time while blocks last, several once they do not.
func TestIDsAreFetchedAhead(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := through(t, server)
	raw := server.Client(t)
	g, ctx := idsOn(t, raw, engineOn(t, client)), t.Context()
	is(t, true)(g.Init(ctx, 1, 10))
	is(t, int64(1))(g.Next(ctx))
	held := proxy.HoldRequest(redistest.Arg(g.Name()))
	for i := range int64(5) {
		is(t, i+2)(g.Next(ctx))
	}
	held.Await(t)
	for i := range int64(4) {
		is(t, i+7)(g.Next(ctx))
	}
	short, cancel := context.WithCancelCause(ctx)
	waits := make(chan error, 1)
	go func() { waits <- last(g.Next(short)) }() // ends with its context
	cancel(errors.New("over"))
	require.ErrorContains(t, redistest.Done(t, waits), "over")
	require.NotErrorIs(t, redistest.Done(t, func() chan error { c := make(chan error, 1); c <- context.Cause(short); return c }()), ErrOutcomeUnknown)
	held.Release()
	fetched(t, g)
	_, err := g.Next(ctx)
	require.NoError(t, err)
	fetched(t, g)

	size := func(b *block) int64 { return b.size }
	b := &block{before: 10, size: 10, since: time.Second, opened: time.Second + time.Millisecond}
	b.next.Store(5)
	require.EqualValues(t, 0, b.wants(time.Second+15*time.Millisecond, 10), "one block lasts for 10 ms")
	require.EqualValues(t, 15*50, b.wants(time.Second+2*time.Millisecond, 10), "100 ms' worth")
	require.EqualValues(t, mostAhead, (&block{before: 1 << 40, size: 10}).wants(time.Second, 1<<20))
	require.EqualValues(t, 0, (&block{size: 10}).wants(time.Second, 10), "nothing is known")
	require.EqualValues(t, 10, size(b))
}

// TestIDsDeleteWaitsForAFetch: one that was under way must not begin the generator anew.
func TestIDsDeleteWaitsForAFetch(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := through(t, server)
	raw := server.Client(t)
	g, ctx := idsOn(t, raw, enginetest.Plain(t, client)), t.Context()
	is(t, true)(g.Init(ctx, 1, 2))
	held := proxy.HoldRequest(redistest.All(redistest.AnyScript(), redistest.Arg("3"))) // the block after 1 and 2
	is(t, int64(1))(g.Next(ctx))
	is(t, int64(2))(g.Next(ctx))
	held.Await(t)
	short, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, last(g.Delete(short)), context.Canceled)
	short, cancel = context.WithCancel(ctx)
	left := make(chan error, 1)
	go func() { left <- last(g.Delete(short)) }() // ends with its context
	redistest.Eventually(t, func() bool { return g.blocks.Load().gone.Load() }, soon, time.Millisecond)
	cancel()
	require.ErrorIs(t, redistest.Done(t, left), context.Canceled)
	require.False(t, g.blocks.Load().gone.Load(), "nothing was deleted")
	deleted := make(chan error, 1)
	go func() { deleted <- last(g.Delete(ctx)) }() // ends with the fetch
	redistest.Waits(t, deleted)
	held.Release()
	require.NoError(t, redistest.Done(t, deleted))
	is(t, false)(g.Exists(ctx))
	is(t, true)(g.Init(ctx, 7, 2))
	is(t, int64(7))(g.Next(ctx))
}

// TestIDsTakeFewCalls at full speed, and allocate nothing.
func TestIDsTakeFewCalls(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	g := NewIDs(engineOn(t, raw), redistest.Name(t))
	is(t, true)(g.Init(t.Context(), 1, 50))
	server.ResetStats()
	var all sync.WaitGroup
	const goroutines, each = 8, 20_000
	for range goroutines {
		all.Go(func() {
			for range each {
				_, err := g.Next(context.Background())
				assert.NoError(t, err)
			}
		})
	}
	all.Wait()
	require.Less(t, server.ScriptCalls(t), int64(goroutines*each/50/4))
}

// TestIDsAllocateNothing counts allocations, so it does not run in parallel.
func TestIDsAllocateNothing(t *testing.T) {
	g := NewIDs(engineOn(t, redistest.Shared(t).Client(t)), redistest.Name(t))
	ctx := context.Background()
	_, err := g.Init(ctx, 1, 1<<40)
	require.NoError(t, err)
	_, err = g.Next(ctx)
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = g.Next(ctx) }))
	_, err = g.Delete(ctx)
	require.NoError(t, err)
}

// TestIDsEndBelow2To63 with an error, and not earlier than a block has room.
func TestIDsEndBelow2To63(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		g, ctx := idsOn(t, raw, engineOn(t, raw)), t.Context()
		is(t, true)(g.Init(ctx, math.MaxInt64-7, 3))
		for i := range int64(6) {
			is(t, math.MaxInt64-7+i)(g.Next(ctx))
		}
		for range 3 {
			require.ErrorIs(t, last(g.Next(ctx)), ErrExhausted)
		}
		require.EqualError(t, last(g.Next(ctx)), `take an id of id generator "`+g.Name()+`": the ids are exhausted`)
	})
}

// TestIDsRefuseABlockSizeThatTheyFind.
func TestIDsRefuseABlockSizeThatTheyFind(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		e := engineOn(t, raw)
		for _, size := range []string{"0", "-3", "x", "", "1.5", "99999999999999999999"} {
			g := idsOn(t, raw, e)
			setText(t, raw, keys.IDBlock(g.Name()), size)
			err := last(g.Next(t.Context()))
			require.ErrorIs(t, err, ErrDecode, size)
			require.ErrorContains(t, err, "the key of the block size holds no integer above 0: Delete and Init set it")
			require.Equal(t, "-", textOf(t, raw, g.Name()))
			is(t, true)(g.Delete(t.Context()))
			is(t, true)(g.Init(t.Context(), 1, 2))
			is(t, int64(1))(g.Next(t.Context()))
		}
	})
}

// TestIDsOfAForgetfulServerAreNotTheirOwn: whatever the server forgets, a client never hands out an id twice.
func TestIDsOfAForgetfulServerAreNotTheirOwn(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		g := idsOn(t, raw, engineOn(t, raw))
		is(t, true)(g.Init(t.Context(), 1<<53, 5))
		seen := map[int64]bool{}
		for i := range redistest.Count(t, 300, 5_000) {
			switch rand.IntN(12) {
			case 0:
				raw.Do(t.Context(), raw.B().Del().Key(g.Name()).Build())
			case 1:
				raw.Do(t.Context(), raw.B().Del().Key(keys.IDBlock(g.Name())).Build())
				setText(t, raw, keys.IDBlock(g.Name()), "5")
			case 2:
				setText(t, raw, g.Name(), decimal(rand.Int64N(1<<53)))
			case 3:
				from, to, err := g.Range(t.Context(), 1+rand.Int64N(12))
				require.NoError(t, err)
				for id := from; id < to; id++ {
					require.False(t, seen[id], "%d twice, at %d", id, i)
					seen[id] = true
				}
			}
			id, err := g.Next(t.Context())
			require.NoError(t, err)
			require.False(t, seen[id], "%d twice, at %d", id, i)
			seen[id] = true
		}
	})
}

// TestIDsAreKeptForAWhile: blocks that are not used are dropped, those that are stay, and there are not too many.
func TestIDsAreKeptForAWhile(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e := engineOn(t, raw)
	h := hubOf(e)
	h.ids.kept = 60 * time.Millisecond
	used, idle := idsOn(t, raw, e), idsOn(t, raw, e)
	is(t, int64(1))(used.Next(t.Context()))
	is(t, int64(1))(idle.Next(t.Context()))
	first := used.blocks.Load()
	redistest.Eventually(t, func() bool {
		_, err := used.Next(t.Context())
		require.NoError(t, err)
		return idle.blocks.Load().gone.Load()
	}, soon, time.Millisecond)
	is(t, int64(5001))(idle.Next(t.Context()))
	require.Same(t, first, used.blocks.Load())
	redistest.Eventually(t, func() bool {
		h.ids.mu.Lock()
		defer h.ids.mu.Unlock()
		return len(h.ids.of) == 0
	}, soon, time.Millisecond)
	is(t, int64(5001))(NewIDs(engineOn(t, raw), used.Name()).Next(t.Context()))

	many := hubOf(engineOn(t, raw))
	for i := range mostGenerators + 100 {
		o := *idle.o
		o.Key = fmt.Sprint(i)
		many.ids.get(&o)
	}
	require.Len(t, many.ids.of, mostGenerators)
}

// TestIDsWaitForReplicas, if the client does.
func TestIDsWaitForReplicas(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e := engineOn(t, raw, func(c *core.Config) { c.ReplicaAcks, c.AckTimeout = 1, time.Millisecond })
	g := idsOn(t, raw, e)
	require.ErrorIs(t, last(g.Next(t.Context())), ErrNotReplicated)
	require.Equal(t, "5001", textOf(t, raw, g.Name()), "a gap")
}

// TestIDsOfAClosedClient gets none.
func TestIDsOfAClosedClient(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e := enginetest.On(t, raw)
	g := idsOn(t, raw, e)
	is(t, int64(1))(g.Next(t.Context()))
	require.NoError(t, locking.Close(t.Context(), e))
	require.ErrorIs(t, last(g.Next(t.Context())), ErrClosed)
}
