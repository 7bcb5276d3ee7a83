package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// sample has the owners of a name that the server knew at some time between two readings of the clock.
type sample struct {
	after, before int64
	owners        []string // fields of the lock's hash
}

// watcher reads the owners of names on a connection of its own, so that it sees what holders cannot.
type watcher struct {
	raw   rueidis.Client
	names []string
	seen  map[string][]sample
}

// watchEvery is how often a name is read. The shortest lease is thirty times as long.
const watchEvery = 2 * time.Millisecond

func (w *watcher) run(ctx context.Context) {
	w.seen = map[string][]sample{}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		var cmds rueidis.Commands
		for _, name := range w.names {
			cmds = append(cmds, w.raw.B().Hkeys().Key(name).Build())
		}
		after := now()
		answers := w.raw.DoMulti(ctx, cmds...)
		before := now()
		for i, got := range answers {
			owners, err := got.AsStrSlice()
			if err != nil {
				continue
			}
			w.seen[w.names[i]] = append(w.seen[w.names[i]], sample{after, before, owners})
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// untold returns the holds that were trusted while the server had given the name to nobody, or to another client. Clients has the
// client's id of each process.
func untold(spans []span, samples []sample, clients map[int]string) (found []string, seen int) {
	for _, s := range spans {
		i, _ := slices.BinarySearchFunc(samples, s.from, func(x sample, at int64) int { return int(min(max(x.after-at, -1), 1)) })
		for ; i < len(samples) && samples[i].before < s.to; i++ {
			x := samples[i]
			if x.after <= s.from {
				continue
			}
			seen++
			if !slices.ContainsFunc(x.owners, func(o string) bool { return strings.HasPrefix(o, clients[s.proc]) }) {
				found = append(found, fmt.Sprintf("a hold is trusted that the server has given away:\n\t%v\n\t%.3f ms after its beginning the server had %q",
					s, float64(x.after-s.from)/1e6, x.owners))
				break
			}
		}
	}
	return found, seen
}
