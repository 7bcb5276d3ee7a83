package send

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// together has all calls go in batches.
func together(c *core.Config) { c.Directly = -1 }

// pipelines counts what a client sends together, and alone.
type pipelines struct {
	rueidis.Client
	batches, members, alone atomic.Int64
}

func (p *pipelines) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	p.alone.Add(1)
	return p.Client.Do(ctx, cmd)
}

func (p *pipelines) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	p.batches.Add(1)
	p.members.Add(int64(len(cmds)))
	return p.Client.DoMulti(ctx, cmds...)
}

var (
	setCommand  = scripts.NewCommand("SET", scripts.Safe)
	getCommand  = scripts.NewCommand("GET", scripts.Reads)
	pushCommand = scripts.NewCommand("RPUSH", scripts.Once)
	popCommand  = scripts.NewCommand("LPOP", scripts.Unsafe)
)

// TestCallsOfABatchHaveTheirOwnAnswers: scripts that the server does not know yet, commands, and one that
// is refused.
func TestCallsOfABatchHaveTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := &pipelines{Client: server.Client(t)}
	e := on(t, c, together)
	wrong := redistest.Name(t)
	_, err := e.Run(t.Context(), setCommand, []string{wrong}, []string{"text"})
	require.NoError(t, err)
	var calls sync.WaitGroup
	for i := range 1000 {
		calls.Go(func() {
			key, lane := fmt.Sprint("key", i), fmt.Sprint("lane", i)
			_, err := e.Run(t.Context(), setCommand, []string{key}, []string{key})
			assert.NoError(t, err)
			got, err := e.Run(t.Context(), getCommand, []string{key}, nil)
			assert.NoError(t, err)
			text, _ := got.ToString()
			assert.Equal(t, key, text)
			got, err = e.Run(t.Context(), VoidScript, []string{lane}, []string{"1", "60000"})
			assert.NoError(t, err)
			n, _ := got.AsInt64()
			assert.EqualValues(t, 1, n)
			_, err = e.Run(t.Context(), pushCommand, []string{wrong}, []string{"a"})
			assert.ErrorContains(t, err, "WRONGTYPE")
			assert.NotErrorIs(t, err, core.ErrOutcomeUnknown)
		})
	}
	calls.Wait()
	require.Less(t, c.batches.Load(), c.members.Load()/4, "they go together")
	require.Zero(t, e.batches.under.Load())
}

// TestFewCallsGoDirectly, each by itself.
func TestFewCallsGoDirectly(t *testing.T) {
	t.Parallel()
	c := &pipelines{Client: redistest.Shared(t).Client(t)}
	e := on(t, c)
	var calls sync.WaitGroup
	for range directly {
		calls.Go(func() {
			for range 50 {
				_, err := e.Run(t.Context(), getCommand, []string{redistest.Name(t)}, nil)
				assert.NoError(t, err)
			}
		})
	}
	calls.Wait()
	require.Zero(t, c.batches.Load())
}

// TestALostBatchIsALostReplyForEachOfItsCalls: what may run twice is sent again, and of the rest nobody knows.
func TestALostBatchIsALostReplyForEachOfItsCalls(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	e := at(t, proxy.Addr(), together, func(c *core.Config) { c.WatchdogTimeout = 30 * time.Second })
	name := redistest.Name(t)
	var again, unknown atomic.Int64
	for range 5 {
		lost := proxy.DropReply(redistest.All(redistest.Command("SET")), 1)
		var calls sync.WaitGroup
		for i := range 200 { // those that are sent again share a connection
			calls.Go(func() {
				key := fmt.Sprint(name, i)
				answer, err := e.Run(t.Context(), setCommand, []string{key}, []string{"v", "PX", "60000"})
				assert.NoError(t, err)
				if answer.Replayed {
					again.Add(1)
				}
			})
			calls.Go(func() {
				list := fmt.Sprint(name, "list", i)
				before, _ := e.Redis.Do(context.Background(), e.Redis.B().Llen().Key(list).Build()).AsInt64()
				_, err := e.Run(t.Context(), pushCommand, []string{list}, []string{"a"})
				after, fails := e.Redis.Do(context.Background(), e.Redis.B().Llen().Key(list).Build()).AsInt64()
				switch {
				case err == nil && fails == nil:
					assert.Equal(t, before+1, after)
				case err != nil:
					assert.ErrorIs(t, err, core.ErrOutcomeUnknown)
					assert.True(t, fails != nil || after == before || after == before+1, "it ran once at most: %d, %d", before, after)
					unknown.Add(1)
				}
				e.Redis.Do(context.Background(), e.Redis.B().Del().Key(list).Build())
			})
		}
		calls.Wait()
		lost.Await(t)
	}
	require.Positive(t, again.Load())
	require.Positive(t, unknown.Load(), "a push goes with the others")
	require.Zero(t, e.batches.under.Load())
	require.Less(t, len(proxy.Conns()), 100)
	t.Logf("%d sent again, %d unknown", again.Load(), unknown.Load())
}

// TestACallerLeavesABatch whose server is silent: it has its patience and no more, and the call may have run.
func TestACallerLeavesABatch(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := at(t, server.Addr(), together, func(c *core.Config) { c.WatchdogTimeout = time.Minute })
	_, err := e.Run(t.Context(), getCommand, []string{"key"}, nil)
	require.NoError(t, err)
	server.Pause()
	defer server.Resume()
	redistest.Within(t, time.Second, func() time.Duration { // a send has three
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		l := &Leaving{Context: ctx, Over: ctx.Done(), Patience: Grace}
		began := time.Now()
		_, err := e.Run(l, setCommand, []string{"key"}, []string{"v"})
		require.ErrorIs(t, err, core.ErrOutcomeUnknown)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.True(t, l.Left())
		return time.Since(began)
	})
}

// TestASentWriteIsLeftWithItsContext, and may have run, once: its caller learns that nobody knows.
func TestASentWriteIsLeftWithItsContext(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := at(t, server.Addr(), together, func(c *core.Config) { c.WatchdogTimeout = time.Minute })
	pushes := 0
	push := func(ctx context.Context) (int64, error) {
		pushes++
		return Sent(e.Sender, ctx, func(ctx context.Context) (int64, error) {
			return Number(e.Run(ctx, pushCommand, []string{"list"}, []string{fmt.Sprint(pushes)}))
		})
	}
	n, err := push(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	server.Pause()
	redistest.Within(t, time.Second, func() time.Duration { // a send has three
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := push(ctx)
		require.ErrorIs(t, err, core.ErrOutcomeUnknown)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		return time.Since(began)
	})
	server.Resume()
	redistest.Eventually(t, func() bool { return e.batches.under.Load() == 0 }, redistest.Soon, time.Millisecond)
	_, err = push(t.Context())
	require.NoError(t, err)
	all, err := e.Redis.Do(t.Context(), e.Redis.B().Lrange().Key("list").Start(0).Stop(-1).Build()).AsStrSlice()
	require.NoError(t, err)
	ran := map[string]int{}
	for _, v := range all {
		ran[v]++
		require.Equal(t, 1, ran[v], "push %s", v)
	}
	require.Equal(t, 1, ran["1"])
	require.Equal(t, 1, ran[fmt.Sprint(pushes)])
}

// TestASentWriteIsLeftByClose: its caller is told, and nobody knows whether it ran.
func TestASentWriteIsLeftByClose(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := at(t, server.Addr(), together, func(c *core.Config) { c.WatchdogTimeout = time.Minute })
	_, err := e.Run(t.Context(), getCommand, []string{"key"}, nil)
	require.NoError(t, err)
	server.Pause()
	defer server.Resume()
	left := make(chan error)
	go func() {
		_, err := Sent(e.Sender, t.Context(), func(ctx context.Context) (int64, error) {
			return Number(e.Run(ctx, pushCommand, []string{"list"}, []string{"a"}))
		})
		left <- err
	}()
	redistest.Eventually(t, func() bool { return e.batches.under.Load() == 1 }, redistest.Soon, time.Millisecond)
	ending, cancel := context.WithCancel(context.Background())
	cancel()
	_ = e.Close(ending)
	err = redistest.Done(t, left)
	require.ErrorIs(t, err, core.ErrClosed)
	require.ErrorIs(t, err, core.ErrOutcomeUnknown)
}

// TestNothingIsSentAfterClose by writes that begin while it runs: each was done, or is refused, or nobody knows.
func TestNothingIsSentAfterClose(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for range 20 {
		c := &pipelines{Client: server.Client(t)}
		e := on(t, c, together)
		var calls sync.WaitGroup
		var begun atomic.Int64
		for range 64 {
			calls.Go(func() {
				for {
					begun.Add(1)
					_, err := Sent(e.Sender, t.Context(), func(ctx context.Context) (int64, error) {
						return Number(e.Run(ctx, setCommand, []string{"key"}, []string{"v", "PX", "1000"}))
					})
					if errors.Is(err, core.ErrClosed) {
						return
					}
				}
			})
		}
		redistest.Eventually(t, func() bool { return begun.Load() > 200 }, redistest.Soon, time.Millisecond)
		_ = e.Close(t.Context())
		sent := c.members.Load() + c.alone.Load()
		calls.Wait()
		time.Sleep(5 * time.Millisecond)
		require.Equal(t, sent, c.members.Load()+c.alone.Load())
	}
}

// TestCloseWaitsForBatches, and nobody waits for ever.
func TestCloseWaitsForBatches(t *testing.T) {
	t.Parallel()
	for range 20 {
		e := at(t, redistest.Shared(t).Addr(), together)
		name := redistest.Name(t)
		var calls sync.WaitGroup
		for i := range 100 {
			calls.Go(func() {
				for range 20 {
					_, _ = e.Run(t.Context(), setCommand, []string{fmt.Sprint(name, i)}, []string{"v", "PX", "60000"})
				}
			})
		}
		require.NoError(t, e.Close(t.Context()))
		calls.Wait()
	}
}

// TestATaskSendsAndLeavesThoughCloseHasStoppedOthers: it is one that Close waits for.
func TestATaskSendsAndLeavesThoughCloseHasStoppedOthers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := at(t, server.Addr(), together, func(c *core.Config) { c.WatchdogTimeout = time.Minute })
	_, err := e.Run(t.Context(), getCommand, []string{"key"}, nil)
	require.NoError(t, err)
	require.True(t, e.Tasks.Begin())
	closed := make(chan error, 1)
	go func() { closed <- e.Close(context.Background()) }() // ends with the task
	<-e.Closing()
	require.Eventually(t, func() bool { return !e.Tasks.Begin() || func() bool { e.Tasks.Done(); return false }() }, redistest.Soon, time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answer, err := e.Run(&Leaving{Context: ctx, Over: ctx.Done(), Patience: Lateness}, VoidScript, []string{"lane"}, []string{"1", "60000"})
	require.NoError(t, err, "the server does not know the script: it goes alone")
	n, _ := answer.AsInt64()
	require.EqualValues(t, 1, n)
	server.Pause()
	redistest.Within(t, time.Second, func() time.Duration { // a send has three
		ending, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer end()
		began := time.Now()
		_, err = e.Run(&Leaving{Context: ending, Over: ending.Done(), Patience: Grace}, setCommand, []string{"key"}, []string{"v"})
		require.ErrorIs(t, err, core.ErrOutcomeUnknown)
		return time.Since(began)
	})
	server.Resume()
	e.Tasks.Done()
	require.NoError(t, <-closed)
}

// TestWhatTakesGoesAlone: a slow member of a batch may cost the others their answers, and a pop without one its element.
func TestWhatTakesGoesAlone(t *testing.T) {
	t.Parallel()
	c := &pipelines{Client: redistest.Shared(t).Client(t)}
	e := on(t, c, together, func(c *core.Config) { c.WatchdogTimeout = 30 * time.Second })
	list := redistest.Name(t)
	each := func(op *scripts.Command, args ...string) {
		var calls sync.WaitGroup
		for range 100 {
			calls.Go(func() {
				_, err := e.Run(t.Context(), op, []string{list}, args)
				assert.NoError(t, err)
			})
		}
		calls.Wait()
	}
	each(pushCommand, "a")
	sent := c.batches.Load()
	require.Positive(t, sent, "a push takes nothing")
	each(popCommand)
	require.Equal(t, sent, c.batches.Load())
}
