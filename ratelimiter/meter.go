package ratelimiter

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// meters are the buckets that a process keeps by itself: those of PerClient
// rates, and of a fallback. They count as decide.lua does, by the process'
// monotonic clock. Full means absent.
type meters struct {
	mu    sync.Mutex
	by    map[string]meter
	sweep int // how many there may be before the full ones are looked for
}

// meter is a bucket.
type meter struct {
	r     *rule
	q, t  int64 // ticks that are missing as of t, µs
	block int64 // nothing before, µs; 0 if not blocked
}

// answer decides about one ask. What is refused leaves no trace, as on the
// server: a bucket is converted to another rule when that takes something.
func (m *meters) answer(state string, a ask, now time.Duration) answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.load(state, a.r, micros(now))
	before := b
	got := answer{taken: b.serve(&a, now)}
	got.ok, got.r = got.taken > 0, b.r
	got.q, got.t, got.late, got.block = b.q, b.t, b.t-micros(now), max(0, b.block-micros(now))
	if b.q != before.q || b.t != before.t {
		m.store(state, b, micros(now))
	}
	return got
}

func micros(d time.Duration) int64 { return int64(d / time.Microsecond) }

// load is the bucket as of now, by the rule r.
func (m *meters) load(state string, r *rule, now int64) meter {
	b := m.converted(state, r, now)
	b.block = up(b.block, b.r.unit)
	return b
}

func (m *meters) converted(state string, r *rule, now int64) meter {
	b, there := m.by[state]
	if there {
		b.fill(now)
	}
	if !there || b.idle() {
		return meter{r: r, t: now - now%r.unit}
	}
	switch stored := r.generation > 0 && b.r.generation > 0; {
	case b.r.generation == r.generation, stored && r.generation < b.r.generation:
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
func (b *meter) adopt(r *rule, now int64) {
	most := r.Burst
	if r.generation < 0 || b.r.generation < 0 {
		most += r.debt // rules that take turns forgive no debt
	}
	tokens := (b.q + b.r.perToken - 1) / b.r.perToken
	b.q, b.t = min(tokens, most)*r.perToken, up(b.t, r.unit)
	if r.generation > 0 && b.r.generation > 0 && b.r.generation < r.reset {
		b.q, b.t = 0, now-now%r.unit
	}
	b.r = r
}

func up(t, unit int64) int64 { return (t + unit - 1) / unit * unit }

// fill gains what came since t.
func (b *meter) fill(now int64) {
	if b.block <= now {
		b.block = 0
	}
	b.fillTo(now - now%b.r.unit)
}

func (b *meter) fillTo(to int64) {
	if b.t < to {
		b.q, b.t = b.later(to), to
	}
}

// later is the ticks that will be missing at a time ahead of t.
func (b *meter) later(to int64) int64 {
	units := (to - b.t) / b.r.unit
	if units > exact/b.r.gain {
		return 0
	}
	return max(0, b.q-units*b.r.gain)
}

// serve does what one ask wants, and says how many of its requests were granted.
func (b *meter) serve(a *ask, now time.Duration) int64 {
	switch {
	case a.upTo > 0:
		return b.takeUpTo(a.upTo, b.r.ticks(a.n))
	case b.one(a, now):
		return 1
	}
	return 0
}

// one reports whether an ask that is one request was granted.
func (b *meter) one(a *ask, now time.Duration) bool {
	cost := b.r.ticks(a.n)
	switch a.kind {
	case refund:
		b.q = max(0, b.q-cost)
		return true
	case charge:
		return b.take(cost, b.r.ticks(min(a.debt, b.r.debt)))
	case peek:
		return b.block == 0 && b.q+cost <= b.r.full
	}
	return b.wait(a, cost, now)
}

func (b *meter) take(cost, ahead int64) bool {
	if b.q+cost > b.r.full+ahead {
		return false
	}
	b.q += cost
	return true
}

// takeUpTo grants as many requests as it has tokens for.
func (b *meter) takeUpTo(n, cost int64) int64 {
	if b.block > 0 || b.q > b.r.full {
		return 0
	}
	n = min(n, (b.r.full-b.q)/cost)
	b.q += n * cost
	return n
}

// wait takes what is there now, or will be in time. Under a block that means
// from its end on.
func (b *meter) wait(a *ask, cost int64, now time.Duration) bool {
	till, then := micros(now)+a.wait(now), *b
	if a.n > b.r.Burst || b.block > till {
		return false
	}
	if b.block > 0 {
		then.fillTo(b.block)
	}
	if !then.take(cost, then.inTime(till-then.t, a.debt)) {
		return false
	}
	*b = then
	return true
}

// inTime is the ticks that come within a wait, as far as they may be owed.
func (b *meter) inTime(wait, debt int64) int64 {
	most := b.r.ticks(min(debt, b.r.debt))
	if units := max(0, wait) / b.r.unit; units <= exact/b.r.gain {
		return min(units*b.r.gain, most)
	}
	return most
}

// store keeps a bucket, unless it is as if it had never been used. When there
// are many, it looks for those that have become so.
func (m *meters) store(state string, b meter, now int64) {
	if b.idle() {
		delete(m.by, state)
		return
	}
	if m.by == nil {
		m.by, m.sweep = make(map[string]meter), minSweep
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
func (m *meters) tidy(now int64) {
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
	m.sweep = min(maxMeters, max(minSweep, 2*len(m.by)))
}

// fullest are so many buckets that are full and not blocked first.
func (m *meters) fullest(n int) (states []string) {
	type one struct {
		state string
		lasts int64
	}
	all := make([]one, 0, len(m.by))
	for state, b := range m.by {
		all = append(all, one{state, b.lasts()})
	}
	slices.SortFunc(all, func(x, y one) int { return cmp.Compare(x.lasts, y.lasts) })
	for _, x := range all[:n] {
		states = append(states, x.state)
	}
	return states
}

// lasts is when the bucket will be as if it had never been used, µs.
func (b meter) lasts() int64 {
	return max(b.block, micros(after(time.Duration(b.t)*time.Microsecond, b.r.after(b.q))))
}

const minSweep = 1024

func (b *meter) idle() bool { return b.q == 0 && b.block == 0 }

// setBlock is what block.lua does.
func (m *meters) setBlock(state string, r *rule, now, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b, there := m.by[state]; there && (r.generation < 0 || b.r.generation < 0) {
		if b.fill(micros(now)); !b.idle() {
			r = b.r // which rule it is kept by does not matter to a block
		}
	}
	b := m.load(state, r, micros(now))
	till := micros(now + d)
	if b.t > till && b.t <= b.block {
		till = b.block // what was reserved for its end keeps it
	}
	b.block = till
	m.store(state, b, micros(now))
}

// reset makes a bucket full.
func (m *meters) reset(state string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.by, state)
}

// cancel is what cancel.lua does.
func (m *meters) cancel(x cancellation, now time.Duration) (back int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, there := m.by[x.state]
	if !there || b.r.generation != x.a.r.generation {
		return 0
	}
	b.fill(micros(now))
	if !x.unused && b.due(x, micros(now)-micros(now)%b.r.unit) == 0 {
		return 0
	}
	behind := b.q - b.r.full - b.due(x, b.t)
	back = max(0, min(b.q, x.ticks-max(0, behind)))
	b.q -= back
	m.store(x.state, b, micros(now))
	return back
}

// due is how many ticks lie between a time and the moment at which a
// reservation may be used.
func (b *meter) due(x cancellation, from int64) int64 {
	units := (from - x.a.t) / b.r.unit
	if units > exact/b.r.gain {
		return 0
	}
	return max(0, x.waits()-units*b.r.gain)
}
