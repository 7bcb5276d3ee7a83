package ratelimiter

import "time"

// ask is what one caller wants of a bucket.
type ask struct {
	r     *rule
	n     int64 // tokens
	kind  kind
	until time.Duration // for a reservation: when its wait has to be over, monotonic; or forever
	debt  int64         // the most tokens that may be owed afterwards, for reserve and charge
	extra int64         // single tokens to take along, as far as they are there
}

type kind uint8

const (
	take    kind = iota // what is there now
	reserve             // what will be there in time
	charge              // whatever is there, into debt
	refund              // gives tokens back
	peek                // only looks
)

const forever = time.Duration(1<<63 - 1)

// alike reports whether two asks are answered as two of one kind.
func (a *ask) alike(b *ask) bool { return a.n == b.n && a.kind == b.kind && a.until == b.until }

// counts reports whether the ask takes something, and so stands in a run.
func (a *ask) counts() bool { return a.kind <= charge }

// wait is how long the ask may wait for its tokens, in µs, as decide.lua wants
// it.
func (a *ask) wait(now time.Duration) int64 {
	switch {
	case a.kind == charge:
		return -1
	case a.kind == take:
		return 0
	case a.until == forever:
		return exact - 1
	}
	return max(0, int64((a.until-now)/time.Microsecond))
}

// answer is a bucket as one ask left it.
type answer struct {
	ok     bool
	paused bool  // nobody was asked
	r      *rule // that decided
	q      int64 // ticks that are missing
	t      int64 // as of when, server time in µs
	late   int64 // how far t lies ahead of the server's clock, µs
	block  int64 // for how long nothing is granted, µs
	extra  int64 // single tokens that came along

	together int // how many calls went out with it, 0 if nobody was asked
}

// decision is the answer to a request of n tokens.
func (a answer) decision(n int64) Decision {
	if a.paused {
		return pausedDecision(a.r)
	}
	d := Decision{
		Allowed: a.ok, Limit: a.r.Burst, Rate: a.r.Rate,
		Remaining:  max(0, (a.r.full-a.q)/a.r.perToken),
		ResetAfter: a.ahead(a.q),
	}
	if a.block > 0 {
		d.Remaining = 0
	}
	if !a.ok {
		d.RetryAfter = max(a.enough(n), time.Microsecond)
	}
	return d
}

// enough is how long it takes until n tokens are there.
func (a answer) enough(n int64) time.Duration { return a.ahead(a.q + a.r.ticks(n) - a.r.full) }

// ahead is how long it takes from the server's clock until that many ticks are
// gained, and nothing is blocked.
func (a answer) ahead(ticks int64) time.Duration {
	block := time.Duration(a.block) * time.Microsecond
	if ticks <= 0 {
		return block
	}
	gain, late := a.r.after(ticks), time.Duration(a.late)*time.Microsecond
	if gain == forever || gain > forever-max(0, late) {
		return forever
	}
	return max(0, gain+late, block)
}

// delay is how long a reservation has to wait.
func (a answer) delay() time.Duration { return a.ahead(a.q - a.r.full) }
