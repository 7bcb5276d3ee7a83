package exchange

import (
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
)

// Ask is what one caller wants of a bucket, or of several at once: then what it
// wants of the first stands here.
type Ask struct {
	bucket.Want
	Core  *Core
	State string
	Extra int64  // single tokens to take along, as far as they are there
	All   []Part // nil for one
}

// Part is what is wanted of one bucket.
type Part struct {
	core  *Core
	state string
	Rule  *bucket.Rule
	N     int64
	debt  int64
}

// Members returns how many buckets are asked.
func (a *Ask) Members() int { return max(1, len(a.All)) }

// Of returns what is wanted of one of them.
func (a *Ask) Of(member int) Part {
	if a.All == nil {
		return Part{a.Core, a.State, a.Rule, a.N, a.Debt}
	}
	return a.All[member]
}

// Alone returns an ask of that part.
func (p Part) Alone(k bucket.Kind) Ask {
	return Ask{Core: p.core, State: p.state, Want: bucket.Want{Rule: p.Rule, N: p.N, Debt: p.debt, Kind: k}}
}

// alike reports whether two asks are answered as two of one kind.
func (a *Ask) alike(b *Ask) bool {
	return a.N == b.N && a.Kind == b.Kind && a.Until == b.Until && a.Most == b.Most &&
		slices.EqualFunc(a.All, b.All, func(x, y Part) bool { return x.N == y.N })
}

const Forever = bucket.Forever

// Answer is a bucket as one ask left it.
type Answer struct {
	bucket.State
	OK    bool
	Taken int64          // how many of the ask's requests were granted
	Extra int64          // single tokens that came along
	all   []bucket.State // each of several, the first of which stands above, too

	Together int // how many calls went out with it, 0 if nobody was asked
}

// Of returns one of the buckets.
func (a *Answer) Of(member int) *bucket.State {
	if a.all == nil {
		return &a.State
	}
	return &a.all[member]
}

// Delay returns how long a reservation has to wait: the longest of its waits.
func (a Answer) Delay() (longest time.Duration) {
	for i := range max(1, len(a.all)) {
		longest = max(longest, a.Of(i).Delay())
	}
	return longest
}

// Paused reports whether a member is.
func (a *Ask) Paused() bool {
	for i := range a.Members() {
		if a.Of(i).Rule.Paused {
			return true
		}
	}
	return false
}

// Settle returns the answer of a rule that decides by itself.
func (a *Ask) Settle() Answer {
	taken := a.Settled()
	return Answer{State: bucket.State{Rule: a.Rule}, OK: taken > 0, Taken: taken}
}
