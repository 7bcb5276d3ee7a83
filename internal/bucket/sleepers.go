package bucket

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// MaxRuns bounds the work of one script call: as many single requests of two
// buckets took less than half a millisecond, the round trip included.
const MaxRuns = 128

// Cancellation is a reservation that is given back.
type Cancellation struct {
	State  string
	Ticks  int64         // that are held still
	Left   State         // as the reservation left it
	Unused bool          // also if its time has come
	Due    time.Duration // when its wait is over, monotonic
}

// Waits returns the ticks that the reservation had to wait for.
func (x Cancellation) Waits() int64 { return max(0, x.Left.Missing-x.Left.Rule.Full) }

// begins returns when it may be used, by the clock that counts it.
func (x Cancellation) begins() int64 {
	return x.Left.AsOf + x.Waits()/x.Left.Rule.Gain*x.Left.Rule.Unit
}

func earlierFirst(x, y Cancellation) int {
	return cmp.Or(cmp.Compare(x.begins(), y.begins()), cmp.Compare(x.Waits()%x.Left.Rule.Gain, y.Waits()%y.Left.Rule.Gain))
}

// Sleepers are waits that were cancelled while others waited behind them, of
// each bucket: those kept their times by what these held. Once those behind have
// gone, too, nobody needs it, and it goes back. When its time has come it is
// refilled, and forgotten here.
type Sleepers struct {
	mu    sync.Mutex
	by    map[string][]Cancellation // the latest last
	count int
	sweep int // how many there may be before those whose time has come are looked for
}

// maxSleepers bounds the memory. What does not fit is forfeited.
const maxSleepers = 1 << 16

// Give gives back what it can of some cancellations of one bucket, and of the
// sleepers: the latest of them beside the new ones, and then some at a time, from
// the latest on, for as long as all of it comes back. Where something came back
// beside new ones that did not, that may be what kept sleepers behind these.
func (s *Sleepers) Give(some []Cancellation, now time.Duration, give func([]Cancellation) ([]int64, error)) error {
	state, generation := some[0].State, some[0].Left.Rule.Generation
	asleep := s.take(state, generation, now)
	for first := true; ; first = false {
		// The latest of both go together, no fewer than are new, and the latest first: a reservation that was made early gets
		// back only what nobody behind it needs, so those behind have to be gone by then.
		more := min(len(asleep), max(0, MaxRuns-len(some)))
		some, asleep = append(slices.Clone(some), asleep[len(asleep)-more:]...), asleep[:len(asleep)-more]
		slices.SortStableFunc(some, func(x, y Cancellation) int { return earlierFirst(y, x) })
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
		came := slices.ContainsFunc(back, func(ticks int64) bool { return ticks > 0 })
		if all || len(left) > 0 && !(first && came) {
			s.put(state, asleep, now)
			return nil
		}
		some = nil
	}
}

// remaining returns what they hold still, the latest last.
func remaining(some []Cancellation, back []int64) (left []Cancellation) {
	for i := range back {
		x := some[len(back)-1-i]
		given := back[len(back)-1-i]
		x.Ticks, x.Left.Missing = x.Ticks-given, x.Left.Missing-given // what is behind keeps its time by an earlier one
		if x.Ticks > 0 {
			left = append(left, x)
		}
	}
	return left
}

// take returns those of a bucket whose time is still to come.
func (s *Sleepers) take(state string, generation int64, now time.Duration) []Cancellation {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.by[state]
	delete(s.by, state)
	s.count -= len(all)
	all = slices.DeleteFunc(all, func(x Cancellation) bool { return x.Due <= now || x.Left.Rule.Generation != generation })
	return inOrder(all) // several have put some
}

// inOrder puts the latest last.
func inOrder(all []Cancellation) []Cancellation {
	if !slices.IsSortedFunc(all, earlierFirst) {
		slices.SortStableFunc(all, earlierFirst)
	}
	return all
}

// put keeps them for when those behind them leave. Of those that were cancelled
// by a call of their own none is asked again.
func (s *Sleepers) put(state string, all []Cancellation, now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all = slices.DeleteFunc(all, func(x Cancellation) bool { return !x.Unused })
	if s.by == nil {
		s.by, s.sweep = make(map[string][]Cancellation), MinSweep
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
func (s *Sleepers) tidy(now time.Duration) {
	for state, all := range s.by {
		if !slices.ContainsFunc(all, func(x Cancellation) bool { return x.Due > now }) {
			delete(s.by, state)
			s.count -= len(all)
		}
	}
	s.sweep = max(MinSweep, 2*s.count)
}
