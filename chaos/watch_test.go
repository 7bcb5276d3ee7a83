package chaos

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/keys"
)

// sample has the owners of a name that the server knew at some time between two readings of the clock.
type sample struct {
	after, before int64
	owners        []string // as a lock's hash has them, or ids of permits
}

// view reads the owners of a name on the server. A hold whose lease was over at that time, in ms of the server's clock, counts no more.
type view struct {
	ask    func(b rueidis.Builder, name string, at int64) rueidis.Completed
	owners func(name string, answer rueidis.RedisResult, at int64) (map[string][]string, error) // by the names of spans
}

// ofHash is that of a lock: a hash with the owners as fields.
var ofHash = view{func(b rueidis.Builder, name string, _ int64) rueidis.Completed {
	return b.Hkeys().Key(name).Build()
}, func(name string, answer rueidis.RedisResult, _ int64) (map[string][]string, error) {
	owners, err := answer.AsStrSlice()
	return map[string][]string{name: owners}, err
}}

// ofPermits is that of permits: a sorted set of their ids, with the ends of their leases.
var ofPermits = view{func(b rueidis.Builder, name string, at int64) rueidis.Completed {
	return b.Zrange().Key("{" + name + "}:timeout").Min("(" + strconv.FormatInt(at, 10)).Max("+inf").Byscore().Build()
}, func(name string, answer rueidis.RedisResult, _ int64) (map[string][]string, error) {
	ids, err := answer.AsStrSlice()
	for i := range ids {
		ids[i] = hex.EncodeToString([]byte(ids[i]))
	}
	return map[string][]string{name: ids}, err
}}

// ofGroup is that of a group of locks: a hash with the owner of each value, and the end of the owner's lease.
var ofGroup = view{func(b rueidis.Builder, name string, _ int64) rueidis.Completed {
	return b.Hgetall().Key(name).Build()
}, func(name string, answer rueidis.RedisResult, at int64) (map[string][]string, error) {
	fields, err := answer.AsStrMap()
	owners := map[string][]string{}
	for _, value := range groupValues {
		field := keys.GroupField(value)
		owner := fields[field]
		end, _ := strconv.ParseInt(fields[field+":"+owner+":expire_time"], 10, 64)
		of := valueName(name, value)
		if owners[of] = nil; owner != "" && end > at {
			owners[of] = []string{owner}
		}
	}
	return owners, err
}}

// watcher reads the owners of names on a connection of its own, so that it sees what holders cannot.
type watcher struct {
	raw   rueidis.Client
	of    *view
	names []string
	ahead time.Duration // of the server's clock
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
		at := time.Now().Add(w.ahead).UnixMilli()
		for _, name := range w.names {
			cmds = append(cmds, w.of.ask(w.raw.B(), name, at))
		}
		after := now()
		answers := w.raw.DoMulti(ctx, cmds...)
		before := now()
		for i, got := range answers {
			all, err := w.of.owners(w.names[i], got, at)
			if err != nil {
				continue
			}
			for name, owners := range all {
				w.seen[name] = append(w.seen[name], sample{after, before, owners})
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// owns reports whether an owner on the server is that of a span. Clients has the client's id of each process.
func (s span) owns(owner string, clients map[int]string) bool {
	return owner == s.id || s.id == "" && strings.HasPrefix(owner, clients[s.proc])
}

// within returns the samples that were taken within the time of a span.
func (s span) within(samples []sample) []sample {
	from, _ := slices.BinarySearchFunc(samples, s.from, func(x sample, at int64) int { return int(min(max(x.after-at, -1), 1)) })
	for from < len(samples) && samples[from].after <= s.from {
		from++
	}
	to := from
	for to < len(samples) && samples[to].before < s.to {
		to++
	}
	return samples[from:to]
}

// untold returns the holds that were trusted while the server had given the name to nobody, or to another client.
func untold(spans []span, samples []sample, clients map[int]string) (found []string, seen int) {
	for _, s := range spans {
		for _, x := range s.within(samples) {
			seen++
			if !slices.ContainsFunc(x.owners, func(o string) bool { return s.owns(o, clients) }) {
				found = append(found, fmt.Sprintf("a hold is trusted that the server has given away:\n\t%v\n\t%.3f ms after its beginning the server had %q",
					s, float64(x.after-s.from)/1e6, x.owners))
				break
			}
		}
	}
	return found, seen
}

// latestWord returns the longest time from the moment at which the server had let a hold go until its holder learned that. A holder that
// stood still meanwhile learns it late, and trusts the hold no longer when it goes on.
func latestWord(spans []span, samples []sample, clients map[int]string) (longest time.Duration) {
	for _, s := range spans {
		if s.lostAt == 0 {
			continue
		}
		for _, x := range (span{from: s.to - 1, to: s.lostAt}).within(samples) {
			if !slices.ContainsFunc(x.owners, func(o string) bool { return s.owns(o, clients) }) {
				longest = max(longest, time.Duration(s.lostAt-x.before))
				break
			}
		}
	}
	return longest
}
