package bucket

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"
	"time"
)

// Exact is the bound of what a Lua number holds to the last digit.
const Exact = 1 << 53

// Rule is a rate in the whole numbers that a bucket is counted in. A tick is
// the largest amount of which both a token and what is gained in a unit of
// time are multiples.
type Rule struct {
	Rate
	Unit     int64 // µs
	Gain     int64 // ticks per unit
	PerToken int64 // ticks
	Full     int64 // ticks
	Debt     int64 // the most tokens that fit beyond full

	Generation int64 // when the rule was set, server time in µs; negative for one that travels with the call
	Reset      int64 // states of an older generation are full
	Paused     bool
	TTL        time.Duration // after which it goes if nobody uses it, 0 for never
	Stored     string        // as it stands in Redis
	Texts      Texts
}

// Texts are the numbers as scripts get them.
type Texts struct {
	Generation, Reset, Gain, PerToken, Full, Unit string

	One string // of take.lua: one request for one token
}

// ruleUnits are the units of time, finest first, in µs. A coarser one does not
// drift: it is a coarser clock, not a rounding of each call.
var ruleUnits = []int64{1, 1000, 1_000_000}

// Resolve finds the finest unit in which all that is counted stays below 2^53,
// with as much debt as the burst. The unit follows from the rate alone, as
// states outlive the process that wrote them.
func Resolve(r Rate) (*Rule, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.Settled() { // there is nothing to count
		return &Rule{Rate: r}, nil
	}
	largest := int64(0)
	for _, unit := range ruleUnits {
		out, most, ok := inUnit(r, unit)
		if ok && r.Burst <= most {
			return out, nil
		}
		if ok {
			largest = max(largest, most)
		}
	}
	if largest < 1 {
		return nil, fmt.Errorf("rate %v cannot be counted exactly", r)
	}
	return nil, fmt.Errorf("rate %v: the largest burst that can be counted exactly is %d", r, largest)
}

// inUnit counts the rate in a unit of µs. most is the largest burst that fits.
func inUnit(r Rate, unit int64) (out *Rule, most int64, ok bool) {
	n, per, u := r.N, int64(r.Per), unit*1000
	u, per = reduce(u, per)
	n, per = reduce(n, per)
	if n > Exact/u {
		return nil, 0, false
	}
	out = &Rule{Rate: r, Unit: unit, Gain: n * u, PerToken: per}
	tokens := (Exact - 1 - out.Gain) / per // burst + debt + 1
	if out.Gain >= Exact || tokens < 3 {
		return nil, 0, false
	}
	if r.Burst <= (tokens-1)/2 {
		out.Full, out.Debt = r.Burst*per, tokens-1-r.Burst
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

// Decimal returns a number as scripts get it.
func Decimal(n int64) string { return strconv.FormatInt(n, 10) }

// Identify completes a rule once its generation is known.
func (r *Rule) Identify(generation, reset int64) *Rule {
	r.Generation, r.Reset = generation, reset
	r.Texts = Texts{
		Decimal(generation), Decimal(reset), Decimal(r.Gain), Decimal(r.PerToken), Decimal(r.Full), Decimal(r.Unit),
		Pack(generation, r.Gain, r.PerToken, r.Full, r.Unit, r.PerToken, 1),
	}
	return r
}

// Travelling returns a rule that comes with the call. Its generation is told by the
// rate alone, so that equal rates do not convert each other's states.
func Travelling(rate Rate) (*Rule, error) {
	r, err := Resolve(rate)
	if err != nil {
		return nil, err
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %d", rate.N, rate.Per, rate.Burst)
	return r.Identify(-1-int64(h.Sum64()%(Exact-1)), 0), nil
}

const ruleFormat = "tb1"

// Parameters returns the part of a stored rule that comes from the rate.
func (r *Rule) Parameters() string {
	return fmt.Sprintf("%d %d %d %d", r.N, int64(r.Per), r.Burst, int(r.Type))
}

// ErrFormat says that a text is not what the package writes.
var ErrFormat = errors.New("not the rule of a token bucket")

// Parse reads what is stored.
func Parse(text string) (*Rule, error) {
	fields := strings.Fields(text)
	if len(fields) < 9 || len(fields) > 10 || fields[0] != ruleFormat {
		return nil, ErrFormat
	}
	ttl := int64(0)
	if len(fields) == 10 {
		var err error
		if ttl, err = strconv.ParseInt(fields[9], 10, 64); err != nil || ttl <= 0 || ttl > math.MaxInt64/int64(time.Millisecond) {
			return nil, ErrFormat
		}
	}
	var numbers [7]int64
	for i := range numbers {
		n, err := strconv.ParseInt(fields[i+1], 10, 64)
		if err != nil {
			return nil, ErrFormat
		}
		numbers[i] = n
	}
	rate := Rate{N: numbers[2], Per: time.Duration(numbers[3]), Burst: numbers[4], Type: Type(numbers[5])}
	r, err := Resolve(rate)
	if err != nil {
		return nil, fmt.Errorf("the stored rule %q: %w", text, err)
	}
	r.Paused, r.TTL, r.Stored = numbers[6] != 0, time.Duration(ttl)*time.Millisecond, text
	return r.Identify(numbers[0], numbers[1]), nil
}

// Ticks returns n tokens, or what counts as infinitely many.
func (r *Rule) Ticks(n int64) int64 {
	if r.Settled() {
		return 0
	}
	if n > Exact/r.PerToken {
		return Exact
	}
	return n * r.PerToken
}

// Needs returns how long it takes until n tokens have come to an empty bucket.
func (r *Rule) Needs(n int64) time.Duration {
	if r.Settled() {
		return 0
	}
	return r.After(r.Ticks(n))
}

// After returns how long it takes to gain that many ticks.
func (r *Rule) After(ticks int64) time.Duration {
	if ticks <= 0 {
		return 0
	}
	units := (ticks-1)/r.Gain + 1
	if units > math.MaxInt64/(r.Unit*1000) {
		return math.MaxInt64
	}
	return time.Duration(units * r.Unit * 1000)
}
