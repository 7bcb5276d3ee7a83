package ratelimiter

import (
	"slices"
	"sync"
	"time"
)

// sleepers are waits that were cancelled while others waited behind them, of
// each bucket: those kept their times by what these held. Once those behind have
// gone, too, nobody needs it, and it goes back. When its time has come it is
// refilled, and forgotten here.
type sleepers struct {
	mu    sync.Mutex
	by    map[string][]cancellation // the latest last
	count int
	sweep int // how many there may be before those whose time has come are looked for
}

// maxSleepers bounds the memory. What does not fit is forfeited.
const maxSleepers = 1 << 16

// give gives back what it can of some cancellations of one bucket, and of the
// sleepers: the latest of them beside the new ones, and then some at a time, from
// the latest on, for as long as all of it comes back. Where something came back
// beside new ones that did not, that may be what kept sleepers behind these.
func (s *sleepers) give(some []cancellation, now time.Duration, give func([]cancellation) ([]int64, error)) error {
	state, generation := some[0].state, some[0].a.r.generation
	asleep := s.take(state, generation, now)
	for first := true; ; first = false {
		some, asleep = mixed(some, asleep)
		back, err := give(some)
		if err != nil {
			s.put(state, asleep, now)
			return err
		}
		if len(back) == 0 { // the bucket is full, or of another rule
			return nil
		}
		left, all := remaining(some, back), len(asleep) == 0
		asleep = inOrder(append(asleep, left...))
		if all || len(left) > 0 && !(first && came(back)) {
			s.put(state, asleep, now)
			return nil
		}
		some = nil
	}
}

// came reports whether anything came back.
func came(back []int64) bool {
	return slices.ContainsFunc(back, func(ticks int64) bool { return ticks > 0 })
}

// mixed takes the latest of both, no fewer than are new.
func mixed(some, asleep []cancellation) (next, rest []cancellation) {
	more := min(len(asleep), max(0, maxRuns-len(some)))
	next = append(slices.Clone(some), asleep[len(asleep)-more:]...)
	latestFirst(next)
	return next, asleep[:len(asleep)-more]
}

// remaining is what they hold still, the latest last.
func remaining(some []cancellation, back []int64) (left []cancellation) {
	for i := range back {
		x := some[len(back)-1-i]
		given := back[len(back)-1-i]
		x.ticks, x.a.q = x.ticks-given, x.a.q-given // what is behind keeps its time by an earlier one
		if x.ticks > 0 {
			left = append(left, x)
		}
	}
	return left
}

// take is those of a bucket whose time is still to come.
func (s *sleepers) take(state string, generation int64, now time.Duration) []cancellation {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.by[state]
	delete(s.by, state)
	s.count -= len(all)
	all = slices.DeleteFunc(all, func(x cancellation) bool { return x.due <= now || x.a.r.generation != generation })
	return inOrder(all) // several have put some
}

// inOrder puts the latest last.
func inOrder(all []cancellation) []cancellation {
	if !slices.IsSortedFunc(all, earlierFirst) {
		slices.SortStableFunc(all, earlierFirst)
	}
	return all
}

// put keeps them for when those behind them leave. Of those that were cancelled
// by a call of their own none is asked again.
func (s *sleepers) put(state string, all []cancellation, now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all = slices.DeleteFunc(all, func(x cancellation) bool { return !x.unused })
	if s.by == nil {
		s.by, s.sweep = make(map[string][]cancellation), minSweep
	}
	if s.count+len(all) > s.sweep {
		s.tidy(now)
	}
	if len(all) == 0 || s.count+len(all) > maxSleepers {
		return
	}
	s.count += len(all)
	s.by[state] = append(s.by[state], all...)
}

// tidy forgets buckets of which all times have come: nobody may cancel there
// again.
func (s *sleepers) tidy(now time.Duration) {
	for state, all := range s.by {
		if !slices.ContainsFunc(all, func(x cancellation) bool { return x.due > now }) {
			delete(s.by, state)
			s.count -= len(all)
		}
	}
	s.sweep = max(minSweep, 2*s.count)
}
