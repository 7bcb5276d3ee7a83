package chaos

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/nearcache"
)

// silence is for how long copies count while the server is not heard. A read may be stale by so much, and by what clocks differ.
const silence = 500 * time.Millisecond

// nears are the near caches of this process.
var nears sync.Map

func near(c *rueidisson.Client, name string) *nearcache.Cache[string, int64] {
	of, _ := nears.LoadOrStore(name, sync.OnceValue(func() *nearcache.Cache[string, int64] {
		return nearcache.New(rmap.New[string, int64](c, name), nearcache.WithMaxSilence(silence))
	}))
	return of.(func() *nearcache.Cache[string, int64])()
}

// readOrWrite reads an entry by a near cache. The first worker of each process writes an entry that it alone writes, with values that
// grow.
func readOrWrite(ctx context.Context, w *worker, _ context.Context, name string) {
	n := near(w.c, name)
	w.holds++
	if w.number == 0 {
		v := w.holds
		_ = w.operation(name, fmt.Sprint("put ", w.r.proc), v, func() (int64, error) { return v, n.Put(ctx, fmt.Sprint(w.r.proc), v) })
		return
	}
	k := 1 + w.rnd.IntN(processes)
	_ = w.operation(name, fmt.Sprint("get ", k), 0, func() (int64, error) {
		v, _, err := n.Get(ctx, fmt.Sprint(k))
		return v, err
	})
}

// notStale checks that no read is older than the last write that was acknowledged before it may be stale, and that no goroutine reads
// backwards. A write of unknown outcome may be done later, so what it wrote may be read at any time after.
func notStale(_ context.Context, _ *rueidisson.Client, name string, events []event) (found []string, chances int) {
	for k := 1; k <= processes; k++ {
		puts, gets := operations(events, name, fmt.Sprint("put ", k)), operations(events, name, fmt.Sprint("get ", k))
		doubtful := map[int64]bool{}
		for _, p := range puts {
			doubtful[p.Value] = p.Outcome != done
		}
		last := map[[2]int]event{}
		slices.SortFunc(gets, func(a, b event) int { return int(a.Hold - b.Hold) })
		for _, g := range gets {
			if g.Outcome != done || doubtful[g.Value] {
				continue
			}
			reader := [2]int{g.Proc, g.Worker}
			if was := last[reader]; g.Value < was.Value {
				found = append(found, fmt.Sprintf("a goroutine of process %d reads %d after %d", g.Proc, g.Value, was.Value))
			}
			last[reader] = g
			older := false
			for _, p := range puts {
				if p.Outcome != done || p.Value <= g.Value {
					continue
				}
				older = older || p.At < g.Began
				if p.At < g.Began-int64(silence+silence/10) {
					found = append(found, fmt.Sprintf("process %d reads %d, %v after %d was written", g.Proc, g.Value, time.Duration(g.Began-p.At), p.Value))
					break
				}
			}
			if older {
				chances++
			}
		}
	}
	return found, chances
}
