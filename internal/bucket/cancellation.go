package bucket

import (
	"cmp"
	"slices"
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

// latestFirst is the order in which reservations go back: who reserved early gets
// back only what nobody behind needs, so those behind have to be gone by then.
func latestFirst(all []Cancellation) {
	slices.SortStableFunc(all, func(x, y Cancellation) int { return earlierFirst(y, x) })
}

func earlierFirst(x, y Cancellation) int {
	return cmp.Or(cmp.Compare(x.begins(), y.begins()), cmp.Compare(x.Waits()%x.Left.Rule.Gain, y.Waits()%y.Left.Rule.Gain))
}
