package bench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/queue"
)

// manyNameRows: one process waits for queues in more slots of a cluster than it has connections.
var manyNameRows = []row{
	{"queue, a taker for each of 2,000 names on a cluster, from Offer to it, p99", "ms", goal{atMost: 100}, manyNames(2000)},
	{"queue, a taker for each of 10,000 names on a cluster, from Offer to it, p99", "ms", goal{atMost: 500}, manyNames(10_000)},
}

// One figure is of manyOffered elements. One is offered each offerEvery.
const (
	manyOffered = 200
	offerEvery  = 3 * time.Millisecond
)

func manyNames(most int) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, _ *redistest.Server) sides {
		names := most
		if !*full {
			names = most / 20
		}
		cluster := redistest.StartCluster(t)
		offers, takes := cluster.Client(t), onCluster(t, cluster.Client(t))
		late := make(chan time.Duration, manyOffered)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range names {
			q := queue.New[string](takes, "name"+strconv.Itoa(i))
			all.Go(func() { takeAll(ctx, q, late) })
		}
		t.Cleanup(func() { cancel(); all.Wait() })
		time.Sleep(time.Duration(names) * time.Millisecond) // all of them wait
		var note string
		if *full {
			note = idleCPU(t, cluster)
		}
		next := 0
		ours := func(time.Duration) (float64, error) {
			for range manyOffered {
				next = (next + 7919) % names
				now := strconv.FormatInt(time.Now().UnixNano(), 10)
				if err := offers.Do(ctx, offers.B().Rpush().Key("name"+strconv.Itoa(next)).Element(now).Build()).Error(); err != nil {
					return 0, err
				}
				time.Sleep(offerEvery)
			}
			var took []time.Duration
			for range manyOffered {
				took = append(took, <-late)
			}
			slices.Sort(took)
			return float64(took[manyOffered*99/100].Microseconds()) / 1e3, nil
		}
		return sides{ours: ours, note: func() string { return note }}
	}
}

// takeAll takes elements, which say when they were offered.
func takeAll(ctx context.Context, q *queue.Queue[string], late chan<- time.Duration) {
	for {
		offered, err := q.Take(ctx)
		if err != nil {
			return
		}
		ns, _ := strconv.ParseInt(offered, 10, 64)
		late <- time.Since(time.Unix(0, ns))
	}
}

func onCluster(t *testing.T, raw rueidis.Client) *rueidisson.Client {
	t.Helper()
	c, err := rueidisson.Wrap(raw, rueidisson.WithCodec(codec.Text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// idleCPU returns what this process and the servers use while nothing comes.
func idleCPU(t *testing.T, cluster *redistest.Cluster) string {
	t.Helper()
	const lasts = 10 * time.Second
	var raws []rueidis.Client
	for _, node := range cluster.Nodes() {
		raws = append(raws, node.Client(t))
	}
	used := func() (own, servers time.Duration) {
		for _, raw := range raws {
			one, err := usedCPU(raw)
			if err != nil {
				t.Fatal(err)
			}
			servers += one
		}
		own, err := ownCPU()
		if err != nil {
			t.Fatal(err)
		}
		return own, servers
	}
	own, servers := used()
	time.Sleep(lasts)
	ownAfter, serversAfter := used()
	return fmt.Sprintf("while nothing comes %.1f %% of a core, all servers together %.1f %%",
		100*(ownAfter-own).Seconds()/lasts.Seconds(), 100*(serversAfter-servers).Seconds()/lasts.Seconds())
}
