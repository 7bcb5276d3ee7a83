package exchange

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// press is a step that gives nothing back.
func (w *served) press() []request {
	w.tick()
	w.m.expire(w.now)
	if w.happens(60) {
		return w.blockFor(1 + w.below(2*w.µs(w.rule.model, 1+w.below(w.rule.code.Burst))))
	}
	return w.decide(w.rule, w.batch(w.rule))
}

// excess is by how many ticks some window holds more than burst + rate*time, or
// what is missing to that.
func (w *world) excess(r *bucket.Rule) *big.Int {
	slices.SortStableFunc(w.grants, func(a, b granted) int { return cmp.Compare(a.at, b.at) })
	ticks := func(x, y int64) *big.Int { return new(big.Int).Mul(big.NewInt(x), big.NewInt(y)) }
	sum, least, worst := new(big.Int), new(big.Int), big.NewInt(-1<<62)
	for i, g := range w.grants {
		// In µs of a unit, so that nothing is rounded.
		gained := ticks(g.at, r.Gain)
		if begins := new(big.Int).Sub(sum, gained); i == 0 || begins.Cmp(least) < 0 {
			least = begins
		}
		sum = new(big.Int).Add(sum, ticks(ticks(g.tokens, r.PerToken).Int64(), r.Unit))
		over := new(big.Int).Sub(new(big.Int).Sub(sum, gained), least)
		if over.Sub(over, ticks(r.Full, r.Unit)).Cmp(worst) > 0 {
			worst = over
		}
	}
	return worst
}

// No window holds more than burst + rate*time, by the forward movement of the
// server's clock, whatever is asked and whenever. Times are read and said in whole
// units of the rule's clock, mostly µs, so a window may be one longer than it
// seems.
func TestNoWindowHoldsMoreThanTheRule(t *testing.T) {
	l := newLab(t)
	const seed, worlds = 20261123, 104
	steps := modelSteps(t) / 2
	t.Logf("seed %d, %d steps", seed, steps)
	all := make([]*served, worlds)
	for i := range all {
		w := newWorld(t, seed, uint64(i), modelRates)
		w.firm, w.back = true, w.rule.code.Unit == 1
		all[i] = &served{world: w, key: fmt.Sprintf("%s:{%d}", redistest.Name(t), i)}
	}
	for range steps/worlds + 1 {
		l.round(t, all, (*served).press)
	}
	grants := 0
	for _, w := range all {
		r := w.rule.code
		slack := new(big.Int).Mul(big.NewInt(r.Gain), big.NewInt(r.Unit))
		grants += len(w.grants)
		require.LessOrEqual(t, w.excess(r).Cmp(slack), 0, "%v more\n%s", w.excess(r), w)
	}
	require.Greater(t, grants, steps/2)
}

// The sum that the test above relies on sees what it is there for.
func TestExcessSeesOneTokenTooMany(t *testing.T) {
	t.Parallel()
	r := newPair(t, PerSecond(1).WithBurst(3), 1, 1).code
	w := &world{grants: []granted{{1, 0}, {2, 0}, {1, 1_000_000}, {1, 2_000_000}}}
	require.Zero(t, w.excess(r).Sign())
	w.grants = append(w.grants, granted{1, 2_999_999})
	require.EqualValues(t, 1, w.excess(r).Int64()) // the tick of one µs
}
