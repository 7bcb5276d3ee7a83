package send

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// nodePipelines counts what a cluster's client sends to its nodes together, and alone.
type nodePipelines struct {
	pipelines
	mu    sync.Mutex
	nodes map[string]*pipelines
}

func (p *nodePipelines) Nodes() map[string]rueidis.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[string]rueidis.Client)
	for addr, c := range p.Client.Nodes() {
		if p.nodes[addr] == nil {
			p.nodes[addr] = &pipelines{Client: c}
		}
		all[addr] = p.nodes[addr]
	}
	return all
}

// sent returns how many pipelines the nodes were sent, and of how many calls.
func (p *nodePipelines) sent() (batches, members int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, node := range p.nodes {
		batches += node.batches.Load()
		members += node.members.Load()
	}
	return batches, members
}

// TestCallsOfAClusterGoTogetherByNode, each with its own answer: also those whose slot moves meanwhile.
func TestCallsOfAClusterGoTogetherByNode(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	c := &nodePipelines{pipelines: pipelines{Client: cluster.Client(t)}, nodes: map[string]*pipelines{}}
	e := on(t, c, together, func(c *core.Config) { c.WatchdogTimeout = 30 * time.Second }) // 600 goroutines wait for two processors
	round := 0
	calls := func() {
		round++
		var all sync.WaitGroup
		for i := range 600 {
			all.Go(func() {
				key, value, lane := fmt.Sprint("key", i), fmt.Sprint(i, round), fmt.Sprint("lane", round, i)
				_, err := e.Run(t.Context(), setCommand, []string{key}, []string{value})
				assert.NoError(t, err)
				got, err := e.Run(t.Context(), getCommand, []string{key}, nil)
				assert.NoError(t, err)
				text, _ := got.ToString()
				assert.Equal(t, value, text)
				got, err = e.Run(t.Context(), VoidScript, []string{lane}, []string{"1", "60000"})
				assert.NoError(t, err)
				n, _ := got.AsInt64()
				assert.EqualValues(t, 1, n)
			})
		}
		all.Wait()
	}
	calls()
	alone := c.alone.Load()
	calls()
	batches, members := c.sent()
	require.Less(t, batches, members/4, "they go together")
	require.Less(t, c.alone.Load()-alone, int64(100), "few go alone once the nodes know the script")
	for range 3 {
		moving := cluster.StartMigration(t, "key7")
		calls() // some meet ASK
		moving.Finish(t)
		calls() // some meet MOVED
		calls()
	}
	require.Zero(t, e.batches.under.Load())
}

// TestCallsOfAClusterGoTogetherAfterAFailover: the batches of a master that is gone go to the one that is promoted.
func TestCallsOfAClusterGoTogetherAfterAFailover(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	c := &nodePipelines{pipelines: pipelines{Client: cluster.Client(t)}, nodes: map[string]*pipelines{}}
	e := on(t, c, together, func(c *core.Config) { c.WatchdogTimeout = 30 * time.Second })
	var wrong, failed, done atomic.Int64
	stop := make(chan struct{})
	var calls sync.WaitGroup
	for i := range 32 {
		calls.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				key, value := fmt.Sprint("key", i), fmt.Sprint("of ", i, ": ", n)
				if _, err := e.Run(t.Context(), setCommand, []string{key}, []string{value}); err != nil {
					failed.Add(1)
					continue
				}
				got, err := e.Run(t.Context(), getCommand, []string{key}, nil)
				if err == nil && !got.Nil { // a failover may forget a write, and gives no other call's answer
					if text, _ := got.ToString(); !strings.HasPrefix(text, fmt.Sprint("of ", i, ":")) && text != "v" {
						wrong.Add(1)
					}
					done.Add(1)
				}
			}
		})
	}
	old := cluster.Master("key1")
	require.Eventually(t, func() bool { return done.Load() > 1000 }, redistest.Soon, time.Millisecond)
	old.Kill()
	cluster.AwaitMaster(t, "key1", old.Addr())
	require.Eventually(t, func() bool {
		_, err := e.Run(t.Context(), setCommand, []string{"key1"}, []string{"v"})
		return err == nil
	}, redistest.Soon, 10*time.Millisecond)
	before := done.Load()
	batches, members := c.sent()
	require.Eventually(t, func() bool { return done.Load() > before+2000 }, redistest.Soon, time.Millisecond)
	after, carried := c.sent()
	require.Less(t, after-batches, (carried-members)/2, "they go together")
	close(stop)
	calls.Wait()
	require.Zero(t, wrong.Load())
	require.Zero(t, e.batches.under.Load())
	t.Logf("%d calls, %d failed", done.Load(), failed.Load())
}

// brokenNodes is a cluster's client whose nodes answer no pipeline.
type brokenNodes struct {
	rueidis.Client
	why error
}

type brokenNode struct {
	rueidis.Client
	why error
}

func (b brokenNodes) Nodes() map[string]rueidis.Client {
	all := make(map[string]rueidis.Client)
	for addr, c := range b.Client.Nodes() {
		all[addr] = brokenNode{c, b.why}
	}
	return all
}

func (b brokenNode) DoMulti(_ context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	return slices.Repeat([]rueidis.RedisResult{rueidis.NewErrorResult(b.why)}, len(cmds))
}

// TestCallsGoAloneWhereANodeTakesNoBatches: its connections are too old, and nothing was sent, or its client was closed, and
// nobody knows.
func TestCallsGoAloneWhereANodeTakesNoBatches(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	for name, c := range map[string]struct {
		why      error
		replayed bool
	}{
		"expired": {errors.New("connection is expired"), false},
		"closed":  {rueidis.ErrClosing, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := on(t, brokenNodes{cluster.Client(t), c.why}, together, func(c *core.Config) { c.WatchdogTimeout = 30 * time.Second })
			var replayed atomic.Int64
			var calls sync.WaitGroup
			for i := range 200 {
				calls.Go(func() {
					key := fmt.Sprint(name, i)
					answer, err := e.Run(t.Context(), setCommand, []string{key}, []string{"v"})
					assert.NoError(t, err)
					if answer.Replayed {
						replayed.Add(1)
					}
				})
			}
			calls.Wait()
			require.Equal(t, c.replayed, replayed.Load() > 0)
			require.Zero(t, e.batches.under.Load())
		})
	}
}
