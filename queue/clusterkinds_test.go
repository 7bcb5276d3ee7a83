package queue

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// aSlotOfKindsMoves under takers and offers of a priority queue, and consumers of a
// stream. Nothing fails, and nothing is lost.
func aSlotOfKindsMoves(t *testing.T, cluster *redistest.Cluster) {
	e := engineOn(t, cluster.Client(t))
	tag := "{" + redistest.Name(t) + "}"
	q := NewPriority[string](e, tag+"p", WithCodec(codec.Text))
	s := NewStream[string, string](e, tag+"s", WithCodec(codec.Text))
	made(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	got := map[string]int{}
	note := func(v string) { mu.Lock(); defer mu.Unlock(); got[v]++ }
	var all sync.WaitGroup
	for i := range 4 {
		take := []func(context.Context) (Scored[string], error){q.Take, q.TakeLast}[i%2]
		all.Go(func() {
			for {
				v, err := take(ctx)
				if ctx.Err() != nil {
					return
				}
				assert.NoError(t, err)
				note("p" + v.Value)
			}
		})
		all.Go(func() {
			g := s.Group("g")
			for e, err := range g.Consume(ctx, fmt.Sprint(i)) {
				if ctx.Err() != nil {
					return
				}
				assert.NoError(t, err)
				note("s" + e.Fields["v"])
				_, err := g.Ack(t.Context(), e.ID)
				assert.NoError(t, err)
			}
		})
	}
	n := 0
	more := func() {
		t.Helper()
		for range 20 {
			n++
			ranked(t, q, decimal(int64(n)), float64(n))
			add(t, s, decimal(int64(n)))
		}
		redistest.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(got) == 2*n }, soon, time.Millisecond)
	}
	more()
	migration := cluster.StartMigration(t, q.Name())
	more()
	migration.Move(t, q.Name())
	migration.Move(t, s.Name())
	more()
	migration.Finish(t)
	more()
	cancel()
	all.Wait()
	for v, times := range got {
		require.Equal(t, 1, times, v)
	}
}

// kindsTakeTurns has more slots be waited for, by each kind, than there may be
// connections.
func kindsTakeTurns(t *testing.T, cluster *redistest.Cluster) {
	e := engineOn(t, cluster.Client(t), func(c *core.Config) { c.BlockedConnections = 2 })
	direct := engineOn(t, cluster.Client(t))
	var all sync.WaitGroup
	var wakes []func()
	for range 5 { // of three each
		waiting, wake := everyKind(t, e, direct)
		for _, w := range waiting {
			all.Go(func() { assert.NoError(t, w(within(t))) })
		}
		wakes = append(wakes, wake...)
	}
	time.Sleep(300 * time.Millisecond) // they take turns by then, as a rule
	for _, node := range cluster.Nodes() {
		require.LessOrEqual(t, blockedConnections(t, node), 2)
	}
	for _, wake := range wakes {
		wake()
	}
	all.Wait()
}
