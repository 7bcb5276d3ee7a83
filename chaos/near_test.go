package chaos

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/nearcache"
)

// silence is for how long copies count while the server is not heard. A read may be stale by so much, and by what clocks differ.
const silence = 500 * time.Millisecond

// near is the near cache of this process, which the server tells of changes.
func near(c *rueidisson.Client, name string) *nearcache.Cache[string, int64] {
	return shared("near", name, func() *nearcache.Cache[string, int64] {
		return nearcache.New(rmap.New[string, int64](c, name), nearcache.WithMaxSilence(silence))
	})
}

// announced is the near cache of this process, which the writers tell of changes.
func announced(c *rueidisson.Client, name string) *nearcache.Cache[string, int64] {
	return shared("announced", name, func() *nearcache.Cache[string, int64] {
		return nearcache.New(rmap.New[string, int64](c, name, rmap.WithAnnounce()), nearcache.WithAnnounced(), nearcache.WithMaxSilence(silence))
	})
}

// readOrWrite reads an entry by a near cache. The first worker of each process writes an entry that it alone writes, with values that
// grow.
func readOrWrite(of func(*rueidisson.Client, string) *nearcache.Cache[string, int64]) func(context.Context, *worker, context.Context, string) {
	return func(ctx context.Context, w *worker, _ context.Context, name string) {
		readOrWriteBy(ctx, w, of(w.c, name), name)
	}
}

func readOrWriteBy(ctx context.Context, w *worker, n *nearcache.Cache[string, int64], name string) {
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
// backwards.
func notStale(_ context.Context, _ *rueidisson.Client, name string, events []event) (found []string, chances int) {
	for k := 1; k <= processes; k++ {
		stale, backwards, n := staleReads(operations(events, name, fmt.Sprint("put ", k)), operations(events, name, fmt.Sprint("get ", k)), silence+silence/10)
		found, chances = append(append(found, stale...), backwards...), chances+n
	}
	return found, chances
}

// staleReads judges the reads of an entry whose values grow: none is older than a write that was acknowledged so long before the read
// began, and no goroutine reads backwards. A write of unknown outcome may be done later, so what it wrote may be read at any time
// after. A chance is a read that began after a newer value was written than it has.
func staleReads(puts, gets []event, most time.Duration) (stale, backwards []string, chances int) {
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
			backwards = append(backwards, fmt.Sprintf("a goroutine of process %d reads %d after %d", g.Proc, g.Value, was.Value))
		}
		last[reader] = g
		older := false
		for _, p := range puts {
			if p.Outcome != done || p.Value <= g.Value {
				continue
			}
			older = older || p.At < g.Began
			if p.At < g.Began-int64(most) {
				stale = append(stale, fmt.Sprintf("process %d reads %d, %v after %d was written", g.Proc, g.Value, time.Duration(g.Began-p.At), p.Value))
				break
			}
		}
		if older {
			chances++
		}
	}
	return stale, backwards, chances
}

func TestReadsThatAreStaleAreFound(t *testing.T) {
	t.Parallel()
	const most = 10
	put := func(v, at int64, outcome string) event {
		return event{Value: v, Began: at - 1, At: at, Outcome: outcome}
	}
	get := func(hold, v, began int64) event {
		return event{Hold: hold, Value: v, Began: began, At: began + 1, Outcome: done}
	}
	for name, c := range map[string]struct {
		puts, gets                []event
		stale, backwards, chances int
	}{
		"the last one":           {[]event{put(1, 5, done), put(2, 10, done)}, []event{get(1, 2, 100)}, 0, 0, 0},
		"stale for a while":      {[]event{put(1, 5, done), put(2, 10, done)}, []event{get(1, 1, 19)}, 0, 0, 1},
		"stale for too long":     {[]event{put(1, 5, done), put(2, 10, done)}, []event{get(1, 1, 21)}, 1, 0, 1},
		"perhaps written":        {[]event{put(1, 5, done), put(2, 10, unknown)}, []event{get(1, 1, 100)}, 0, 0, 0},
		"written late":           {[]event{put(1, 5, unknown), put(2, 10, done)}, []event{get(1, 1, 100)}, 0, 0, 0},
		"backwards":              {[]event{put(1, 5, done), put(2, 10, done)}, []event{get(1, 2, 11), get(2, 1, 12)}, 0, 1, 1},
		"backwards in the order": {[]event{put(1, 5, done), put(2, 10, done)}, []event{get(2, 2, 13), get(1, 1, 12)}, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stale, backwards, chances := staleReads(c.puts, c.gets, most)
			require.Len(t, stale, c.stale, stale)
			require.Len(t, backwards, c.backwards, backwards)
			require.Equal(t, c.chances, chances)
		})
	}
}
