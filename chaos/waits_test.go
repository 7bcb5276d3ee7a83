package chaos

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// wait is a call to acquire.
type wait struct {
	proc, worker int
	name         string
	from, to     int64
	refused      bool // it returned an error
	busy         bool // the error says that the server has refused
}

func (w wait) String() string {
	return fmt.Sprintf("process %d, worker %d: from %.3f ms on for %.3f ms", w.proc, w.worker, float64(w.from)/1e6, float64(w.to-w.from)/1e6)
}

// waitsOf returns the calls to acquire, also those that never returned: their process was killed.
func waitsOf(events []event) (all []wait) {
	type call struct {
		proc, worker int
		hold         int64
	}
	at := map[call]int{}
	for _, e := range events {
		c := call{e.Proc, e.Worker, e.Hold}
		i, open := at[c]
		switch {
		case e.Kind == asks:
			at[c] = len(all)
			all = append(all, wait{proc: e.Proc, worker: e.Worker, name: e.Name, from: e.At, to: math.MaxInt64})
		case open && (e.Kind == trusts || e.Kind == lost || e.Kind == refused):
			all[i].to, all[i].refused, all[i].busy = e.At, e.Kind == refused, e.Busy
			delete(at, c)
		}
	}
	return all
}

// fault is a time in which something was broken.
type fault struct {
	what     string
	proc     int // everyone, or a process
	from, to int64
	silent   int64 // from when on it was broken, at the latest
}

// faultsOf returns the faults of a round, without those that only delay. Killed processes stay dead.
func faultsOf(events []event) (all []fault) {
	for _, e := range events {
		same := func(f fault) bool { return f.what == e.Outcome && f.proc == e.Of && f.to == math.MaxInt64 }
		switch {
		case e.Of == nobody:
		case e.Kind == breaks:
			all = append(all, fault{e.Outcome, e.Of, e.At, math.MaxInt64, e.At})
		case e.Kind == broken:
			if i := slices.IndexFunc(all, same); i >= 0 {
				all[i].silent = e.At
			}
		case e.Kind == heals:
			if i := slices.IndexFunc(all, same); i >= 0 {
				all[i].to = e.At
			}
		}
	}
	return all
}

func (f fault) concerns(proc int) bool { return f.proc == everyone || f.proc == proc }

// stretch is a time in which the server knew no owner of a name.
type stretch struct{ from, to int64 }

// unseen is the longest time between two looks at the server in which an owner is not missed.
const unseen = 25 * watchEvery

// freeOf returns the times in which a name was free. They are never too long: a hold between two looks ends one, too.
func freeOf(samples []sample, spans []span) (all []stretch) {
	open := false
	for i, x := range samples {
		if open = open && len(x.owners) == 0 && x.after-samples[i-1].before < int64(unseen); open {
			all[len(all)-1].to = x.after
		} else if len(x.owners) == 0 {
			open = true
			all = append(all, stretch{x.before, x.before})
		}
	}
	for _, s := range spans {
		all = cutOut(all, s.from, s.to)
	}
	return all
}

// cutOut takes a time out of others.
func cutOut(all []stretch, from, to int64) (rest []stretch) {
	for _, s := range all {
		if s.to < from || s.from > to {
			rest = append(rest, s)
			continue
		}
		if s.from < from {
			rest = append(rest, stretch{s.from, from})
		}
		if s.to > to {
			rest = append(rest, stretch{to, s.to})
		}
	}
	return rest
}

// longestPause returns the longest time in which a name was free while a call waited for it in a process that no fault concerned.
func longestPause(free []stretch, waits []wait, faults []fault) (longest time.Duration, of wait) {
	for _, w := range waits {
		var idle []stretch
		for _, s := range free {
			if from, to := max(s.from, w.from), min(s.to, w.to); from < to {
				idle = append(idle, stretch{from, to})
			}
		}
		for _, f := range faults {
			if f.concerns(w.proc) {
				idle = cutOut(idle, f.from, f.to)
			}
		}
		for _, s := range idle {
			if d := time.Duration(s.to - s.from); d > longest {
				longest, of = d, w
			}
		}
	}
	return longest, of
}

// mostPause bounds the time in which a name is free and an undisturbed call waits for it. Waiters of a process that died stand before
// others in a fair queue for 1.5 s.
var mostPause = redistest.Scaled(longest)

// onward is the time without faults in which each worker completes something.
var onward = redistest.Scaled(10 * time.Second)

// starved returns the workers that began something in the time after the last fault, if that was long enough, and completed nothing.
// Seen reports how many were looked at.
func starved(events []event) (found []string, seen int) {
	from, to := int64(0), int64(0)
	dead := map[int]bool{}
	for _, f := range faultsOf(events) {
		if f.to == math.MaxInt64 {
			dead[f.proc] = true
			continue
		}
		from = max(from, f.to)
	}
	for _, e := range events {
		to = max(to, e.At)
		if from == 0 {
			from = e.At
		}
	}
	if time.Duration(to-from) < onward {
		return nil, 0
	}
	type worker struct{ proc, number int }
	tries, completed := map[worker]int{}, map[worker]bool{}
	for _, e := range events {
		w := worker{e.Proc, e.Worker}
		switch {
		case e.At < from || e.Proc == 0 || dead[e.Proc]:
		case e.Kind == asks || e.Kind == begins:
			tries[w]++
		case e.Kind == trusts, e.Kind == ends && (e.Outcome == done || e.Outcome == not && !strings.Contains(e.Error, "context ")):
			completed[w] = true
		}
	}
	for w, n := range tries {
		if !completed[w] {
			found = append(found, fmt.Sprintf("worker %d of process %d completed nothing in %v after the last fault, and tried %d times", w.number, w.proc, time.Duration(to-from), n))
		}
	}
	slices.Sort(found)
	return found, len(tries)
}

var (
	// toldWithin is the time after which waiters know that the server is silent: a watchdog timeout and a few requests without an answer.
	toldWithin = watchdog + redistest.Scaled(4*time.Second)
	// apart is the longest time between the first and the last of them.
	apart = redistest.Scaled(time.Second)
)

// toldTogether checks what the waiters of a process are told of a server that is silent. All that waited get an error, at about the same
// time, and the error is the failure. Seen reports how many waited.
func toldTogether(waits []wait, faults []fault) (found []string, seen int) {
	for _, f := range faults {
		if f.what != silent {
			continue
		}
		of := map[int][]wait{}
		for _, w := range waits {
			if !f.concerns(w.proc) {
				continue
			}
			if w.busy && w.from > f.silent && w.to < f.to {
				found = append(found, fmt.Sprintf("a silent server cannot have refused:\n\t%v", w))
			}
			if w.from < f.from && w.to > f.silent && (w.refused || w.to > f.to) {
				of[w.proc] = append(of[w.proc], w)
			}
		}
		for proc, all := range of {
			seen += len(all)
			slices.SortFunc(all, func(a, b wait) int { return cmp.Compare(a.to, b.to) })
			first, last := all[0], all[len(all)-1]
			if last.to-f.from > int64(toldWithin) {
				found = append(found, fmt.Sprintf("a waiter is not told within %v that the server is silent:\n\t%v", toldWithin, last))
			} else if last.to-first.to > int64(apart) {
				found = append(found, fmt.Sprintf("%d waiters of process %d are told at different times that the server is silent:\n\t%v\n\t%v", len(all), proc, first, last))
			}
			for _, w := range all {
				if w.busy {
					found = append(found, fmt.Sprintf("the error of a waiter is no failure of the server, which was silent:\n\t%v", w))
				}
			}
		}
	}
	return found, seen
}
