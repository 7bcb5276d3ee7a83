package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// span is the time in which a worker trusted a hold: from the first to the last moment at which its Err was nil.
type span struct {
	proc, worker int
	hold         int64
	shared       bool
	from, to     int64
	token        int64
	ended        string // lost, released, or "": the process was killed, or the round ended
	id           string // of a permit
	lostAt       int64  // when the holder learned that the hold was lost
}

func (s span) String() string {
	return fmt.Sprintf("process %d, worker %d, hold %d, token %d, shared %v: from %.3f ms on for %.3f ms, %s",
		s.proc, s.worker, s.hold, s.token, s.shared, float64(s.from)/1e6, float64(s.to-s.from)/1e6, cmp.Or(s.ended, "not ended"))
}

// spansOf returns the spans of each name, by their beginning.
func spansOf(events []event) map[string][]span {
	type key struct {
		name         string
		proc, worker int
		hold         int64
	}
	open := map[key]*span{}
	for _, e := range events {
		k := key{e.Name, e.Proc, e.Worker, e.Hold}
		s := open[k]
		switch e.Kind {
		case trusts:
			if s == nil {
				s = &span{proc: e.Proc, worker: e.Worker, hold: e.Hold, shared: e.Shared, from: e.At, token: e.Token, id: e.ID}
				open[k] = s
			}
			s.to = max(s.to, e.At)
		case lost:
			if s != nil {
				s.ended, s.lostAt = lost, e.At
			}
		case released:
			if s != nil && e.Outcome == "" && s.ended == "" {
				s.ended = released
			}
		}
	}
	all := map[string][]span{}
	for k, s := range open {
		all[k.name] = append(all[k.name], *s)
	}
	for _, some := range all {
		slices.SortFunc(some, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	}
	return all
}

// overlaps returns the moments at which more than limit exclusive holds of a name were trusted, or an exclusive and a shared one.
func overlaps(spans []span, limit int) (found []string) {
	var now []span
	for _, s := range spans {
		now = slices.DeleteFunc(now, func(o span) bool { return o.to < s.from })
		with := slices.DeleteFunc(slices.Clone(now), func(o span) bool { return o.shared && s.shared })
		if len(with) >= limit {
			found = append(found, fmt.Sprintf("two or more trust what %d may have at a time:\n\t%v\n\tbeside %v", limit, s, with))
		}
		now = append(now, s)
	}
	return found
}

// bothSides returns the spans in which holds are trusted more than a lease after there were two masters, and before there was one
// again.
func bothSides(spans []span, events []event) (late []span) {
	var from int64
	for _, e := range events {
		switch {
		case e.Kind == splits:
			from = e.At + int64(longest)
		case e.Kind == joins && from > 0:
			for _, s := range spans {
				if s.from, s.to = max(s.from, from), min(s.to, e.At); s.from < s.to {
					late = append(late, s)
				}
			}
		}
	}
	return late
}

// falling returns the holds whose fencing token is not above that of a hold which was trusted before.
func falling(spans []span) (found []string) {
	var highest span
	for _, s := range spans {
		if s.token <= highest.token {
			found = append(found, fmt.Sprintf("a token does not rise:\n\t%v\n\tafter %v", s, highest))
		}
		if s.token > highest.token {
			highest = s
		}
	}
	return found
}

// passings returns how often a name passed to another worker from one that had not released it: chances for two holders.
func passings(spans []span) (n int) {
	for i := 1; i < len(spans); i++ {
		if spans[i-1].ended != released && !(spans[i].shared && spans[i-1].shared) {
			n++
		}
	}
	return n
}

// lateOnes returns how many requests were delivered late while a hold of their name was trusted: chances for a release, or a renewal,
// to concern somebody else's hold.
func lateOnes(events []event, all map[string][]span) (n int) {
	for _, e := range events {
		if e.Kind != delivers {
			continue
		}
		for name, spans := range all {
			if (name == e.Name || strings.HasPrefix(name, e.Name+" ")) && slices.ContainsFunc(spans, func(s span) bool { return s.from < e.At && e.At < s.to }) {
				n++
				break
			}
		}
	}
	return n
}

// isAbout reports whether a script has a key of that name. Keys contain the name of their object.
func isAbout(script []string, name string) bool {
	if !redistest.AnyScript()(script) || len(script) < 3 {
		return false
	}
	n, err := strconv.Atoi(script[2])
	return err == nil && slices.ContainsFunc(script[3:min(3+n, len(script))], func(key string) bool { return strings.Contains(key, name) })
}

// slowest returns the longest time of a call to acquire that succeeded or was refused.
func slowest(events []event) (longest time.Duration) {
	type call struct {
		proc, worker int
		hold         int64
	}
	began := map[call]int64{}
	for _, e := range events {
		switch c := (call{e.Proc, e.Worker, e.Hold}); e.Kind {
		case asks:
			began[c] = e.At
		case trusts, refused:
			if at, asked := began[c]; asked {
				longest = max(longest, time.Duration(e.At-at))
				delete(began, c)
			}
		}
	}
	return longest
}
