package ratelimiter

import (
	"slices"
	"time"
)

// ask is what one caller wants of a bucket, or of several at once: then what it
// wants of the first stands here.
type ask struct {
	core  *core
	state string
	r     *rule
	n     int64 // tokens
	kind  kind
	until time.Duration // for a reservation: when its wait has to be over, monotonic; or forever
	most  time.Duration // the longest wait, or 0
	debt  int64         // the most tokens that may be owed afterwards, for reserve and charge
	upTo  int64         // so many requests at once, of which as many are granted as can be; 0 for one
	extra int64         // single tokens to take along, as far as they are there
	all   []part        // nil for one
}

// part is what is wanted of one bucket.
type part struct {
	core  *core
	state string
	r     *rule
	n     int64
	debt  int64
}

// members is how many buckets are asked.
func (a *ask) members() int { return max(1, len(a.all)) }

// of is what is wanted of one of them.
func (a *ask) of(member int) part {
	if a.all == nil {
		return part{a.core, a.state, a.r, a.n, a.debt}
	}
	return a.all[member]
}

// alone is an ask of that part.
func (p part) alone(k kind) ask {
	return ask{core: p.core, state: p.state, r: p.r, n: p.n, debt: p.debt, kind: k}
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
func (a *ask) alike(b *ask) bool {
	return a.n == b.n && a.kind == b.kind && a.until == b.until && a.most == b.most && slices.EqualFunc(a.all, b.all, sameNumber)
}

func sameNumber(a, b part) bool { return a.n == b.n }

// requests is how many the ask stands for.
func (a *ask) requests() int64 { return max(1, a.upTo) }

// undoable reports whether what is granted goes back if its caller has gone.
func (k kind) undoable() bool { return k == take || k == reserve }

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
	}
	wait := int64(exact - 1)
	if a.until != forever {
		wait = max(0, int64((a.until-now)/time.Microsecond))
	}
	if a.most > 0 {
		wait = min(wait, int64(a.most/time.Microsecond))
	}
	return wait
}

// answer is a bucket as one ask left it.
type answer struct {
	bucket
	ok     bool
	paused bool     // nobody was asked
	taken  int64    // how many of the ask's requests were granted
	extra  int64    // single tokens that came along
	all    []bucket // each of several, the first of which stands above, too

	together int // how many calls went out with it, 0 if nobody was asked
}

// bucket is how one stands.
type bucket struct {
	r     *rule // that decided
	q     int64 // ticks that are missing
	t     int64 // as of when, server time in µs
	late  int64 // how far t lies ahead of the server's clock, µs
	block int64 // for how long nothing is granted, µs
}

// of is one of the buckets.
func (a *answer) of(member int) *bucket {
	if a.all == nil {
		return &a.bucket
	}
	return &a.all[member]
}

// decision is the answer to a request of n tokens.
func (a answer) decision(n int64) Decision {
	if a.paused {
		return pausedDecision(a.r)
	}
	return a.bucket.decision(a.ok, n)
}

func (b *bucket) decision(ok bool, n int64) Decision {
	if b.r.settled() {
		return b.r.decision()
	}
	d := Decision{
		Allowed: ok, Limit: b.r.Burst, Rate: b.r.Rate,
		Remaining:  max(0, (b.r.full-b.q)/b.r.perToken),
		ResetAfter: b.ahead(b.q),
	}
	if b.block > 0 {
		d.Remaining = 0
	}
	if !ok {
		d.RetryAfter = max(b.enough(n), time.Microsecond)
	}
	return d
}

// has reports whether n tokens are there.
func (b *bucket) has(n int64) bool {
	if b.r.settled() {
		return b.r.unlimited()
	}
	return b.block == 0 && b.q+b.r.ticks(n) <= b.r.full
}

// enough is how long it takes until n tokens are there.
func (b *bucket) enough(n int64) time.Duration { return b.ahead(b.q + b.r.ticks(n) - b.r.full) } // 0 of a settled one

// ahead is how long it takes from the server's clock until that many ticks are
// gained, and nothing is blocked.
func (b *bucket) ahead(ticks int64) time.Duration {
	block := time.Duration(b.block) * time.Microsecond
	if ticks <= 0 {
		return block
	}
	gain, late := b.r.after(ticks), time.Duration(b.late)*time.Microsecond
	if gain == forever || gain > forever-max(0, late) {
		return forever
	}
	return max(0, gain+late, block)
}

// delay is how long a reservation has to wait: the longest of its waits.
func (a answer) delay() (longest time.Duration) {
	for i := range max(1, len(a.all)) {
		longest = max(longest, a.of(i).delay())
	}
	return longest
}

func (b *bucket) delay() time.Duration { return b.ahead(b.q - b.r.full) }
