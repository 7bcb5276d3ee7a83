package exchange

import (
	"math/big"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
)

// modelRule is a rule as the documentation has it, in fractions of tokens.
type modelRule struct {
	Rate
	unit       int64    // of the clock, µs
	perUnit    *big.Rat // tokens gained
	debt       int64    // that stays if the state is of a rule that travels
	generation int64    // negative for one that travels with the call
	reset      int64    // negative for one that adopts states of newer rules, too
}

// newModelRule chooses the clock: the finest of µs, ms and s in which burst,
// as much debt, one token and what is gained in a unit fit below 2^53.
func newModelRule(rate Rate, generation, reset int64) *modelRule {
	for _, unit := range []int64{1, 1000, 1_000_000} {
		gain, token := ticksOf(rate, unit)
		sum := big.NewInt(rate.Burst)
		sum.Add(sum, sum).Add(sum, big.NewInt(1)).Mul(sum, token).Add(sum, gain)
		if sum.Cmp(big.NewInt(1<<53)) < 0 {
			return &modelRule{rate, unit, new(big.Rat).SetFrac(gain, token), 0, generation, reset}
		}
	}
	return nil
}

// ticksOf is what a unit of time gains and what a token is, in the largest
// amount that both are multiples of.
func ticksOf(rate Rate, unit int64) (gain, token *big.Int) {
	gain = new(big.Int).Mul(big.NewInt(rate.N), big.NewInt(unit*1000))
	token = big.NewInt(int64(rate.Per))
	common := new(big.Int).GCD(nil, nil, gain, token)
	return gain.Quo(gain, common), token.Quo(token, common)
}

func (r *modelRule) floor(t int64) int64 { return t - t%r.unit }
func (r *modelRule) ceil(t int64) int64  { return r.floor(t + r.unit - 1) }

// gained is what comes in a time that is a multiple of the unit.
func (r *modelRule) gained(µs int64) *big.Rat {
	return new(big.Rat).Mul(big.NewRat(µs/r.unit, 1), r.perUnit)
}

// instant is the first time, in µs, at which that many tokens have come since
// the time t.
func (r *modelRule) instant(t int64, tokens *big.Rat) *big.Int {
	if tokens.Sign() <= 0 {
		return big.NewInt(t)
	}
	units := ceilRat(new(big.Rat).Quo(tokens, r.perUnit))
	return units.Add(units.Mul(units, big.NewInt(r.unit)), big.NewInt(t))
}

func ceilRat(x *big.Rat) *big.Int {
	q, m := new(big.Int).DivMod(x.Num(), x.Denom(), new(big.Int))
	if m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

func floorRat(x *big.Rat) *big.Int { return new(big.Int).Div(x.Num(), x.Denom()) }

func whole(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func plus(x, y *big.Rat) *big.Rat  { return new(big.Rat).Add(x, y) }
func minus(x, y *big.Rat) *big.Rat { return new(big.Rat).Sub(x, y) }

func atLeast(x, floor *big.Rat) *big.Rat {
	if x.Cmp(floor) < 0 {
		return floor
	}
	return x
}

func atMost(x, ceiling *big.Rat) *big.Rat {
	if x.Cmp(ceiling) > 0 {
		return ceiling
	}
	return x
}

// model is a bucket in exact fractions. Its zero value is full.
type model struct {
	there   bool // in Redis: full means absent
	gen     int64
	missing *big.Rat // tokens, as of t
	t       int64
	block   int64
	due     int64      // when its key goes, ms; 0 for never
	own     bool       // kept by the process itself: a rule begins when it is first used
	by      *modelRule // of an own bucket
}

// view is a bucket by one rule at one time.
type view struct {
	*modelRule
	now     int64 // µs
	missing *big.Rat
	t       int64
	block   int64 // 0 if nothing is blocked
	changed bool
}

// expire forgets the bucket when its key goes.
func (m *model) expire(now int64) {
	if m.there && m.due > 0 && now/1000 > m.due {
		*m = model{own: m.own}
	}
}

// look is the bucket as of now. It is stale if a newer rule was there.
func (m *model) look(r *modelRule, now int64) (v *view, stale bool) {
	clock := r.floor(now)
	v = &view{modelRule: r, now: now, missing: new(big.Rat), t: clock}
	if m.there {
		if m.own { // by the rule that it was kept by so far
			before := view{modelRule: m.by, missing: m.missing, t: m.t}
			before.refill(m.by.floor(now))
			m.missing, m.t = before.missing, before.t
			if m.missing.Sign() == 0 && m.block <= now {
				*m = model{own: true}
				return v, false
			}
		}
		v.missing, v.t = m.missing, m.t
		if r.generation != m.gen {
			if m.adopt(v, clock) {
				return nil, true
			}
			if m.own && r.generation > 0 && m.gen > 0 {
				m.by, m.gen, m.missing, m.t = r, r.generation, v.missing, v.t
			}
		}
		if m.block > now {
			v.block = r.ceil(m.block)
		}
	}
	if !m.own && v.rebase(clock) {
		v.changed = true // a refusal keeps it, too
	}
	v.refill(clock)
	return v, false
}

// adopt turns the state of one rule into that of another. It reports whether
// the state's is the newer.
func (m *model) adopt(v *view, clock int64) (stale bool) {
	if v.generation > 0 && m.gen > 0 {
		v.changed = !m.own // it is kept by the new rule from now on
		switch {
		case m.gen > v.generation && v.reset >= 0:
			return true
		case m.gen < v.reset:
			v.missing, v.t = new(big.Rat), clock
			return false
		}
		if !m.own {
			v.t = max(v.t, v.generation)
		}
	}
	v.t = v.ceil(v.t)
	most := whole(v.Burst)
	if v.generation < 0 || m.gen < 0 || v.reset == 0 { // rules that take turns on one key, or one that may have gone: debt stays
		most = whole(v.Burst + v.debt)
	}
	v.missing = atMost(new(big.Rat).SetInt(ceilRat(m.missing)), most)
	return false
}

// rebase brings a state of the future back, after the clock was set back. A
// reservation may have to be waited for up to a second longer than its debt
// takes; until then nothing comes.
func (v *view) rebase(clock int64) bool {
	switch {
	case v.t <= clock+1_000_000 || v.t <= v.block:
		return false
	case v.missing.Cmp(whole(v.Burst)) > 0 || v.block > 0:
		v.t = clock + 1_000_000
	default:
		v.t = clock
	}
	return true
}

// refill gains what comes until a time.
func (v *view) refill(until int64) {
	if v.t < until {
		v.missing = atLeast(minus(v.missing, v.gained(until-v.t)), new(big.Rat))
		v.t = until
	}
}

// credit gives tokens back.
func (v *view) credit(tokens *big.Rat) {
	if tokens.Sign() > 0 && v.missing.Sign() > 0 {
		v.missing = atLeast(minus(v.missing, tokens), new(big.Rat))
		v.changed = true
	}
}

// grant decides about one call.
func (v *view) grant(a Ask, now time.Duration) bool {
	at, ahead := *v, whole(a.Debt)
	if a.Kind != bucket.Charge {
		till := v.now + a.Wait(now)
		if a.N > v.Burst || v.block > till {
			return false
		}
		at.refill(v.block)
		ahead = atMost(v.gained(max(0, till-at.t)), ahead)
	}
	after := plus(at.missing, whole(a.N))
	if after.Cmp(plus(whole(v.Burst), ahead)) > 0 {
		return false
	}
	v.missing, v.t, v.changed = after, at.t, true
	return true
}

// save is what stays of a view.
func (m *model) save(v *view) {
	switch {
	case !v.changed:
	case v.missing.Sign() == 0 && v.block <= v.now:
		*m = model{own: m.own}
	default:
		*m = model{own: m.own, by: v.modelRule, there: true, gen: v.generation, missing: v.missing, t: v.t, block: v.block}
		if m.block <= v.now {
			m.block = 0
		}
	}
}

// full is when the clock will show that nothing is missing and nothing blocked.
func (m *model) full(r *modelRule) *big.Int {
	at := r.instant(m.t, m.missing)
	if block := big.NewInt(m.block); at.Cmp(block) < 0 {
		return block
	}
	return at
}

// setBlock grants nothing until a time. It cannot end before what was reserved
// in an earlier block.
func (m *model) setBlock(r *modelRule, now, till int64) int64 {
	if !m.there {
		*m = model{own: m.own, by: r, there: true, gen: r.generation, missing: new(big.Rat)}
		if m.own {
			m.t = r.floor(now)
		}
	} else if earlier := m.blockAsKept(); m.t > till && m.t <= earlier {
		till = earlier
	}
	m.block = till
	return till
}

// blockAsKept is when the block ends by the clock that t is counted by.
func (m *model) blockAsKept() int64 {
	if m.own {
		return m.by.ceil(m.block)
	}
	return m.block
}

// held is a reservation.
type held struct {
	n       int64
	rule    *modelRule
	missing *big.Rat // after it
	t       int64
	got     Answer // what the code under test said
}

// cancel gives back what a reservation still holds, less what was reserved
// behind it, and returns how many tokens that is.
func (m *model) cancel(h held, now int64) *big.Rat {
	none := new(big.Rat)
	if !m.there || m.gen != h.rule.generation {
		return none
	}
	clock := h.rule.floor(now)
	wait := atLeast(minus(h.missing, whole(h.rule.Burst)), none)
	if minus(wait, h.rule.gained(clock-h.t)).Sign() <= 0 {
		return none
	}
	v := &view{modelRule: h.rule, now: now, missing: m.missing, t: m.t, block: m.block}
	if !m.own {
		v.rebase(clock)
	}
	v.refill(clock)
	left := atLeast(minus(wait, v.gained(v.t-h.t)), none)
	behind := atLeast(minus(minus(v.missing, whole(h.rule.Burst)), left), none)
	back := atMost(atLeast(minus(whole(h.n), behind), none), v.missing)
	if back.Sign() > 0 || m.own {
		v.missing, v.changed = minus(v.missing, back), true
		m.save(v)
	}
	return back
}

// remaining is the whole tokens that are there.
func (v *view) remaining() int64 {
	if v.block > 0 {
		return 0
	}
	return max(0, floorRat(minus(whole(v.Burst), v.missing)).Int64())
}

// from is how long it takes until that many tokens have come. In a block it is
// at least as long as that.
func (v *view) from(tokens *big.Rat) time.Duration {
	if tokens.Sign() <= 0 && v.block == 0 {
		return 0
	}
	at := v.instant(v.t, tokens)
	if tokens.Sign() <= 0 {
		at = big.NewInt(v.block)
	}
	if block := big.NewInt(v.block); at.Cmp(block) < 0 {
		at = block
	}
	at.Sub(at, big.NewInt(v.now)).Mul(at, big.NewInt(1000))
	if !at.IsInt64() {
		return Forever
	}
	return max(0, time.Duration(at.Int64()))
}

// decision is what a caller is told.
func (v *view) decision(ok bool, n int64) Decision {
	d := Decision{Allowed: ok, Limit: v.Burst, Rate: v.Rate, Remaining: v.remaining(), ResetAfter: v.from(v.missing)}
	if !ok {
		d.RetryAfter = max(v.from(minus(plus(v.missing, whole(n)), whole(v.Burst))), time.Microsecond)
	}
	return d
}

// delay is how long a reservation that was made just now waits.
func (v *view) delay() time.Duration { return v.from(minus(v.missing, whole(v.Burst))) }
