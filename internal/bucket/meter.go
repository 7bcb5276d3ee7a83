package bucket

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Meters are the buckets that a process keeps by itself: those of PerClient
// rates, and of a fallback. They count as decide.lua does, by the process'
// monotonic clock. Full means absent.
type Meters struct {
	mu    sync.Mutex
	by    map[string]meter
	sweep int // how many there may be before the full ones are looked for
}

// meter is a bucket.
type meter struct {
	rule          *Rule
	missing, asOf int64 // ticks that are missing as of t, µs
	block         int64 // nothing before, µs; 0 if not blocked
}

// Answer decides about one request, and says how many of it were granted. What is refused leaves no trace, as on the
// server: a bucket is converted to another rule when that takes something.
func (m *Meters) Answer(state string, a Want, now time.Duration) (got State, taken int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.load(state, a.Rule, Micros(now))
	before := b
	taken = b.serve(&a, now)
	got = b.level(Micros(now))
	if b.missing != before.missing || b.asOf != before.asOf {
		m.store(state, b, Micros(now))
	}
	return got, taken
}

// Micros returns a time in µs.
func Micros(d time.Duration) int64 { return int64(d / time.Microsecond) }

// load returns the bucket as of now, by the rule r.
func (m *Meters) load(state string, r *Rule, now int64) meter {
	b := m.converted(state, r, now)
	b.block = Up(b.block, b.rule.Unit)
	return b
}

func (m *Meters) converted(state string, r *Rule, now int64) meter {
	b, there := m.by[state]
	if there {
		b.fill(now)
	}
	if !there || b.idle() {
		return meter{rule: r, asOf: now - now%r.Unit}
	}
	switch stored := r.Generation > 0 && b.rule.Generation > 0; {
	case b.rule.Generation == r.Generation, stored && r.Generation < b.rule.Generation:
		return b // somebody knows a newer rule already
	case stored:
		b.adopt(r, now)
		m.store(state, b, now) // by which it fills from now on
	default:
		b.adopt(r, now)
	}
	b.fill(now)
	return b
}

// adopt converts the bucket to another rule: whole tokens that are missing stay
// missing.
func (b *meter) adopt(r *Rule, now int64) {
	most := r.Burst
	if r.Generation < 0 || b.rule.Generation < 0 || r.Reset == 0 {
		most += r.Debt // rules that take turns forgive no debt
	}
	tokens := (b.missing + b.rule.PerToken - 1) / b.rule.PerToken
	b.missing, b.asOf = min(tokens, most)*r.PerToken, Up(b.asOf, r.Unit)
	if r.Generation > 0 && b.rule.Generation > 0 && b.rule.Generation < r.Reset {
		b.missing, b.asOf = 0, now-now%r.Unit
	}
	b.rule = r
}

func Up(t, unit int64) int64 { return (t + unit - 1) / unit * unit }

// fill gains what came since t.
func (b *meter) fill(now int64) {
	if b.block <= now {
		b.block = 0
	}
	b.fillTo(now - now%b.rule.Unit)
}

func (b *meter) fillTo(to int64) {
	if b.asOf >= to {
		return
	}
	units := min((to-b.asOf)/b.rule.Unit, Exact/b.rule.Gain+1) // more than any bucket lacks, and no overflow
	b.missing, b.asOf = max(0, b.missing-units*b.rule.Gain), to
}

// serve does what is wanted, and says how many requests were granted.
func (b *meter) serve(a *Want, now time.Duration) int64 {
	switch {
	case a.UpTo > 0:
		if b.block > 0 || b.missing > b.rule.Full {
			return 0
		}
		cost := b.rule.Ticks(a.N)
		n := min(a.UpTo, (b.rule.Full-b.missing)/cost)
		b.missing += n * cost
		return n
	case b.one(a, now):
		return 1
	}
	return 0
}

// one reports whether what is one request was granted.
func (b *meter) one(a *Want, now time.Duration) bool {
	cost := b.rule.Ticks(a.N)
	switch a.Kind {
	case Refund:
		b.missing = max(0, b.missing-cost)
		return true
	case Charge:
		return b.take(cost, b.rule.Ticks(min(a.Debt, b.rule.Debt)))
	case Peek:
		return b.block == 0 && b.missing+cost <= b.rule.Full
	}
	return b.wait(a, cost, now)
}

func (b *meter) take(cost, ahead int64) bool {
	if b.missing+cost > b.rule.Full+ahead {
		return false
	}
	b.missing += cost
	return true
}

// wait takes what is there now, or will be in time. Under a block that means
// from its end on.
func (b *meter) wait(a *Want, cost int64, now time.Duration) bool {
	till, then := Micros(now)+a.Wait(now), *b
	if a.N > b.rule.Burst || b.block > till {
		return false
	}
	if b.block > 0 {
		then.fillTo(b.block)
	}
	ahead := b.rule.Ticks(min(a.Debt, b.rule.Debt)) // what comes within the wait, as far as it may be owed
	if units := max(0, till-then.asOf) / b.rule.Unit; units <= Exact/b.rule.Gain {
		ahead = min(ahead, units*b.rule.Gain)
	}
	if !then.take(cost, ahead) {
		return false
	}
	*b = then
	return true
}

// store keeps a bucket, unless it is as if it had never been used. When there
// are many, it looks for those that have become so.
func (m *Meters) store(state string, b meter, now int64) {
	if b.idle() {
		delete(m.by, state)
		return
	}
	if m.by == nil {
		m.by, m.sweep = make(map[string]meter), MinSweep
	}
	if _, there := m.by[state]; !there && len(m.by) >= m.sweep {
		m.tidy(now)
	}
	m.by[state] = b
}

// maxMeters bounds the memory for keys that are not full.
const maxMeters = 1 << 16

// tidy drops the buckets that are as if they had never been used, and if there
// are too many others an eighth of those, the fullest first: what is dropped is
// full, so it is to be as little as can be.
func (m *Meters) tidy(now int64) {
	for state, b := range m.by {
		if b.fill(now); b.idle() {
			delete(m.by, state)
		}
	}
	if len(m.by) >= maxMeters {
		for _, state := range m.fullest(len(m.by) - maxMeters*7/8) {
			delete(m.by, state)
		}
	}
	m.sweep = min(maxMeters, max(MinSweep, 2*len(m.by)))
}

// fullest are so many buckets that are full and not blocked first.
func (m *Meters) fullest(n int) (states []string) {
	type one struct {
		state string
		lasts int64 // when the bucket will be as if it had never been used, µs
	}
	all := make([]one, 0, len(m.by))
	for state, b := range m.by {
		all = append(all, one{state, max(b.block, Micros(Later(time.Duration(b.asOf)*time.Microsecond, b.rule.After(b.missing))))})
	}
	slices.SortFunc(all, func(x, y one) int { return cmp.Compare(x.lasts, y.lasts) })
	for _, x := range all[:n] {
		states = append(states, x.state)
	}
	return states
}

const MinSweep = 1024

func (b *meter) idle() bool { return b.missing == 0 && b.block == 0 }

// SetBlock does what block.lua does.
func (m *Meters) SetBlock(state string, r *Rule, now, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b, there := m.by[state]; there && (r.Generation < 0 || b.rule.Generation < 0) {
		if b.fill(Micros(now)); !b.idle() {
			r = b.rule // which rule it is kept by does not matter to a block
		}
	}
	b := m.load(state, r, Micros(now))
	till := Micros(now + d)
	if b.asOf > till && b.asOf <= b.block {
		till = b.block // what was reserved for its end keeps it
	}
	b.block = till
	m.store(state, b, Micros(now))
}

// Reset makes a bucket full.
func (m *Meters) Reset(state string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.by, state)
}

// Cancel does what cancel.lua does, and returns what came back.
func (m *Meters) Cancel(x Cancellation, now time.Duration) (back int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, there := m.by[x.State]
	if !there || b.rule.Generation != x.Left.Rule.Generation {
		return 0
	}
	b.fill(Micros(now))
	if !x.Unused && b.due(x, Micros(now)-Micros(now)%b.rule.Unit) == 0 {
		return 0
	}
	behind := b.missing - b.rule.Full - b.due(x, b.asOf)
	back = max(0, min(b.missing, x.Ticks-max(0, behind)))
	b.missing -= back
	m.store(x.State, b, Micros(now))
	return back
}

// due returns how many ticks lie between a time and the moment at which a
// reservation may be used.
func (b *meter) due(x Cancellation, from int64) int64 {
	switch units := (from - x.Left.AsOf) / b.rule.Unit; {
	case units > Exact/b.rule.Gain:
		return 0
	case units < -Exact/b.rule.Gain: // it was reserved for the end of a long block
		return Exact
	default:
		return max(0, x.Waits()-units*b.rule.Gain)
	}
}

// At returns a bucket as it is kept.
func (m *Meters) At(state string, now time.Duration) (kept State, there bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, there := m.by[state]
	if there {
		b.fill(Micros(now))
	}
	return b.level(Micros(now)), there
}

// level returns how it stands.
func (b *meter) level(now int64) State {
	return State{b.rule, b.missing, b.asOf, b.asOf - now, max(0, b.block-now)}
}
