package ratelimiter

import (
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
)

// ask is what one caller wants of a bucket, or of several at once: then what it
// wants of the first stands here.
type ask struct {
	bucket.Want
	core  *core
	state string
	extra int64  // single tokens to take along, as far as they are there
	all   []part // nil for one
}

// part is what is wanted of one bucket.
type part struct {
	core  *core
	state string
	r     *bucket.Rule
	n     int64
	debt  int64
}

// members is how many buckets are asked.
func (a *ask) members() int { return max(1, len(a.all)) }

// of is what is wanted of one of them.
func (a *ask) of(member int) part {
	if a.all == nil {
		return part{a.core, a.state, a.Rule, a.N, a.Debt}
	}
	return a.all[member]
}

// alone is an ask of that part.
func (p part) alone(k bucket.Kind) ask {
	return ask{core: p.core, state: p.state, Want: bucket.Want{Rule: p.r, N: p.n, Debt: p.debt, Kind: k}}
}

// alike reports whether two asks are answered as two of one kind.
func (a *ask) alike(b *ask) bool {
	return a.N == b.N && a.Kind == b.Kind && a.Until == b.Until && a.Most == b.Most && slices.EqualFunc(a.all, b.all, sameNumber)
}

func sameNumber(a, b part) bool { return a.n == b.n }

const forever = bucket.Forever

// answer is a bucket as one ask left it.
type answer struct {
	bucket.State
	ok     bool
	paused bool           // nobody was asked
	taken  int64          // how many of the ask's requests were granted
	extra  int64          // single tokens that came along
	all    []bucket.State // each of several, the first of which stands above, too

	together int // how many calls went out with it, 0 if nobody was asked
}

// of is one of the buckets.
func (a *answer) of(member int) *bucket.State {
	if a.all == nil {
		return &a.State
	}
	return &a.all[member]
}

// decision is the answer to a request of n tokens.
func (a answer) decision(n int64) Decision {
	if a.paused {
		return pausedDecision(a.Rule)
	}
	return decisionOf(&a.State, a.ok, n)
}

// delay is how long a reservation has to wait: the longest of its waits.
func (a answer) delay() (longest time.Duration) {
	for i := range max(1, len(a.all)) {
		longest = max(longest, a.of(i).Delay())
	}
	return longest
}
