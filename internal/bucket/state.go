package bucket

import "time"

// State is how a bucket stands, as it was told.
type State struct {
	Rule    *Rule // that decided
	Missing int64 // ticks that are missing
	AsOf    int64 // as of when, server time in µs
	Late    int64 // how far that lies ahead of the server's clock, µs
	Block   int64 // for how long nothing is granted, µs
}

// Remaining returns how many tokens are there.
func (b *State) Remaining() int64 {
	if b.Block > 0 {
		return 0
	}
	return max(0, (b.Rule.Full-b.Missing)/b.Rule.PerToken)
}

// Full returns how long it takes until it is full, and not blocked.
func (b *State) Full() time.Duration { return b.ahead(b.Missing) }

// Has reports whether n tokens are there.
func (b *State) Has(n int64) bool {
	if b.Rule.Settled() {
		return b.Rule.Unlimited()
	}
	return b.Block == 0 && b.Missing+b.Rule.Ticks(n) <= b.Rule.Full
}

// Enough returns how long it takes until n tokens are there; 0 by a rule that decides
// by itself.
func (b *State) Enough(n int64) time.Duration {
	return b.ahead(b.Missing + b.Rule.Ticks(n) - b.Rule.Full)
}

// ahead returns how long it takes from the server's clock until that many ticks are
// gained, and nothing is blocked.
func (b *State) ahead(ticks int64) time.Duration {
	block := time.Duration(b.Block) * time.Microsecond
	if ticks <= 0 {
		return block
	}
	gain, late := b.Rule.After(ticks), time.Duration(b.Late)*time.Microsecond
	if gain == Forever || gain > Forever-max(0, late) {
		return Forever
	}
	return max(0, gain+late, block)
}

// Delay returns how long a reservation waits that left it like this.
func (b *State) Delay() time.Duration { return b.ahead(b.Missing - b.Rule.Full) }

// Later returns a time by so much later.
func Later(t, d time.Duration) time.Duration { return t + min(d, Forever-t) }
