package ratelimiter

import (
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"
	"time"
)

// exact is the bound of what a Lua number holds to the last digit.
const exact = 1 << 53

// rule is a rate in the whole numbers that a bucket is counted in. A tick is
// the largest amount of which both a token and what is gained in a unit of
// time are multiples.
type rule struct {
	Rate
	unit     int64 // µs
	gain     int64 // ticks per unit
	perToken int64 // ticks
	full     int64 // ticks
	debt     int64 // the most tokens that fit beyond full

	generation int64 // when the rule was set, server time in µs; negative for one that travels with the call
	reset      int64 // states of an older generation are full
	paused     bool
	stored     string // as it stands in Redis
	texts      ruleTexts
}

// ruleTexts are the numbers as scripts get them.
type ruleTexts struct {
	generation, reset, gain, perToken, full, unit string

	one string // of take.lua: one request for one token
}

// ruleUnits are the units of time, finest first, in µs. A coarser one does not
// drift: it is a coarser clock, not a rounding of each call.
var ruleUnits = []int64{1, 1000, 1_000_000}

// resolve finds the finest unit in which all that is counted stays below 2^53,
// with as much debt as the burst. The unit follows from the rate alone, as
// states outlive the process that wrote them.
func resolve(r Rate) (*rule, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.settled() { // there is nothing to count
		return &rule{Rate: r}, nil
	}
	largest := int64(0)
	for _, unit := range ruleUnits {
		out, most, ok := r.inUnit(unit)
		if ok && r.Burst <= most {
			return out, nil
		}
		if ok {
			largest = max(largest, most)
		}
	}
	if largest < 1 {
		return nil, fmt.Errorf("%w: rate %v cannot be counted exactly", ErrOption, r)
	}
	return nil, fmt.Errorf("%w: rate %v: the largest burst that can be counted exactly is %d", ErrOption, r, largest)
}

// inUnit counts the rate in a unit of µs. most is the largest burst that fits.
func (r Rate) inUnit(unit int64) (out *rule, most int64, ok bool) {
	n, per, u := r.N, int64(r.Per), unit*1000
	u, per = reduce(u, per)
	n, per = reduce(n, per)
	if n > exact/u {
		return nil, 0, false
	}
	out = &rule{Rate: r, unit: unit, gain: n * u, perToken: per}
	tokens := (exact - 1 - out.gain) / per // burst + debt + 1
	if out.gain >= exact || tokens < 3 {
		return nil, 0, false
	}
	if r.Burst <= (tokens-1)/2 {
		out.full, out.debt = r.Burst*per, tokens-1-r.Burst
	}
	return out, (tokens - 1) / 2, true
}

// reduce divides both by what they have in common.
func reduce(x, y int64) (int64, int64) {
	a, b := x, y
	for b != 0 {
		a, b = b, a%b
	}
	return x / a, y / a
}

// decimal is a number as scripts get it.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// identify completes a rule once its generation is known.
func (r *rule) identify(generation, reset int64) *rule {
	r.generation, r.reset = generation, reset
	r.texts = ruleTexts{
		decimal(generation), decimal(reset), decimal(r.gain), decimal(r.perToken), decimal(r.full), decimal(r.unit),
		pack(generation, r.gain, r.perToken, r.full, r.unit, r.perToken, 1),
	}
	return r
}

// travelling is a rule that comes with the call. Its generation is told by the
// rate alone, so that equal rates do not convert each other's states.
func travelling(rate Rate) (*rule, error) {
	r, err := resolve(rate)
	if err != nil {
		return nil, err
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %d", rate.N, rate.Per, rate.Burst)
	return r.identify(-1-int64(h.Sum64()%(exact-1)), 0), nil
}

const ruleFormat = "tb1"

// parameters is the part of a stored rule that comes from the rate.
func (r *rule) parameters() string {
	return fmt.Sprintf("%d %d %d %d", r.N, int64(r.Per), r.Burst, int(r.Type))
}

// parseRule reads what is stored.
func parseRule(text string) (*rule, error) {
	fields := strings.Fields(text)
	if len(fields) != 9 || fields[0] != ruleFormat {
		return nil, ErrOtherAlgorithm
	}
	var numbers [7]int64
	for i := range numbers {
		n, err := strconv.ParseInt(fields[i+1], 10, 64)
		if err != nil {
			return nil, ErrOtherAlgorithm
		}
		numbers[i] = n
	}
	rate := Rate{N: numbers[2], Per: time.Duration(numbers[3]), Burst: numbers[4], Type: RateType(numbers[5])}
	r, err := resolve(rate)
	if err != nil {
		return nil, fmt.Errorf("the stored rule %q: %w", text, err)
	}
	r.paused, r.stored = numbers[6] != 0, text
	return r.identify(numbers[0], numbers[1]), nil
}

// ticks is n tokens, or what counts as infinitely many.
func (r *rule) ticks(n int64) int64 {
	if r.settled() {
		return 0
	}
	if n > exact/r.perToken {
		return exact
	}
	return n * r.perToken
}

// needs is how long it takes until n tokens have come to an empty bucket.
func (r *rule) needs(n int64) time.Duration {
	if r.settled() {
		return 0
	}
	return r.after(r.ticks(n))
}

// after is how long it takes to gain that many ticks.
func (r *rule) after(ticks int64) time.Duration {
	if ticks <= 0 {
		return 0
	}
	units := (ticks-1)/r.gain + 1
	if units > math.MaxInt64/(r.unit*1000) {
		return math.MaxInt64
	}
	return time.Duration(units * r.unit * 1000)
}
