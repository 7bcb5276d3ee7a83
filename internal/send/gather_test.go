package send

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// holds has a gathering hold its calls for as long as a function of it runs.
func holds(s *closer) *Sender {
	s.longestHeld = time.Hour
	return s.Sender
}

// gathers calls the functions under a gathering, and waits for them.
func gathers(s *Sender, ctx context.Context, fns ...func(ctx context.Context)) {
	seats, ended := s.Gather(ctx, len(fns))
	defer ended()
	var all sync.WaitGroup
	for i, fn := range fns {
		all.Go(func() {
			defer seats[i].End()
			fn(&seats[i])
		})
	}
	all.Wait()
}

// sets has a function set n keys, one after the other.
func sets(t *testing.T, s *Sender, name string, n int) func(ctx context.Context) {
	return func(ctx context.Context) {
		for i := range n {
			_, err := s.Run(ctx, setCommand, []string{fmt.Sprint(name, i)}, []string{"v", "PX", "60000"})
			assert.NoError(t, err)
		}
	}
}

// times is n times the same function, each with its number.
func times(n int, fn func(i int) func(ctx context.Context)) (fns []func(ctx context.Context)) {
	for i := range n {
		fns = append(fns, fn(i))
	}
	return fns
}

// TestGatheredCallsAreOnePipelineForEachRound of the functions, also with those that end earlier.
func TestGatheredCallsAreOnePipelineForEachRound(t *testing.T) {
	t.Parallel()
	c := &pipelines{Client: redistest.Shared(t).Client(t)}
	s := holds(on(t, c))
	c.alone.Store(0)
	name := redistest.Name(t)
	gathers(s, t.Context(), times(125, func(i int) func(context.Context) { return sets(t, s, fmt.Sprint(name, i, ":"), 1+i%8) })...)
	require.EqualValues(t, 8, c.batches.Load())
	require.EqualValues(t, 125/8*36+15, c.members.Load())
	require.Zero(t, c.alone.Load())
	require.Zero(t, s.batches.under.Load())
}

// TestGatheredCallsOfAClusterAreOnePipelineForEachNode.
func TestGatheredCallsOfAClusterAreOnePipelineForEachNode(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	c := &nodePipelines{pipelines: pipelines{Client: cluster.Client(t)}, nodes: map[string]*pipelines{}}
	s := holds(on(t, c))
	c.alone.Store(0)
	name := redistest.Name(t)
	sets(t, s, name, 1)(t.Context()) // the nodes are known
	redistest.Eventually(t, func() bool { return s.batches.nodes.Load() != nil }, redistest.Soon, time.Millisecond)
	gathers(s, t.Context(), times(200, func(i int) func(context.Context) { return sets(t, s, fmt.Sprint(name, i), 1) })...)
	batches, members := c.sent()
	require.EqualValues(t, 3, batches)
	require.EqualValues(t, 200, members)

	m := cluster.StartMigration(t, name+"0")
	m.Move(t)
	gathers(s, t.Context(), times(50, func(i int) func(context.Context) { return sets(t, s, "{"+name+"0}"+fmt.Sprint(i), 2) })...)
	m.Finish(t)
	gathers(s, t.Context(), times(50, func(i int) func(context.Context) { return sets(t, s, "{"+name+"0}"+fmt.Sprint(i), 2) })...)
}

// TestAPipelineOfGatheredCallsIsBounded by its commands and its bytes.
func TestAPipelineOfGatheredCallsIsBounded(t *testing.T) {
	t.Parallel()
	c := &pipelines{Client: redistest.Shared(t).Client(t)}
	s := holds(on(t, c))
	c.alone.Store(0)
	name := redistest.Name(t)
	gathers(s, t.Context(), times(2500, func(i int) func(context.Context) { return sets(t, s, fmt.Sprint(name, i), 1) })...)
	require.EqualValues(t, 3, c.batches.Load())
	require.EqualValues(t, 2500, c.members.Load())

	c.batches.Store(0)
	value := strings.Repeat("v", mostOfOne-100)
	gathers(s, t.Context(), times(100, func(i int) func(context.Context) {
		return func(ctx context.Context) {
			_, err := s.Run(ctx, setCommand, []string{fmt.Sprint(name, i)}, []string{value, "PX", "60000"})
			assert.NoError(t, err)
		}
	})...)
	require.EqualValues(t, 2, c.batches.Load())
}

// TestGatheredFunctionsThatDoNotCall hold up no other: one that waits for another, one that ends, and one that calls
// what is not held.
func TestGatheredFunctionsThatDoNotCall(t *testing.T) {
	t.Parallel()
	c := &pipelines{Client: redistest.Shared(t).Client(t)}
	s := on(t, c).Sender
	name, done := redistest.Name(t), make(chan struct{})
	gathers(s, t.Context(),
		func(context.Context) {},
		func(context.Context) { <-done },
		func(ctx context.Context) {
			sets(t, s, name, 3)(ctx)
			close(done)
		},
		func(ctx context.Context) { // too long for a batch
			_, err := s.Run(ctx, setCommand, []string{name + "long"}, []string{strings.Repeat("v", 2*mostOfOne), "PX", "60000"})
			assert.NoError(t, err)
		},
		func(ctx context.Context) { // takes something
			_, err := s.Run(ctx, popCommand, []string{name + "none"}, nil)
			assert.NoError(t, err)
		},
		func(ctx context.Context) { // is combined
			table := combine.New(combine.Config[string, int, int]{
				Send:  func(string, int, []*combine.Call[int, int]) error { <-done; return nil },
				Spawn: s.Spawn, Closed: core.ErrClosed,
			})
			_, err := table.Do(ctx, "key", 1)
			assert.NoError(t, err)
		})
}

// TestGatheringWaitsForNoFunctionThatIsAway, whatever it waits for elsewhere.
func TestGatheringWaitsForNoFunctionThatIsAway(t *testing.T) {
	t.Parallel()
	s := holds(on(t, redistest.Shared(t).Client(t)))
	name, done := redistest.Name(t), make(chan struct{})
	table := combine.New(combine.Config[string, int, int]{
		Send:  func(string, int, []*combine.Call[int, int]) error { <-done; return nil },
		Spawn: s.Spawn, Closed: core.ErrClosed,
	})
	gathers(s, t.Context(),
		func(ctx context.Context) {
			_, err := table.Do(ctx, "key", 1)
			assert.NoError(t, err)
		},
		func(ctx context.Context) {
			sets(t, s, name, 3)(ctx)
			close(done)
		})
}

// TestNestedGatheringsShareTheirPipelines.
func TestNestedGatheringsShareTheirPipelines(t *testing.T) {
	t.Parallel()
	c := &pipelines{Client: redistest.Shared(t).Client(t)}
	s := holds(on(t, c))
	c.alone.Store(0)
	name := redistest.Name(t)
	gathers(s, t.Context(), times(10, func(i int) func(context.Context) {
		return func(ctx context.Context) {
			gathers(s, ctx, times(10, func(j int) func(context.Context) { return sets(t, s, fmt.Sprint(name, i, j), 2) })...)
			sets(t, s, fmt.Sprint(name, i), 1)(ctx)
		}
	})...)
	require.EqualValues(t, 210, c.members.Load()+c.alone.Load())
	require.LessOrEqual(t, c.batches.Load()+c.alone.Load(), int64(3+10)) // what is behind a nested one may go alone
}

// TestCallsBehindAGatheringAreNotHeld, though they have its context.
func TestCallsBehindAGatheringAreNotHeld(t *testing.T) {
	t.Parallel()
	c := &pipelines{Client: redistest.Shared(t).Client(t)}
	s := holds(on(t, c))
	c.alone.Store(0)
	name := redistest.Name(t)
	var late context.Context
	gathers(s, t.Context(), func(ctx context.Context) { late = ctx })
	sets(t, s, name, 1)(late)
	require.EqualValues(t, 1, c.alone.Load())
	// One that has ended holds up no function that still runs, and is not held by it.
	ended := make(chan context.Context, 1)
	gathers(s, t.Context(), func(ctx context.Context) { ended <- ctx }, func(context.Context) {
		late := <-ended
		redistest.Eventually(t, func() bool { return seatOf(late, s) == nil }, redistest.Soon, time.Millisecond)
		sets(t, s, name, 1)(late)
	})
}

// TestAGatheredCallIsSentAgain if its reply was lost, by the same rules as any.
func TestAGatheredCallIsSentAgain(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	s := holds(at(t, proxy.Addr(), func(c *core.Config) { c.WatchdogTimeout = 30 * time.Second }))
	name := redistest.Name(t)
	lost := proxy.DropReply(redistest.Command("SET"), 1)
	gathers(s, t.Context(), times(50, func(i int) func(context.Context) {
		return func(ctx context.Context) {
			sets(t, s, fmt.Sprint(name, i), 2)(ctx)
			_, err := s.Run(ctx, getCommand, []string{fmt.Sprint(name, i, 0)}, nil)
			assert.NoError(t, err)
		}
	})...)
	require.Equal(t, 1, lost.Dropped())

	lost = proxy.DropReply(redistest.Command("RPUSH"), 1)
	unknown := 0
	var mu sync.Mutex
	gathers(s, t.Context(), times(50, func(i int) func(context.Context) {
		return func(ctx context.Context) {
			_, err := s.Run(ctx, pushCommand, []string{fmt.Sprint(name, "list", i)}, []string{"v"})
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, core.ErrOutcomeUnknown) {
				unknown++
			} else {
				assert.NoError(t, err)
			}
		}
	})...)
	require.Positive(t, unknown)
	require.Equal(t, 1, lost.Dropped())
}

// TestWhatIsHeldWhenTheClientClosesIsNotSent: its callers are told, and a later call of theirs is, too.
func TestWhatIsHeldWhenTheClientClosesIsNotSent(t *testing.T) {
	t.Parallel()
	c := &pipelines{Client: redistest.Shared(t).Client(t)}
	e := on(t, c)
	s, name := holds(e), redistest.Name(t)
	_, err := s.Run(t.Context(), getCommand, []string{name}, nil)
	require.NoError(t, err)
	c.alone.Store(0)
	push := func(ctx context.Context) {
		for range 2 {
			_, err := s.Run(ctx, pushCommand, []string{name}, []string{"v"})
			assert.ErrorIs(t, err, core.ErrClosed)
			assert.NotErrorIs(t, err, core.ErrOutcomeUnknown)
		}
	}
	gathers(s, context.Background(), push, push, func(ctx context.Context) {
		g := seatOf(ctx, s).g
		redistest.Eventually(t, func() bool {
			g.mu.Lock()
			defer g.mu.Unlock()
			return len(g.held) == 2
		}, redistest.Soon, time.Millisecond)
		assert.NoError(t, e.Close(t.Context()))
	})
	require.Zero(t, c.members.Load()+c.alone.Load())
}

// TestAGatheredCallMayBeLeft while it is held, and while it is sent: the others have their answers.
func TestAGatheredCallMayBeLeft(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	s := holds(at(t, proxy.Addr(), func(c *core.Config) { c.WatchdogTimeout = 30 * time.Second }))
	name, left := redistest.Name(t), make(chan struct{})
	put := func(ctx context.Context, key string) error {
		_, err := Sent(s, ctx, func(ctx context.Context) (Answer, error) { return s.Run(ctx, setCommand, []string{key}, []string{"v"}) })
		return err
	}
	gathers(s, t.Context(),
		func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			assert.ErrorIs(t, put(ctx, name+"0"), core.ErrOutcomeUnknown)
			close(left)
			sets(t, s, name, 2)(t.Context())
		},
		func(ctx context.Context) {
			<-left
			for i := range 3 {
				assert.NoError(t, put(ctx, fmt.Sprint(name, i)))
			}
		})

	set := proxy.HoldRequest(redistest.Command("SET"))
	left = make(chan struct{})
	gathers(s, t.Context(),
		func(ctx context.Context) {
			ctx, cancel := context.WithCancel(ctx)
			go func() {
				<-set.Caught()
				cancel()
			}()
			assert.ErrorIs(t, put(ctx, name+"0"), core.ErrOutcomeUnknown)
			set.Release()
			close(left)
		},
		func(ctx context.Context) {
			assert.NoError(t, put(ctx, name+"1"))
			<-left
			assert.NoError(t, put(ctx, name+"1"))
		})
	require.Eventually(t, func() bool { return s.batches.under.Load() == 0 }, redistest.Soon, time.Millisecond)
}
